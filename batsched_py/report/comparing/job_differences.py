"""Two results of one simulation, job by job."""

from __future__ import annotations

import csv
import io

import msgspec

from batsched_py.protocol.batsim_jobs_columns import BATSIM_COLUMNS
from batsched_py.results.jobs_file import read_columns
from batsched_py.run.result import Result

TOLERANCE = 1.5e-6
"""Seconds: both sides write six decimals."""
_RATIO = "stretch"


class Difference(msgspec.Struct):
    """A field of a job that is not the same in both."""

    job: str
    column: str
    one: str
    other: str


def differences(one: Result, other: Result) -> list[Difference]:
    """Return what differs in Batsim's columns, by job in order of submission in ``one``.

    Numbers are equal within :data:`TOLERANCE` (ratios relatively); the order of the rows does
    not count. A job that only one of them has differs in ``job_id``.
    """
    ones, others = _rows(one), _rows(other)
    different = []
    for job in [*ones, *(job for job in others if job not in ones)]:
        if job not in ones or job not in others:
            there = ("there", "missing") if job in ones else ("missing", "there")
            different.append(Difference(job, "job_id", *there))
            continue
        for column in BATSIM_COLUMNS:
            texts = ones[job][column], others[job][column]
            if not _equal(column, *texts):
                different.append(Difference(job, column, *texts))
    return different


def differences_csv(different: list[Difference], one: str, other: str) -> str:
    """Return the differences as a table; ``one`` and ``other`` are the names of its columns."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("job", "column", one, other))
    writer.writerows(map(msgspec.structs.astuple, different))
    return buffer.getvalue()


def _rows(result: Result) -> dict[str, dict[str, str]]:
    """Return what is written of each job, by its name, in order of submission."""
    _, columns = read_columns(result.jobs_lines(), {})
    fields = zip(*columns.values(), strict=True)
    rows = [dict(zip(columns, values, strict=True)) for values in fields]
    rows.sort(key=lambda row: float(row["submission_time"]))
    return {f"{row['workload_name']}!{row['job_id']}": row for row in rows}


def _equal(column: str, one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        first, second = float(one), float(other)
    except ValueError:
        return False
    scale = max(1.0, abs(first)) if column == _RATIO else 1.0
    return abs(first - second) <= TOLERANCE * scale
