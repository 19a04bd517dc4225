"""Two results job by job: of which kind each difference is, and which job shows it first."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from batsched_py.protocol.batsim_jobs_columns import BATSIM_COLUMNS
from batsched_py.report.comparing.job_differences import (
    ROUNDING,
    Difference,
    Kind,
    describe_differences,
    find_differences,
    format_differences_csv,
)
from batsched_py.run.result import Result
from helpers.runs_by_hand import Row, write_run

JOBS = (
    Row("1", 0, 0, run=100, size=2),
    Row("2", 5, 100, run=50, size=8),
    Row("3", 10, 150, run=20),
    Row("4", 20, 30, run=20, first=4),
)


def result(folder: Path, rows: tuple[Row, ...], changed: dict[str, str] | None = None) -> Result:
    """Return a result whose last row has some columns ``changed``."""
    write_run(folder / "out", rows, ours=False)
    lines = (folder / "out_jobs.csv").read_text().splitlines()
    last = dict(zip(BATSIM_COLUMNS, lines[-1].split(","), strict=True)) | (changed or {})
    lines[-1] = ",".join(last.values())
    return cast(Result, SimpleNamespace(jobs_lines=lambda: lines))


def different(
    folder: Path, rows: tuple[Row, ...], changed: dict[str, str] | None = None
) -> list[Difference]:
    return find_differences(result(folder, JOBS), result(folder, rows, changed))


def last(**fields: Any) -> tuple[Row, ...]:
    return (*JOBS[:-1], JOBS[-1]._replace(**fields))


@pytest.mark.parametrize(
    ("rows", "changed", "kind", "column", "fails"),
    [
        (JOBS[:-1], {}, Kind.MISSING, "job_id", True),
        ((*JOBS, Row("5", 30, 40)), {}, Kind.MISSING, "job_id", True),
        (last(start=31), {}, Kind.TIMES, "starting_time", True),
        (last(run=21), {}, Kind.TIMES, "finish_time", True),
        (last(start=None), {}, Kind.TIMES, "starting_time", True),
        (last(start=30 + 1.1 * ROUNDING, first=5), {}, Kind.TIMES, "starting_time", True),
        (JOBS, {"final_state": "COMPLETED_FAILED"}, Kind.CONTENT, "final_state", True),
        (
            JOBS,
            {"consumed_energy": "7.000000", "stretch": "2"},
            Kind.CONTENT,
            "consumed_energy",
            True,
        ),
        (last(first=5), {}, Kind.PROCESSORS, "allocated_resources", False),
        (last(start=30.000002, first=5), {}, Kind.PROCESSORS, "allocated_resources", False),
        (last(start=30.000002), {}, Kind.ROUNDING, "starting_time", False),
        (last(start=30 + 0.9 * ROUNDING), {}, Kind.ROUNDING, "starting_time", False),
        (JOBS, {"stretch": "1.000000"}, Kind.DERIVED, "stretch", False),
    ],
)
def test_a_job_is_of_its_gravest_kind(
    tmp_path: Path,
    rows: tuple[Row, ...],
    changed: dict[str, str],
    kind: Kind,
    column: str,
    fails: bool,
) -> None:
    (difference,) = different(tmp_path, rows, changed)
    assert (difference.gravest.kind, difference.gravest.column) == (kind, column)
    assert kind.another_schedule == fails


def test_what_is_below_the_digits_is_equal(tmp_path: Path) -> None:
    assert different(tmp_path, JOBS) == []
    assert different(tmp_path, last(start=30.000001)) == []


def test_energies_are_compared_relatively(tmp_path: Path) -> None:
    """Two of the last digits were seen with real Batsim, of jobs that share hosts."""
    ours = result(tmp_path, JOBS, {"consumed_energy": "48838.696426"})
    theirs = result(tmp_path, JOBS, {"consumed_energy": "48838.696390"})
    assert find_differences(ours, theirs) == []


def test_each_kind_has_a_line_with_the_job_that_started_first(tmp_path: Path) -> None:
    """Jobs 2 and 4 have other times; 4 came later and started earlier."""
    rows = (JOBS[0]._replace(first=6), JOBS[1]._replace(start=101), JOBS[2], last(start=31)[-1])
    jobs = different(tmp_path, rows)
    assert [job.job for job in jobs] == ["w0!1", "w0!2", "w0!4"]
    times, processors = describe_differences(jobs, "embedded", "batsim")
    assert "2 jobs, first w0!4 (starting_time 30.000000" in times
    assert "1 job, first w0!1 (allocated_resources 0-1" in processors
    table = format_differences_csv(jobs, "embedded", "batsim").splitlines()
    assert table[:2] == [
        "job,kind,column,embedded,batsim",
        "w0!1,processors,allocated_resources,0-1,6-7",
    ]
    assert "w0!2,times,stretch,2.900000,2.920000" in table
