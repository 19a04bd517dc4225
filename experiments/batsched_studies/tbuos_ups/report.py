"""The report: each claim with its numbers and its verdict, and tables of the thesis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.errors import BatschedError
from batsched_py.report import CampaignResults, Part, Report, Table, Text
from batsched_py.report.formatting import WORDS
from batsched_py.report.kit import Runs, cells, log_name, quantiles, rows, slug
from batsched_py.support.statistics import SpreadTest, finite
from batsched_py.units import DAY, HOUR, MINUTE
from batsched_studies.choices import make_choice_table, merge_verdicts
from batsched_studies.tbuos_ups import TEXTS, claims, figures
from batsched_studies.tbuos_ups.claims import compare_systems, read
from batsched_studies.tbuos_ups.verdicts import judge_choices
from batsched_studies.tbuos_ups.waits import (
    SEEDS,
    SIDES,
    compare_easy,
    compare_spreads,
    compute_spreads,
    compute_waits,
)


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    runs = read(results.runs)
    compared = compare_systems(runs)
    spread, varies, wait = compute_spreads(runs), compare_spreads(runs), compute_waits(runs)
    judged = judge_choices(runs)
    parts: dict[str, Iterable[Part | None]] = {
        "Interpretations": [make_choice_table(TEXTS, judged)],
        "Systems and users": make_level_tables(runs, _recorded(results)),
        "Comparisons": _comparisons(compared),
        "Compared with the thesis": _compare(spread, varies, wait),
        "Figures": figures.draw_figures(runs),
    }
    return TEXTS.report(parts.items(), merge_verdicts(judged), TEXTS["summary"])


def _comparisons(compared: pd.DataFrame) -> Iterable[Part | None]:
    return [Text(HOW), *make_effect_tables(compared)] if len(compared) else []


def _compare(
    spread: pd.DataFrame, varies: Mapping[tuple[str, str], SpreadTest], wait: pd.DataFrame
) -> Iterator[Part | None]:
    if len(spread):
        yield make_spread_table(spread)
        yield make_spread_test_table(varies)
        yield figures.draw_ratios(spread)
    if len(wait):
        yield make_wait_table(wait)
        yield make_strict_table(wait)
        yield figures.draw_waits(wait)


def _recorded(results: CampaignResults) -> Mapping[str, float]:
    """Return the jobs/h of each log from its first to its last submission, if it can be read."""
    recorded = {}
    for _, run in results.runs.drop_duplicates("log").iterrows() if len(results.runs) else ():
        with suppress(OSError, BatschedError):  # a log need not be where the report is made
            times = [job.submit_time for job in results.workload(run).jobs]
            recorded[log_name(run["log"])] = 3600 * len(times) / (max(times) - min(times))
    return recorded


LEVELS = {
    "wait": claims.WAIT,
    "queue": "mean_queue_length",
    "activity": claims.ACTIVITY,
    "weeks": claims.WEEKS,
    "session": claims.SESSION,
    "utilisation": "utilisation_to_last_submission",
    "longest": claims.LONGEST,
    "user_median": "user_wait_50",
    "user_most": "user_wait_90",
    "cycle": claims.CYCLE,
    "apart": claims.APART,
    "slots": claims.SLOTS,
}
"""The means over the seeds in the tables, and their metrics (SI units), besides jobs."""


def compute_levels(runs: Runs, recorded: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return the means of metrics for each system under each replay, a row each."""
    of_cases = []
    for case, of_case in runs.groups(*claims.CASE):
        row: dict[str, Any] = dict(zip(claims.CASE, case, strict=True))
        row |= {"seeds": len(of_case), "saturated": int(claims.is_saturated(of_case).sum())}
        row["jobs"] = _mean(of_case, claims.JOBS)
        throughput = of_case.mean(claims.THROUGHPUT)
        row |= cells(throughput, "throughput", "throughput_low", "throughput_high")
        log = row["log"]
        row["of_log"] = throughput.value / recorded[log] if log in recorded else None
        row |= {name: _mean(of_case, metric) for name, metric in LEVELS.items()}
        row |= {"wait_h": row["wait"] / HOUR, "activity_d": row["activity"] / DAY}
        for name in ("longest", "user_median", "user_most"):
            row[f"{name}_h"] = row[name] / HOUR
        of_cases.append(row | {"session_min": row["session"] / MINUTE})
    return of_cases


def _mean(runs: Runs, metric: str) -> float:
    values = finite(runs.values(metric))
    return float(values.mean()) if len(values) else nan


def make_level_tables(runs: Runs, recorded: Mapping[str, float]) -> Iterator[Table | None]:
    """Yield tables of the systems and of the users under each replay."""
    of_cases = compute_levels(runs, recorded)
    yield TEXTS.table("systems", of_cases)
    yield TEXTS.table("users", of_cases)
    yield TEXTS.table("fairness", [row for row in of_cases if row["longest"] > 0])
    yield TEXTS.table("cycles", [row for row in of_cases if row["cycle"] > 0])
    yield TEXTS.table("warm_up", list(_warm_ups(runs)))


def _warm_ups(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield the warm-up of runs by the rule MSER-5, if it was measured."""
    for case, of_case in runs.groups(*claims.CASE):
        ends, lengths = of_case.values("warm_up_d"), of_case.values("length_d")
        if len(lengths):
            found = finite(ends)
            least, median, most = quantiles(found, (0, 0.5, 1))
            row: dict[str, Any] = dict(zip(claims.CASE, case, strict=True))
            row |= {"seeds": len(lengths), "found": len(found), "length": lengths.median()}
            yield row | {"least": least, "median": median, "most": most}


def make_effect_tables(effects: pd.DataFrame) -> Iterator[Table | None]:
    """Yield a table of comparisons for each claim with runs."""
    shown = effects.assign(
        metric=effects["metric"].map(claims.NAMES),
        verdict=[WORDS[holds] for holds in effects["holds"]],
        runs=list(map(_runs, rows(effects))),
    )
    for number, title in claims.TITLES.items():
        compared = shown[shown["claim"] == number]
        marks = [(at, "verdict") for at, holds in enumerate(compared["holds"]) if holds is False]
        name = slug("claim", number)
        yield TEXTS.table("claim", compared, name, marks, number=number, claim=title)


def _runs(effect: Any) -> str:
    if effect.which == "stable":
        return f"{effect.pairs} stable"
    return f"{effect.pairs}" + (f", {effect.saturated} saturated" if effect.saturated else "")


HOW = TEXTS["how"].format(tolerance=claims.TOLERANCE)


def make_spread_table(spreads: pd.DataFrame) -> Table | None:
    """Return a table of how the mean wait varies over the seeds, here and in the thesis."""
    hours = {f"{name}_h": spreads[name] / HOUR for name in ("least", "median", "most")}
    return TEXTS.table("ratios", _in_percent(spreads.assign(**hours)), seeds=SEEDS)


def _in_percent(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(difference_percent=pd.to_numeric(frame["difference"]) * 100)


def make_spread_test_table(tests: Mapping[tuple[str, str], SpreadTest]) -> Table | None:
    """Return a table of how much mean waits vary under TBUOS and in open resampling."""
    sides = [
        {"log": log, "system": system, "tbuos": test.ours, "open": test.base, "p": test.p}
        | cells(test.ratio, "ratio", nb="pairs")
        for (log, system), test in tests.items()
    ]
    return TEXTS.table("calmer", sides)


def make_strict_table(waits: pd.DataFrame) -> Table | None:
    """Return a table of open replay under both interpretations of EASY, and the thesis's waits."""
    apart = compare_easy(waits)
    if apart.empty:
        return None
    factors = {f"{side}_factor": np.exp(apart[f"{side}_apart"]) for side in SIDES}
    nearer = apart["nearer"].map({True: "strict", False: "usual"})
    return TEXTS.table("strict", apart.assign(nearer_is=nearer, **factors))


def make_wait_table(waits: pd.DataFrame) -> Table | None:
    """Return a table of the average waits with EASY, here and in the thesis (chapter 4)."""
    return TEXTS.table("waits", _in_percent(waits))
