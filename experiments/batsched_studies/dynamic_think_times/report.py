"""The report of the study, of any of its campaign files: what was not run is left out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from batsched_py.campaign.study_files import study_module
from batsched_py.report.document import Column, Part, Report, Section, Table, Text

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults

cases, claims, figures, tables = (
    study_module(Path(__file__).with_name(f"{name}.py"))
    for name in ("cases", "claims", "figures", "tables")
)

SOURCE = (
    'S. Schlagkamp, "Influence of Dynamic Think Times on Parallel Job Scheduler Performances in '
    'Generative Simulations", JSSPP 2015'
)
ARGUMENT = """
The published waits cannot come from the stated parameters, whatever the scheduler. A user has one
job at a time and thinks after it, so the responses and think times of a user follow one another.
The published workload says how many jobs there were, the published mean response how long each kept
its user. Jobs are submitted from Monday 9:00 to Friday 17:00 of active weeks only, 62 % of a week;
even if nobody ever stopped at 17:00 and each Friday's last job lasted until Monday, all ten users
would have 50 weeks. The table has the time that the published numbers take, and what ours take.
"""


def report(results: CampaignResults) -> Report:
    """Return tables, figures and verdicts of the runs that are there."""
    numbers = cases.published()
    runs = cases.read(results.runs)
    said = claims.verdicts(runs, numbers, cases.STATED)
    if len(runs):
        said.append(claims.stated(runs, numbers))
    return Report(
        title="Dynamic think times in generative simulations",
        source=SOURCE,
        summary=_summary(runs),
        sections=tuple(_sections(runs, numbers) if len(runs) else ()),
        verdicts=tuple(said),
    )


def _summary(runs: pd.DataFrame) -> str:
    if runs.empty:
        return "No runs."
    number = runs.groupby(cases.CASE).size()
    least, most = int(number.min()), int(number.max())
    each = str(most) if least == most else f"{least} to {most}"
    return (
        f"{len(runs)} simulations: {len(number)} cases of scheduler, machine, think time and "
        f"reading, {each} replications of each. Ten users for ten weeks, if the reading says "
        "nothing else."
    )


def _sections(runs: pd.DataFrame, numbers: dict[str, Any]) -> Iterable[Section]:
    stated = runs[runs["reading"] == cases.STATED]
    parts: list[tuple[str, list[Part | None]]] = [
        ("Beside the paper", [tables.as_published(runs, numbers)]),
        ("Distributions over the replications", figures.distributions(stated, numbers)),
        ("Schedulers", [tables.schedulers(runs, numbers)]),
        (
            "Think times",
            [tables.think_times(runs, numbers), figures.workload(stated, numbers)],
        ),
        ("Metrics at equal work", [tables.equal_work(runs, numbers), figures.equal_work(stated)]),
        ("Why the waits are not the paper's", _why(runs, numbers)),
        ("All cases", [tables.all_cases(runs)]),
    ]
    for title, found in parts:
        there = tuple(part for part in found if part is not None)
        if there:
            yield Section(title, there)


def _why(runs: pd.DataFrame, numbers: dict[str, Any]) -> list[Part | None]:
    return [
        Text(ARGUMENT),
        tables.user_time(runs, numbers),
        tables.readings(runs, numbers),
        _claims_by_reading(runs, numbers),
        figures.readings(runs, numbers),
        tables.independent(runs, numbers),
    ]


def _claims_by_reading(runs: pd.DataFrame, numbers: dict[str, Any]) -> Table | None:
    """Return which claims hold under each reading, None if there is but one."""
    names = list(dict.fromkeys(runs["reading"]))
    if len(names) < 2:
        return None
    rows = []
    for name in names:
        said = claims.verdicts(runs, numbers, name)
        rows.append({"reading": name, **{str(n): v.holds for n, v in enumerate(said, 1)}})
    asked = [str(n) for n in range(1, len(claims.TITLES) + 1) if any(_known(rows, str(n)))]
    note = "; ".join(f"({n}) {claims.TITLES[int(n) - 1]}" for n in asked)
    columns = (Column("reading"), *(Column(n, f"({n})") for n in asked))
    title = "Claims that hold under each reading"
    return Table("claims_by_reading", title, pd.DataFrame(rows), columns, f"{note}.")


def _known(rows: Iterable[dict[str, Any]], name: str) -> Iterable[bool]:
    return (row[name] is not None for row in rows)
