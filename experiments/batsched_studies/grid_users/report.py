"""The report of the study: who waits before and after sharing, who gives and takes, and claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from batsched_py.report import CampaignResults, Part, Report
from batsched_studies.grid_users import TEXTS
from batsched_studies.grid_users.claims import verdicts
from batsched_studies.grid_users.figures import figures
from batsched_studies.grid_users.site_runs import SiteRuns, read
from batsched_studies.grid_users.tables import tables


def report(results: CampaignResults) -> Report:
    """Return tables, figures and verdicts of the runs that are there."""
    logs = read(results)
    judged = (verdict for runs in logs for verdict in verdicts(runs))
    return TEXTS.report(_parts(logs), judged, _summary(results, logs), results.title)


def _parts(logs: Sequence[SiteRuns]) -> Iterator[tuple[str, Iterable[Part | None]]]:
    for runs in logs:
        yield runs.log, (*tables(runs), *figures(runs))


def _summary(results: CampaignResults, logs: Sequence[SiteRuns]) -> str:
    if not logs:
        return "No run has finished yet."
    assignments = results.runs["assignment"].nunique()
    return TEXTS["summary"].format(runs=len(results.runs), assignments=assignments)
