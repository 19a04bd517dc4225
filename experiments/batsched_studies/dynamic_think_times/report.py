"""The report of the study, of any of its campaign files: what was not run is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from batsched_py.report import CampaignResults, Part, Report, Table, Text
from batsched_py.report.kit import Runs, columns
from batsched_studies.dynamic_think_times import TEXTS, cases, claims, figures, tables


def report(results: CampaignResults) -> Report:
    """Return tables, figures and verdicts of the runs that are there."""
    runs = cases.read(results.runs)
    verdicts = claims.verdicts(runs, cases.STATED)
    if not runs:
        return TEXTS.report((), verdicts, "No runs.")
    return TEXTS.report(_parts(runs), [*verdicts, claims.stated(runs)], _summary(runs))


def _summary(runs: Runs) -> str:
    number = [len(replications) for _, replications in runs.groups(*cases.CASE)]
    least, most = min(number), max(number)
    each = str(most) if least == most else f"{least} to {most}"
    return TEXTS["summary"].format(runs=len(runs), cases=len(number), each=each)


def _parts(runs: Runs) -> Iterator[tuple[str, Iterable[Part | None]]]:
    stated = runs.where(reading=cases.STATED)
    yield "Beside the paper", [tables.as_published(runs)]
    yield "Distributions over the replications", figures.distributions(stated)
    yield "Schedulers", [tables.schedulers(runs)]
    yield "Think times", [tables.think_times(runs), figures.workload(stated)]
    yield "Metrics at equal work", [tables.equal_work(runs), figures.equal_work(stated)]
    why = [tables.user_time(runs), tables.readings(runs), _claims_by_reading(runs)]
    others = [figures.readings(runs), tables.independent(runs)]
    yield "Why the waits are not the paper's", [Text(TEXTS["argument"]), *why, *others]
    yield "All cases", [tables.all_cases(runs)]


def _claims_by_reading(runs: Runs) -> Table | None:
    """Return which claims hold under each reading, None if there is but one."""
    readings = runs.labels("reading")
    rows: list[dict[str, Any]] = []
    for reading in readings if len(readings) > 1 else ():
        verdicts = enumerate(claims.verdicts(runs, reading), 1)
        rows.append({"reading": reading, **{str(number): v.holds for number, v in verdicts}})
    titles = {str(number): title for number, title in enumerate(claims.TITLES, 1)}
    asked = [number for number in titles if any(row[number] is not None for row in rows)]
    shown = columns("reading", {number: f"({number})" for number in asked})
    told = "; ".join(f"({number}) {titles[number]}" for number in asked)
    return TEXTS.table("claims_by_reading", rows, columns=shown, claims=told)
