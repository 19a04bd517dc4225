"""The report of the study, of any of its campaign files: what was not run is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from batsched_py.report import CampaignResults, Column, Part, Report, Table, Text, Verdict
from batsched_py.report.kit import Runs, columns
from batsched_studies.dynamic_think_times import TEXTS, cases, claims, figures, tables
from batsched_studies.dynamic_think_times.warm_up import warm_up

_CLAIMS_BY_NUMBER = {str(number): title for number, title in enumerate(claims.TITLES, 1)}


def report(results: CampaignResults) -> Report:
    """Return tables, figures and verdicts of the runs that are there."""
    runs = cases.read(results.runs)
    if not runs:
        return TEXTS.report((), _verdicts(runs), "No runs.")
    parts = (*_parts(runs), ("Warm-up", [warm_up(results)]))
    return TEXTS.report(parts, _verdicts(runs), _summary(runs))


def _verdicts(runs: Runs) -> Iterator[Verdict]:
    yield from claims.verdicts(runs, cases.DAILY)
    yield claims.one_at_a_time()
    for scheduler in cases.SCHEDULERS:
        metrics = ("work", "awrt", "art", "awt")
        yield claims.as_printed(runs, "daily", metrics, scheduler=scheduler)
    yield claims.as_printed(runs, "slowdown", ("asd",))
    yield claims.as_printed(runs, "whole", ("work",), cases.WHOLE)


def _summary(runs: Runs) -> str:
    each = runs.where(measured=runs.labels("measured")[0])
    number = [len(replications) for _, replications in each.groups(*cases.CASE)]
    least, most = min(number), max(number)
    told = str(most) if least == most else f"{least} to {most}"
    return TEXTS["summary"].format(runs=len(each), cases=len(number), each=told)


def _parts(runs: Runs) -> Iterator[tuple[str, Iterable[Part | None]]]:
    inner, whole = (runs.where(measured=which) for which in (cases.INNER, cases.WHOLE))
    own = inner.where(reading=cases.DAILY)
    yield "Beside the paper", [tables.as_published(runs)]
    yield "Distributions over the replications", figures.distributions(own)
    yield "Schedulers", [tables.schedulers(inner)]
    yield "Think times", [tables.think_times(inner), figures.workload(own)]
    yield "Metrics at equal work", [tables.equal_work(inner), figures.equal_work(own)]
    others = [tables.readings(runs), _claims_by_reading(runs), figures.readings(inner)]
    yield "Readings", others
    why = [Text(TEXTS["argument"]), tables.user_time(whole), tables.independent(whole)]
    yield "Why users have several jobs", why
    yield "All cases", [tables.all_cases(runs)]


def _claims_by_reading(runs: Runs) -> Table | None:
    """Return which claims hold under each reading, and the number that speaks most against each."""
    rows: list[dict[str, Any]] = []
    for reading in runs.labels("reading"):
        for measured in runs.labels("measured"):
            verdicts = claims.verdicts(runs, reading, measured)
            row: dict[str, Any] = {"reading": reading, "measured": measured}
            for number, verdict in zip(_CLAIMS_BY_NUMBER, verdicts, strict=True):
                row |= {number: verdict.holds, f"effect_{number}": verdict.effect}
            rows.append(row)
    asked = [number for number in _CLAIMS_BY_NUMBER if any(row[number] is not None for row in rows)]
    shown = [
        *columns("reading", "measured"),
        *(Column(number, f"({number})", below=f"effect_{number}") for number in asked),
    ]
    told = "; ".join(f"({number}) {_CLAIMS_BY_NUMBER[number]}" for number in asked)
    return TEXTS.table("claims_by_reading", rows, columns=shown, claims=told)
