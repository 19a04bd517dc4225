"""The report of the study: who waits how much longer for reservations and limits, and claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from batsched_py.report import CampaignResults, Figure, Report, Table
from batsched_py.report.kit import Runs, cells, slug, where_known
from batsched_studies.reservations import TEXTS
from batsched_studies.reservations.claims import verdicts
from batsched_studies.reservations.costs import LIMITS, OTHERS, REQUEST, Case, cases, read
from batsched_studies.reservations.figures import cost


def report(results: CampaignResults) -> Report:
    """Return the tables, the figure and verdicts of the runs that are there."""
    logs = read(results)
    parts = ((log, _parts(log, runs)) for log, runs in logs)
    judged = (verdict for log, runs in logs for verdict in verdicts(log, runs))
    return TEXTS.report(parts, judged, _summary(logs), results.title)


def _summary(logs: Sequence[tuple[str, Runs]]) -> str:
    if not logs:
        return "No run has finished yet."
    asked = any(runs.labels(REQUEST) for _, runs in logs)
    return TEXTS["reservations" if asked else "limits"]


def _parts(log: str, runs: Runs) -> Iterator[Table | Figure | None]:
    yield cost(log, runs)
    for axis, row in ((REQUEST, _reservation), (LIMITS, _limit)):
        rows = [case.labels | row(case) for case in cases(runs, axis)]
        shown = where_known(rows, TEXTS.columns(axis))
        yield TEXTS.table(axis, rows, slug(axis, log), columns=shown, log=log)


def _reservation(case: Case) -> dict[str, Any]:
    values = ("asked", "admitted", "reserving")
    return {
        **{name: case.with_it.mean(name).value for name in values},
        "reserving_before": case.without.mean("reserving").value,
        "before": case.without.mean(OTHERS).value,
        "after": case.with_it.mean(OTHERS).value,
        **cells(case.change(OTHERS), "change", nb="pairs"),
        **cells(case.change("wide"), "wide", "wide_low", "wide_high"),
        **cells(case.change("narrow"), "narrow", "narrow_low", "narrow_high"),
        "utilisation": case.without.mean("utilisation").value,
    }


def _limit(case: Case) -> dict[str, Any]:
    return {
        "before": case.without.mean("wait").value,
        "after": case.with_it.mean("wait").value,
        **cells(case.change("wait"), "change", nb="pairs"),
        **cells(case.change("wide"), "wide", "wide_low", "wide_high"),
        **cells(case.change("narrow"), "narrow", "narrow_low", "narrow_high"),
        "slowdown": case.change("slowdown").value,
        "utilisation": case.with_it.mean("utilisation").value,
        "utilisation_before": case.without.mean("utilisation").value,
    }
