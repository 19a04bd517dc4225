"""The report of the study: the paper's tables and figures, its claims, and why numbers differ.

A campaign calls :func:`report` of this file; it is loaded from its path, hence the modules beside
it are as well. All campaign files of the folder have this report: it shows what their runs allow.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from batsched_users.models.site import SHIPPED, SiteDistributions

from batsched_py.campaign.study_files import study_module
from batsched_py.report import Report, Section

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults


def report(results: CampaignResults) -> Report:
    """Return tables, figures and verdicts of the runs that are there."""
    published = tomllib.loads((results.study / "published.toml").read_text())
    runs = _sibling("tables").Runs(results.runs)
    return Report(
        title=results.title,
        source=published["source"],
        sections=tuple(_sections(runs, published)),
        verdicts=tuple(_sibling("claims").verdicts(_paper(runs), published)),
        summary=_summary(runs),
    )


def _paper(runs: Any) -> Any:
    """Return the runs that are the paper's: none of those on other machines, or of readings."""
    several = len(runs.labels("nodes")) > 1 or runs.labels("reading")
    return runs.where(nb_users=-1) if several else runs


def _sections(runs: Any, published: dict[str, Any]) -> Iterator[Section]:
    tables, figures, room = _sibling("tables"), _sibling("figures"), _sibling("room")
    paper = _paper(runs)
    if paper:
        yield Section("Beside the paper", tuple(tables.at_250(paper, published)))
        yield Section(
            "Users and alpha",
            (
                *figures.figures(paper, published),
                *tables.by_alpha(paper, published),
                *tables.by_users(paper),
            ),
        )
    for found, name in ((room.by_machine(runs), "nodes"), (room.by_reading(runs), "reading")):
        for table in [] if name == "nodes" and runs.labels("reading") else found:
            parts = (table, *figures.room_figure(table.frame, table.name, name))
            yield Section("What there is to gain", parts)
    checks = _sibling("checks")
    drawn = checks.drawn(SiteDistributions.read(SHIPPED))
    yield Section("The paper's numbers among themselves", (checks.table(published, drawn),))


def _summary(runs: Any) -> str:
    if not runs:
        return "No run is done yet."
    weeks = ", ".join(f"{value:g}" for value in runs.labels("weeks"))
    nodes = ", ".join(f"{value:,.0f}" for value in sorted(runs.labels("nodes")))
    return (
        f"{len(runs.frame)} runs of {weeks} weeks each, "
        f"{len(runs.labels('replication'))} replications, on {nodes} processors. The paper does "
        "not say how many processors it had."
    )


def _sibling(name: str) -> ModuleType:
    """Return the module ``name.py`` of this folder."""
    return study_module(Path(__file__).with_name(f"{name}.py"))
