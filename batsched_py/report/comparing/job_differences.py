"""Compares two results of one simulation job by job, to check one back end against another."""

from __future__ import annotations

from collections import defaultdict
from enum import IntEnum
from math import inf

import msgspec

from batsched_py.files.csv_text import csv_of_rows
from batsched_py.protocol.batsim_jobs_columns import BATSIM_COLUMNS
from batsched_py.protocol.own_job_fields import WITHDRAWAL
from batsched_py.results.jobs_file import read_columns
from batsched_py.run.result import Result

TOLERANCE = 1.5e-6
"""Seconds: both sides write six decimals."""
ROUNDING = 1e-3
"""Seconds; further apart, times are other times.

A message carries six decimals, so a job that waits for another inherits its rounding and may add a
microsecond: this is a chain of a thousand such jobs. The least that a decision moves a job of a
log is a second."""
_TIMES = ("submission_time", "starting_time", "finish_time", WITHDRAWAL)
_PROCESSORS = "allocated_resources"
_DERIVED = ("execution_time", "waiting_time", "turnaround_time", "stretch")
_RELATIVE = ("stretch", "consumed_energy")
"""Numbers that may be large: a ratio, and joules since the beginning less joules until then."""


class Kind(IntEnum):
    """The kinds of differences between two rows of a job, the gravest first."""

    MISSING = 0
    TIMES = 1
    CONTENT = 2
    PROCESSORS = 3
    ROUNDING = 4
    DERIVED = 5

    @property
    def another_schedule(self) -> bool:
        """Whether the schedules differ: the start, the end or the final state of a job."""
        return self <= Kind.CONTENT


MEANING = {
    Kind.MISSING: "in one only",
    Kind.TIMES: "other times",
    Kind.CONTENT: "same times, but another request, end or energy",
    Kind.PROCESSORS: "same times, other processors",
    Kind.ROUNDING: "same times but for rounding",
    Kind.DERIVED: "same times, other derived columns",
}


class Field(msgspec.Struct, frozen=True):
    """A column that differs between the two rows of a job."""

    kind: Kind
    column: str
    one: str
    other: str


class Difference(msgspec.Struct, frozen=True):
    """A job whose two rows differ."""

    job: str
    parted: float
    """When it started in either, whichever is earlier (seconds; submission if it did not)."""
    fields: list[Field]

    @property
    def gravest(self) -> Field:
        """The column with the gravest difference."""
        return min(self.fields, key=lambda field: field.kind)


def find_differences(one: Result, other: Result) -> list[Difference]:
    """Return the jobs that differ in a column of Batsim's or in their withdrawal, by submission.

    Numbers are equal within :data:`TOLERANCE` (ratios and energies relatively); the order of the
    rows does not count. A job that only one of them has differs in ``job_id``.
    """
    ones, others = _rows(one), _rows(other)
    different = []
    for job in [*ones, *(job for job in others if job not in ones)]:
        rows = [rows[job] for rows in (ones, others) if job in rows]
        if len(rows) == 1:
            there = ("there", "missing") if job in ones else ("missing", "there")
            fields = [Field(Kind.MISSING, "job_id", *there)]
        else:
            names = (*BATSIM_COLUMNS, WITHDRAWAL)
            compared = (_field(name, *(row.get(name, "") for row in rows)) for name in names)
            fields = [field for field in compared if field is not None]
        if fields:
            different.append(Difference(job, min(map(_begin, rows)), fields))
    return different


def format_differences_csv(different: list[Difference], one: str, other: str) -> str:
    """Return the differences as CSV; ``one`` and ``other`` are the names of two columns."""
    rows = (
        (job.job, job.gravest.kind.name.lower(), of.column, of.one, of.other)
        for job in different
        for of in job.fields
    )
    return csv_of_rows(("job", "kind", "column", one, other), rows)


def describe_differences(different: list[Difference], one: str, other: str) -> list[str]:
    """Return a line for each kind of difference: the number of jobs, and the first one.

    The first is the one that started first, which is nearest to the cause.
    """
    jobs: defaultdict[Kind, list[Difference]] = defaultdict(list)
    for job in different:
        jobs[job.gravest.kind].append(job)
    lines = []
    for kind, those in sorted(jobs.items()):
        first = min(those, key=lambda job: job.parted)
        field = first.gravest
        lines.append(
            f"{MEANING[kind]}: {len(those)} {'job' if len(those) == 1 else 'jobs'}, first "
            f"{first.job} ({field.column} {field.one} in {one}, {field.other} in {other})"
        )
    return lines


def _rows(result: Result) -> dict[str, dict[str, str]]:
    """Return the row of each job by its name, in order of submission."""
    _, columns = read_columns(result.jobs_lines(), {})
    fields = zip(*columns.values(), strict=True)
    rows = [dict(zip(columns, values, strict=True)) for values in fields]
    rows.sort(key=lambda row: float(row["submission_time"]))
    return {f"{row['workload_name']}!{row['job_id']}": row for row in rows}


def _begin(row: dict[str, str]) -> float:
    return float(row["starting_time"] or row["submission_time"])


def _field(column: str, one: str, other: str) -> Field | None:
    """Return how a column differs, None if it does not."""
    if one == other:
        return None
    try:
        first = float(one)
        apart = abs(first - float(other))
        if column == "consumed_energy" and -1.0 in (first, float(other)):
            return None  # one of them did not account for energy
        if apart <= TOLERANCE * (max(1.0, abs(first)) if column in _RELATIVE else 1.0):
            return None
    except ValueError:  # text, or nothing where the job was rejected
        apart = inf
    if column in _TIMES:
        kind = Kind.TIMES if apart > ROUNDING else Kind.ROUNDING
    elif column == _PROCESSORS:
        kind = Kind.PROCESSORS
    else:
        kind = Kind.DERIVED if column in _DERIVED else Kind.CONTENT
    return Field(kind, column, one, other)
