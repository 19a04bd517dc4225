"""The report of the study: the paper's tables and figures, its claims, and why numbers differ.

All campaign files of the folder have this report: it shows what their runs allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from batsched_py.report import CampaignResults, Part, Report, Verdict
from batsched_py.report.kit import Runs, slug
from batsched_studies.creasy import TEXTS, checks, claims, figures, generated, room, tables
from batsched_studies.creasy.tables import EASY
from batsched_users.models.site import SHIPPED, THIRDS, SiteDistributions

FIVE_HOURS = 18_000.0
"""Seconds: the longest run time of the reading with thirds."""


def report(results: CampaignResults) -> Report:
    """Return tables, figures and verdicts of the runs that are there."""
    runs = tables.read(results.runs)
    return TEXTS.report(_parts(runs), _verdicts(runs), _summary(runs), results.title)


def _verdicts(runs: Runs) -> Iterator[Verdict]:
    if not runs.labels("reading"):
        yield from claims.verdicts(runs, _reading(runs)) if len(runs) else ()
    for reading, own in _over_alpha(runs):
        yield from claims.over_alpha(own, reading)
    for reading, own in _on_their_machines(runs):
        yield from claims.with_most_users(own, reading)


def _reading(runs: Runs) -> str:
    """Return in words how the paper is read in runs of a campaign without readings."""
    thirds = runs.options("user_options").get("run_times") == THIRDS
    nodes = int(runs.frame["nodes"].iloc[0])
    return TEXTS["thirds" if thirds else "documented"].format(nodes=nodes)


def _over_alpha(runs: Runs) -> Iterator[tuple[str, Runs]]:
    """Yield the readings of which there are runs with three alphas at least, on one machine."""
    for reading in runs.labels("reading"):
        own = runs.where(reading=reading)
        if len(own.labels("alpha")) > 2 and len(own.labels("nodes")) == 1:
            yield reading, own


def _on_their_machines(runs: Runs) -> Iterator[tuple[str, Runs]]:
    """Yield the readings that were run without waits too, but for those runs."""
    for reading in runs.labels("reading"):
        by_nodes = runs.where(reading=reading).by("nodes")
        if by_nodes.pop(room.UNLIMITED, None) and len(by_nodes) == 1:
            yield reading, *by_nodes.values()


def _parts(runs: Runs) -> Iterator[tuple[str, Iterable[Part | None]]]:
    if not runs.labels("reading") and len(runs):
        yield "Beside the paper", tables.at_250(runs)
        more = (tables.by_alpha(runs), tables.by_users(runs))
        yield "Users and alpha", (*figures.figures(runs), *more)
        yield "Without the first weeks", (tables.late(runs),)
    for reading, own in _over_alpha(runs):
        yield f"Alpha, {reading}", _of_alpha(own, reading)
    yield "What there is to gain", _readings(runs)
    yield "Generated jobs and warm-up", _generated(runs)
    drawn = SiteDistributions.read(SHIPPED)
    thirds = drawn.limit(room.UNLIMITED, run_times=THIRDS, longest_run_time=FIVE_HOURS)
    arithmetic = (
        checks.table(checks.expectations(drawn), checks.expectations(thirds)),
        checks.sessions_table(),
    )
    yield "The paper's numbers among themselves", arithmetic


def _of_alpha(runs: Runs, reading: str) -> Iterator[Part | None]:
    name = slug(reading)
    yield tables.by_alpha(runs, f"by_alpha_{name}", f", {reading}")
    yield from figures.by_alpha(runs, f"_{name}", reading)


def _readings(runs: Runs) -> Iterator[Part | None]:
    """Yield machines of several sizes, or readings on the machine of each and one without waits."""
    if not runs.labels("reading"):
        return
    sizes = [own.labels("nodes") for own in runs.where(alpha=EASY).by("reading").values()]
    if runs.labels("alpha") == [EASY] and max(map(len, sizes)) > 1:
        if table := room.by_machine(runs):
            yield from (table, figures.machines(table.frame))
    elif any(room.UNLIMITED in own for own in sizes) and (table := room.by_reading(runs)):
        yield from (table, figures.room_figure(table.frame, table.name, "reading"))


def _generated(runs: Runs) -> Iterator[Part | None]:
    found = list(generated.tables(runs))
    yield from found
    if not any(found):
        return
    for (reading,), own in runs.groups("reading"):
        nodes = int(own.frame["nodes"].iloc[0])
        yield generated.figure(own.options("user_options"), nodes, reading)


def _summary(runs: Runs) -> str:
    if not runs:
        return "No run is done yet."
    return TEXTS["summary"].format(
        runs=len(runs),
        weeks=", ".join(f"{value:g}" for value in runs.labels("weeks")),
        replications=len(runs.labels("replication")),
        nodes=", ".join(f"{value:,.0f}" for value in sorted(runs.labels("nodes"))),
    )
