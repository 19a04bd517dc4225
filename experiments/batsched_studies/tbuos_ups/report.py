"""The report of the study: each claim, its numbers, and whether it holds; tables of the thesis.

Any of the study's campaign files will do: what was not run is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

import pandas as pd

from batsched_py.errors import BatschedError
from batsched_py.report import CampaignResults, Part, Report, Text
from batsched_py.report.kit import log_name
from batsched_py.support.statistics import SpreadTest
from batsched_studies.tbuos_ups import TEXTS, figures, tables
from batsched_studies.tbuos_ups.claims import effects, read
from batsched_studies.tbuos_ups.verdicts import verdicts
from batsched_studies.tbuos_ups.waits import calmer, spreads, waits


def report(results: CampaignResults) -> Report:
    """Return the tables, figures and verdicts that the runs of a campaign allow."""
    runs = read(results.runs)
    compared = effects(runs)
    spread, varies, wait = spreads(runs), calmer(runs), waits(runs)
    parts = {
        "Systems and users": tables.level_tables(runs, _recorded(results)),
        "Comparisons": _comparisons(compared),
        "Beside the thesis": _beside(spread, varies, wait),
        "Figures": figures.figures(runs),
    }
    of_claims = verdicts(compared, spread, varies, wait)
    return TEXTS.report(parts.items(), of_claims, TEXTS["summary"])


def _comparisons(compared: pd.DataFrame) -> Iterable[Part | None]:
    return [Text(tables.HOW), *tables.effect_tables(compared)] if len(compared) else []


def _beside(
    spread: pd.DataFrame, varies: Mapping[tuple[str, str], SpreadTest], wait: pd.DataFrame
) -> Iterator[Part | None]:
    if len(spread):
        yield tables.spread_table(spread)
        yield tables.calmer_table(varies)
        yield figures.ratio_figure(spread)
    if len(wait):
        yield tables.wait_table(wait)
        yield tables.strict_table(wait)
        yield figures.wait_figure(wait)


def _recorded(results: CampaignResults) -> Mapping[str, float]:
    """Return the jobs/h of each log from its first to its last submission, if it can be read."""
    recorded = {}
    for _, run in results.runs.drop_duplicates("log").iterrows() if len(results.runs) else ():
        with suppress(OSError, BatschedError):  # a log need not be where the report is made
            times = [job.submit_time for job in results.workload(run).jobs]
            recorded[log_name(run["log"])] = 3600 * len(times) / (max(times) - min(times))
    return recorded
