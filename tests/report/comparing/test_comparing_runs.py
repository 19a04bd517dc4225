"""Two runs: matching of jobs, what moved, of which kind each difference is, metrics, users."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import batsched_py
from batsched_py.errors import InputError, UsageError
from batsched_py.protocol.batsim_jobs_columns import BATSIM_COLUMNS
from batsched_py.report.comparing.job_differences import (
    ROUNDING,
    Difference,
    Kind,
    describe_differences,
    find_differences,
    format_differences_csv,
)
from batsched_py.report.comparing.runs import RunComparison, compare_runs
from batsched_py.report.document import Table
from batsched_py.run.result import Result
from batsched_py.workload.logs.sample_log import sample_log
from helpers.runs_by_hand import Row, settings, write_run

BASE = (
    Row("1", 0, 0, run=100, size=2, user="ann"),
    Row("2", 5, 100, run=50, size=8, user="bob", profile="q"),
    Row("3", 10, 150, run=20, size=1, user="ann", profile="r"),
    Row("4", 20, 30, run=20, size=1, user="cem", first=4),
)


def compared(
    folder: Path, a: Sequence[Row], b: Sequence[Row], *of_both: dict[str, Any]
) -> RunComparison:
    of_a, of_b = of_both or (settings(), settings())
    write_run(folder / "a" / "out", a, of_a)
    write_run(folder / "b" / "out", b, of_b)
    return RunComparison.of(folder / "a", folder / "b")


def replaced(number: int, **fields: object) -> tuple[Row, ...]:
    rows = list(BASE)
    rows[number] = rows[number]._replace(**fields)
    return tuple(rows)


def table(comparison: RunComparison, name: str) -> Table:
    return next(table for table in comparison.report().tables if table.name == name)


@pytest.mark.parametrize(
    ("other", "counts", "why"),
    [
        (replaced(2, start=170), (0, 1, 1), "one job starts 20 s later and so ends later"),
        (replaced(2, start=120), (0, 1, 1), "one starts earlier"),
        (replaced(2, run=30), (0, 0, 1), "one runs longer: only its end moves"),
        (replaced(2, submit=4, recorded=10), (1, 0, 0), "one is submitted earlier"),
        (replaced(3, start=None), (0, 0, 0), "one is rejected in B: it has no times to compare"),
        (replaced(3, first=2), (0, 0, 0), "one is on other processors"),
        (BASE[:3], (0, 0, 0), "one is only in A"),
        ((*BASE, Row("5", 30, 40)), (0, 0, 0), "one is only in B"),
    ],
)
def test_known_moves_are_counted(
    tmp_path: Path, other: tuple[Row, ...], counts: tuple[int, ...], why: str
) -> None:
    comparison = compared(tmp_path, BASE, other)
    assert not comparison.identical, why
    assert tuple(table(comparison, "shifts").frame["moved"]) == counts, why
    nb = len(set(other) ^ set(BASE))
    alone = len(comparison.match.only_a) + len(comparison.match.only_b)
    assert len(comparison.moved_jobs) + alone == nb - len(comparison.moved_jobs), why


def test_a_shift_has_its_size_sign_and_job(tmp_path: Path) -> None:
    other = list(replaced(2, start=170))
    other[1] = other[1]._replace(start=90)
    shifts = table(compared(tmp_path, BASE, tuple(other)), "shifts").frame.set_index("event")
    start = shifts.loc["start"]
    assert (start["jobs"], start["earlier"], start["later"]) == (4, 1, 1)
    assert (start["most_earlier"], start["job_earlier"]) == (10, "2")
    assert (start["most_later"], start["job_later"]) == (20, "3")
    assert start["mean"] == 2.5
    largest = table(compared(tmp_path, BASE, tuple(other)), "largest_shifts").frame
    assert largest[["name", "start_shift"]].values.tolist() == [["3", 20], ["2", -10]]


def test_equal_jobs_of_other_settings_are_identical_and_the_line_names_them(tmp_path: Path) -> None:
    of_a, of_b = settings("easy", warm_up=0.0), settings("fcfs")
    comparison = compared(tmp_path, BASE, BASE, of_a, of_b)
    assert comparison.identical
    assert [section.title for section in comparison.report().sections] == ["Options"]
    rows = table(comparison, "settings").frame.set_index("setting")
    assert rows.loc["scheduler"].tolist() == ["easy", "fcfs", "yes"]
    assert rows.loc["seed", "differs"] == ""
    assert compared(tmp_path, BASE, replaced(2, start=150.000001)).identical
    assert not compared(tmp_path, BASE, BASE, settings(nb=8), settings(nb=9)).identical


FILES = {"log.swf": "12" * 6, "patient.py": "a" * 12}
CAMPAIGN_RUN = {"hash": "1", "host": "x", "git_revision": "r1", "code": "c" * 64, "files": FILES}
GIT_REVISION = "provenance.git_revision"


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (CAMPAIGN_RUN | {"hash": "2", "host": "y"}, set()),  # only what names the run differs
        # the policy was edited
        (CAMPAIGN_RUN | {"files": FILES | {"patient.py": "b" * 12}}, {"file patient.py"}),
        (CAMPAIGN_RUN | {"files": {"other.py": "b" * 12}}, {"file patient.py", "file other.py"}),
        (CAMPAIGN_RUN | {"code": "d" * 64, "git_revision": "r2"}, {"code", GIT_REVISION}),
        # runs of simulate, which say nothing of code, and of the files that they read if any
        (None, set()),
        ({"files": {"other.py": "b" * 12}}, set()),
    ],
)
def test_files_and_code_of_runs_of_campaigns_are_compared(
    tmp_path: Path, other: dict[str, Any] | None, expected: set[str]
) -> None:
    of_a = settings() | {"provenance": CAMPAIGN_RUN}
    of_b = settings() | ({"provenance": other} if other else {})
    comparison = compared(tmp_path, BASE, BASE, of_a, of_b)
    assert set(comparison.changed_settings) == expected
    rows = table(comparison, "settings").frame.set_index("setting")
    assert set(rows.index[rows["differs"] == "yes"]) == expected
    if "file patient.py" in rows.index:
        there = other is not None and "patient.py" in other["files"]
        assert rows.loc["file patient.py", "b"] == ("b" * 12 if there else "-")


def test_metrics_are_of_all_jobs_and_relative_to_a(tmp_path: Path) -> None:
    metrics = compared(tmp_path, BASE, replaced(2, start=170)).metrics.set_index("metric")
    # waits 0, 95, 140, 10 in A; job 3 waits 160 in B
    assert metrics.loc["mean_waiting_time", ["a", "b", "difference"]].tolist() == [61.25, 66.25, 5]
    assert metrics.loc["mean_waiting_time", "relative"] == pytest.approx(5 / 61.25)
    assert math.isnan(metrics.loc["mean_lateness", "relative"])


def test_means_over_jobs_and_over_users_differ(tmp_path: Path) -> None:
    rows = table(compared(tmp_path, BASE, replaced(2, start=170)), "effects").frame
    waits = rows[rows["quantity"] == "mean waiting time"]
    # 20 s for one of ann's two jobs: 20 / 4 over jobs, 10 / 3 over users
    assert waits["difference"].tolist() == [5, 5, pytest.approx(10 / 3)]
    assert waits["drawn"].tolist() == ["jobs", "jobs, by user", "users"]
    assert waits["nb"].tolist() == [4, 3, 3]


def test_other_jobs_are_compared_as_distributions(tmp_path: Path) -> None:
    """Two runs whose jobs have other profiles, and two whose jobs have other ids."""
    for other in (
        [row._replace(submit=row.submit + 3, profile=f"x{row.id}") for row in BASE],
        [row._replace(id=f"x{row.id}") for row in BASE],
    ):
        comparison = compared(tmp_path, BASE, other)
        assert not comparison.match.same_jobs
        assert comparison.moved_jobs.empty
        names = [part.name for part in (*comparison.report().tables, *comparison.report().figures)]
        assert {"means", "quantiles", "metrics", "distribution_of_waits"} <= set(names)


def test_results_in_memory_are_compared_as_their_files(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_bytes(sample_log(days=3))
    easy, fcfs = (batsched_py.simulate(log, scheduler=name) for name in ("easy", "fcfs"))
    report = compare_runs(easy, fcfs)
    easy.write(tmp_path / "easy")
    fcfs.write(tmp_path / "fcfs")
    files = compare_runs(tmp_path / "easy", str(tmp_path / "fcfs_jobs.csv"))
    assert files.answer == report.answer
    for from_files, in_memory in zip(files.tables, report.tables, strict=True):
        assert from_files.frame.equals(in_memory.frame), from_files.name
    assert "identical" in compare_runs(easy, easy).answer
    with pytest.raises(UsageError, match="two results"):
        compare_runs(easy, tmp_path / "fcfs")
    html = report._repr_html_()  # in a notebook
    assert all(table.title in html for table in report.tables)


def test_tables_of_real_batsim_are_read(tmp_path: Path, shared: Path) -> None:
    tables = sorted(shared.glob("batsim_transcripts/*/out_jobs.csv"))
    read = [path for path in tables if path.read_text().count("\n") > 1][::5]
    assert read
    for path in read:
        copied = tmp_path / f"{path.parent.name}_jobs.csv"
        copied.write_bytes(path.read_bytes())
        assert RunComparison.of(path, copied).identical, path


def test_runs_without_jobs_or_with_one_twice_are_errors(tmp_path: Path) -> None:
    """What else is no table of jobs, the reader says."""
    for rows, words in (((), "no jobs"), ((*BASE, BASE[0]), "job w0!1")):
        with pytest.raises(InputError, match=words):
            compared(tmp_path, BASE, rows)


# Two results job by job: of which kind each difference is, and which job shows -------------------


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
    return find_differences(result(folder, BASE), result(folder, rows, changed))


@pytest.mark.parametrize(
    ("rows", "changed", "kind", "column"),
    [
        (BASE[:-1], {}, Kind.MISSING, "job_id"),
        ((*BASE, Row("5", 30, 40)), {}, Kind.MISSING, "job_id"),
        (replaced(3, start=31), {}, Kind.TIMES, "starting_time"),
        (replaced(3, run=21), {}, Kind.TIMES, "finish_time"),
        (replaced(3, start=None), {}, Kind.TIMES, "starting_time"),
        (replaced(3, start=30 + 1.1 * ROUNDING, first=5), {}, Kind.TIMES, "starting_time"),
        (BASE, {"final_state": "COMPLETED_FAILED"}, Kind.CONTENT, "final_state"),
        (replaced(3, first=5), {}, Kind.PROCESSORS, "allocated_resources"),
        (replaced(3, start=30.000002, first=5), {}, Kind.PROCESSORS, "allocated_resources"),
        (replaced(3, start=30.000002), {}, Kind.ROUNDING, "starting_time"),
        (replaced(3, start=30 + 0.9 * ROUNDING), {}, Kind.ROUNDING, "starting_time"),
        (BASE, {"stretch": "1.000000"}, Kind.DERIVED, "stretch"),
    ],
)
def test_a_job_is_of_its_gravest_kind(
    tmp_path: Path, rows: tuple[Row, ...], changed: dict[str, str], kind: Kind, column: str
) -> None:
    (difference,) = different(tmp_path, rows, changed)
    assert (difference.gravest.kind, difference.gravest.column) == (kind, column)
    assert kind.another_schedule == (kind <= Kind.CONTENT)


def test_what_is_below_the_digits_is_equal(tmp_path: Path) -> None:
    assert different(tmp_path, BASE) == []
    assert different(tmp_path, replaced(3, start=30.000001)) == []


def test_energies_are_compared_relatively(tmp_path: Path) -> None:
    """Two of the last digits were seen with real Batsim, of jobs that share hosts."""
    ours = result(tmp_path, BASE, {"consumed_energy": "48838.696426"})
    theirs = result(tmp_path, BASE, {"consumed_energy": "48838.696390"})
    assert find_differences(ours, theirs) == []


def test_only_energies_that_both_account_for_are_compared(tmp_path: Path) -> None:
    ours, theirs, neither = (
        result(tmp_path, BASE, {"consumed_energy": joules, "stretch": "2"})
        for joules in ("6.000000", "7.000000", "-1.000000")
    )
    (difference,) = find_differences(ours, theirs)
    assert (difference.gravest.kind, difference.gravest.column) == (
        Kind.CONTENT,
        "consumed_energy",
    )
    assert find_differences(ours, neither) == []


def test_each_kind_has_a_line_with_the_job_that_started_first(tmp_path: Path) -> None:
    """Jobs 2 and 4 have other times; 4 came later and started earlier."""
    rows = (
        BASE[0]._replace(first=6),
        BASE[1]._replace(start=101),
        BASE[2],
        BASE[3]._replace(start=31),
    )
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
