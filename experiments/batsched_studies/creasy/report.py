"""The report of the study: the paper's tables and figures, its claims, and why numbers differ.

All campaign files of the folder have this report: it shows what their runs allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from batsched_py.report import CampaignResults, Part, Report
from batsched_py.report.kit import Runs
from batsched_studies.creasy import TEXTS, checks, claims, figures, room, tables
from batsched_users.models.site import SHIPPED, SiteDistributions


def report(results: CampaignResults) -> Report:
    """Return tables, figures and verdicts of the runs that are there."""
    runs = tables.read(results.runs)
    return TEXTS.report(_parts(runs), claims.verdicts(_paper(runs)), _summary(runs), results.title)


def _paper(runs: Runs) -> Runs:
    """Return the runs that are the paper's: none of those on other machines, or of readings."""
    several = len(runs.labels("nodes")) > 1 or runs.labels("reading")
    return runs.where(nb_users=-1) if several else runs


def _parts(runs: Runs) -> Iterator[tuple[str, Iterable[Part | None]]]:
    paper = _paper(runs)
    if paper:
        yield "Beside the paper", tables.at_250(paper)
        more = (tables.by_alpha(paper), tables.by_users(paper))
        yield "Users and alpha", (*figures.figures(paper), *more)
    label = "reading" if runs.labels("reading") else "nodes"
    if table := room.by_reading(runs) if label == "reading" else room.by_machine(runs):
        yield "What there is to gain", (table, figures.room_figure(table.frame, table.name, label))
    drawn = checks.drawn(SiteDistributions.read(SHIPPED))
    yield "The paper's numbers among themselves", (checks.table(drawn),)


def _summary(runs: Runs) -> str:
    if not runs:
        return "No run is done yet."
    return TEXTS["summary"].format(
        runs=len(runs),
        weeks=", ".join(f"{value:g}" for value in runs.labels("weeks")),
        replications=len(runs.labels("replication")),
        nodes=", ".join(f"{value:,.0f}" for value in sorted(runs.labels("nodes"))),
    )
