"""The report of the study: the paper's tables and figures, its claims, and why numbers differ.

All campaign files of the folder have this report: it shows what their runs allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from batsched_py.report import Part, Report
from batsched_py.report.kit.selection import Runs
from batsched_py.report.kit.tables import sections
from batsched_studies.creasy import TEXTS, checks, claims, figures, room, tables
from batsched_users.models.site import SHIPPED, SiteDistributions

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults


def report(results: CampaignResults) -> Report:
    """Return tables, figures and verdicts of the runs that are there."""
    published = TEXTS.published
    runs = tables.read(results.runs)
    return Report(
        title=results.title,
        source=published["source"],
        sections=tuple(sections(_parts(runs, published))),
        verdicts=tuple(claims.verdicts(_paper(runs), published)),
        summary=_summary(runs),
    )


def _paper(runs: Runs) -> Runs:
    """Return the runs that are the paper's: none of those on other machines, or of readings."""
    several = len(runs.labels("nodes")) > 1 or runs.labels("reading")
    return runs.where(nb_users=-1) if several else runs


def _parts(runs: Runs, published: dict[str, Any]) -> Iterator[tuple[str, Iterable[Part | None]]]:
    paper = _paper(runs)
    if paper:
        yield "Beside the paper", tables.at_250(paper, published)
        by_alpha, by_users = tables.by_alpha(paper, published), tables.by_users(paper)
        yield "Users and alpha", (*figures.figures(paper, published), by_alpha, by_users)
    label = "reading" if runs.labels("reading") else "nodes"
    if table := room.by_reading(runs) if label == "reading" else room.by_machine(runs):
        yield "What there is to gain", (table, figures.room_figure(table.frame, table.name, label))
    drawn = checks.drawn(SiteDistributions.read(SHIPPED))
    yield "The paper's numbers among themselves", (checks.table(published, drawn),)


def _summary(runs: Runs) -> str:
    if not runs:
        return "No run is done yet."
    weeks = ", ".join(f"{value:g}" for value in runs.labels("weeks"))
    nodes = ", ".join(f"{value:,.0f}" for value in sorted(runs.labels("nodes")))
    return (
        f"{len(runs)} runs of {weeks} weeks each, {len(runs.labels('replication'))} replications, "
        f"on {nodes} processors. The paper does not say how many processors it had."
    )
