"""The report of the study: the paper's tables and figures, its claims, and why numbers differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from batsched_py.report import CampaignResults, Part, Report, Verdict
from batsched_py.report.kit import Runs, slug
from batsched_studies.creasy import TEXTS, checks, claims, figures, generated, room, tables
from batsched_studies.creasy.tables import EASY
from batsched_users.models.site import SHIPPED, THIRDS, SiteDistributions

FIVE_HOURS = 18_000.0
"""The longest run time (s) under the interpretation with run times in thirds."""


def report(results: CampaignResults) -> Report:
    """Return the report: tables, figures and verdicts, as far as the campaign has runs for them."""
    runs = tables.read(results.runs)
    return TEXTS.report(_parts(runs), _verdicts(runs), _summary(runs), results.title)


def _verdicts(runs: Runs) -> Iterator[Verdict]:
    if not runs.labels("reading"):
        yield from claims.judge_claims(runs, _reading(runs)) if len(runs) else ()
    for reading, own in _over_alpha(runs):
        yield from claims.judge_alphas(own, reading)
    for reading, own in _on_their_machines(runs):
        yield from claims.judge_most_users(own, reading)


def _reading(runs: Runs) -> str:
    """Return the interpretation of the paper in a campaign that does not name one."""
    thirds = runs.options("user_options").get("run_times") == THIRDS
    nodes = int(runs.frame["nodes"].iloc[0])
    return TEXTS["thirds" if thirds else "documented"].format(nodes=nodes)


def _over_alpha(runs: Runs) -> Iterator[tuple[str, Runs]]:
    """Yield the interpretations that were run with three or more alphas, on one machine."""
    for reading in runs.labels("reading"):
        own = runs.where(reading=reading)
        if len(own.labels("alpha")) > 2 and len(own.labels("nodes")) == 1:
            yield reading, own


def _on_their_machines(runs: Runs) -> Iterator[tuple[str, Runs]]:
    """Yield the interpretations that were run without waits too, but not these runs."""
    for reading in runs.labels("reading"):
        by_nodes = runs.where(reading=reading).by("nodes")
        if by_nodes.pop(room.UNLIMITED, None) and len(by_nodes) == 1:
            yield reading, *by_nodes.values()


def _parts(runs: Runs) -> Iterator[tuple[str, Iterable[Part | None]]]:
    if not runs.labels("reading") and len(runs):
        yield "Compared with the paper", tables.make_published_tables(runs)
        more = (tables.make_alpha_table(runs), tables.make_user_table(runs))
        yield "Users and alpha", (*figures.draw_figures(runs), *more)
        yield "Without the first weeks", (tables.make_late_table(runs),)
    for reading, own in _over_alpha(runs):
        yield f"Alpha, {reading}", _of_alpha(own, reading)
    yield "What there is to gain", _readings(runs)
    yield "Generated jobs and warm-up", _generated(runs)
    drawn = SiteDistributions.read(SHIPPED)
    thirds = drawn.limit(room.UNLIMITED, run_times=THIRDS, longest_run_time=FIVE_HOURS)
    arithmetic = (
        checks.make_table(checks.compute_expectations(drawn), checks.compute_expectations(thirds)),
        checks.make_sessions_table(),
    )
    yield "The paper's numbers among themselves", arithmetic


def _of_alpha(runs: Runs, reading: str) -> Iterator[Part | None]:
    name = slug(reading)
    yield tables.make_alpha_table(runs, f"by_alpha_{name}", f", {reading}")
    yield from figures.draw_by_alpha(runs, f"_{name}", reading)


def _readings(runs: Runs) -> Iterator[Part | None]:
    """Yield results by machine size, or possible gains if there are runs without waits."""
    if not runs.labels("reading"):
        return
    sizes = [own.labels("nodes") for own in runs.where(alpha=EASY).by("reading").values()]
    if runs.labels("alpha") == [EASY] and max(map(len, sizes)) > 1:
        if table := room.make_machine_table(runs):
            yield from (table, figures.draw_machines(table.frame))
    elif any(room.UNLIMITED in own for own in sizes) and (table := room.make_reading_table(runs)):
        yield from (table, figures.draw_room(table.frame, table.name, "reading"))


def _generated(runs: Runs) -> Iterator[Part | None]:
    found = list(generated.make_tables(runs))
    yield from found
    if not any(found):
        return
    for (reading,), own in runs.groups("reading"):
        nodes = int(own.frame["nodes"].iloc[0])
        yield generated.draw_generated_jobs(own.options("user_options"), nodes, reading)


def _summary(runs: Runs) -> str:
    if not runs:
        return "No run is done yet."
    return TEXTS["summary"].format(
        runs=len(runs),
        weeks=", ".join(f"{value:g}" for value in runs.labels("weeks")),
        replications=len(runs.labels("replication")),
        nodes=", ".join(f"{value:,.0f}" for value in sorted(runs.labels("nodes"))),
    )
