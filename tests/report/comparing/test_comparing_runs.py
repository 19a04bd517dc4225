"""Two runs: matching of jobs, what moved, metrics, users, and the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import batsched_py
from batsched_py.errors import InputError, UsageError
from batsched_py.report.comparing.run_tables import tabulate_effects
from batsched_py.report.comparing.runs import RunComparison, compare_runs
from batsched_py.report.document import Table
from batsched_py.workload.logs.sample_log import sample_log
from helpers.examples import few_examples
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
    assert (start["most_earlier"], start["job_earlier"]) == (10, "w0!2")
    assert (start["most_later"], start["job_later"]) == (20, "w0!3")
    assert start["mean"] == 2.5
    largest = table(compared(tmp_path, BASE, tuple(other)), "largest_shifts").frame
    assert largest[["name", "start_shift"]].values.tolist() == [["w0!3", 20], ["w0!2", -10]]


def test_equal_jobs_of_other_settings_are_identical_and_the_line_names_them(tmp_path: Path) -> None:
    of_a, of_b = settings("easy", warm_up=0.0), settings("fcfs")
    comparison = compared(tmp_path, BASE, BASE, of_a, of_b)
    assert comparison.identical
    assert [section.title for section in comparison.report().sections] == ["What was compared"]
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
        # another version of the code
        (CAMPAIGN_RUN | {"code": "d" * 64, "git_revision": "r2"}, {"code", GIT_REVISION}),
        # runs of simulate, which say nothing of code, and of the files that they read if any
        (None, set()),
        ({"files": {"patient.py": "b" * 12}}, {"file patient.py"}),
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


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (replaced(3, first=2), "1 are on"),
        (replaced(2, start=150.000002), "1 differ by rounding"),
        (replaced(2, start=150.002), ""),
        (replaced(3, size=2), ""),
        (replaced(3, start=None), ""),
        (BASE[:3], ""),
    ],
)
def test_equal_times_are_the_same_schedule(
    tmp_path: Path, other: tuple[Row, ...], same: str
) -> None:
    comparison = compared(tmp_path, BASE, other)
    assert not comparison.identical
    assert comparison.same_schedule == bool(same)
    assert same in comparison.summary


def test_metrics_are_of_all_jobs_and_relative_to_a(tmp_path: Path) -> None:
    metrics = compared(tmp_path, BASE, replaced(2, start=170)).metrics.set_index("metric")
    # waits 0, 95, 140, 10 in A; job 3 waits 160 in B
    assert metrics.loc["mean_waiting_time", ["a", "b", "difference"]].tolist() == [61.25, 66.25, 5]
    assert metrics.loc["mean_waiting_time", "relative"] == pytest.approx(5 / 61.25)
    assert math.isnan(metrics.loc["mean_lateness", "relative"])


@pytest.mark.parametrize("unknown", ["ab", "a", "b"])
def test_where_nothing_was_recorded_lateness_is_not_compared(tmp_path: Path, unknown: str) -> None:
    """Made-up jobs, beside others or beside recorded ones that came when they were recorded."""
    runs = []
    for run, rows in (("a", BASE), ("b", replaced(2, start=170))):
        runs.append([row._replace(recorded=math.nan) for row in rows] if run in unknown else rows)
    comparison = compared(tmp_path, *map(tuple, runs))
    metrics = comparison.metrics.set_index("metric")
    assert ("mean_lateness" in metrics.index) == (len(unknown) == 1)
    assert comparison.match.same_jobs
    for name in ("effects", "top_movers"):
        shown = table(comparison, name)
        texts = [
            *(column.title for column in shown.columns),
            *map(str, shown.frame.to_numpy().flat),
        ]
        assert not [text for text in texts if "lateness" in text]


def test_means_over_jobs_and_over_users_differ(tmp_path: Path) -> None:
    rows = table(compared(tmp_path, BASE, replaced(2, start=170)), "effects").frame
    waits = rows[rows["quantity"] == "mean waiting time"]
    # 20 s for one of ann's two jobs: 20 / 4 over jobs, 10 / 3 over users
    assert waits["difference"].tolist() == [5, 5, pytest.approx(10 / 3)]
    assert waits["drawn"].tolist() == ["jobs", "jobs, by user", "users"]
    assert waits["nb"].tolist() == [4, 3, 3]


NONE_ALIKE = "0% of them"


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ([r._replace(submit=r.submit + 3, profile=f"x{r.id}") for r in BASE], NONE_ALIKE),
        ([r._replace(id=f"x{r.id}") for r in BASE], "Only 0 ids"),
        ([r._replace(user=f"{r.user}!", recorded=99) for r in BASE], NONE_ALIKE),
    ],
)
def test_other_jobs_are_compared_as_distributions(
    tmp_path: Path, other: list[Row], sentence: str
) -> None:
    comparison = compared(tmp_path, BASE, other)
    assert not comparison.match.same_jobs
    assert sentence in comparison.summary
    names = [part.name for part in (*comparison.report().tables, *comparison.report().figures)]
    assert names == ["settings", "means", "quantiles", "metrics", "distribution_of_waits"]
    assert comparison.moved_jobs.empty


def test_tables_of_batsim_have_no_users_and_take_them_from_beside(tmp_path: Path) -> None:
    write_run(tmp_path / "a", BASE, ours=False)
    write_run(tmp_path / "b", replaced(2, start=170), ours=False)
    comparison = RunComparison.of(tmp_path / "a", tmp_path / "b")
    assert comparison.users.empty
    assert len(comparison.moved_jobs) == 1
    for name in "ab":
        lines = [f"{row.id},w0,{row.user},1,{row.submit},0" for row in reversed(BASE)]
        head = "job_id,workload_name,user,session,original_submission_time,lateness"
        (tmp_path / f"{name}_users.csv").write_text("\n".join([head, *lines]) + "\n")
    users = RunComparison.of(tmp_path / "a", tmp_path / "b").users.set_index("user")
    assert users.loc["ann", "wait_shift"] == 10


def test_results_in_memory_are_compared_as_their_files(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_bytes(sample_log(days=3))
    easy, fcfs = (batsched_py.simulate(log, scheduler=name) for name in ("easy", "fcfs"))
    report = compare_runs(easy, fcfs)
    easy.write(tmp_path / "easy")
    fcfs.write(tmp_path / "fcfs")
    files = compare_runs(tmp_path / "easy", str(tmp_path / "fcfs_jobs.csv"))
    assert files.summary == report.summary
    for from_files, in_memory in zip(files.tables, report.tables, strict=True):
        assert from_files.frame.equals(in_memory.frame), from_files.name
    assert "identical" in compare_runs(easy, easy).summary
    with pytest.raises(UsageError, match="two results"):
        compare_runs(easy, tmp_path / "fcfs")
    # in a notebook
    assert repr(report).splitlines()[1].strip() == report.summary
    assert len(repr(report)) < 1000
    html = report._repr_html_()
    assert all(table.title in html for table in report.tables)
    assert "<table>" in html
    page = report.write(tmp_path / "new" / "page.html")
    assert all(figure.title in page.read_text() for figure in report.figures)


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


def numbered(rows: list[Row]) -> tuple[Row, ...]:
    """Rows in which the start is a waiting time, as jobs."""
    return tuple(
        row._replace(id=str(at), start=None if row.start is None else row.submit + row.start)
        for at, row in enumerate(rows)
    )


JOB = st.builds(
    Row,
    id=st.just(""),
    submit=st.integers(0, 1000),
    start=st.none() | st.integers(0, 5000),
    run=st.integers(1, 900),
    size=st.integers(1, 8),
    user=st.sampled_from(["", "ann", "bob"]),
    recorded=st.integers(0, 1000),
    workload=st.just("w0"),  # what is not said would be drawn, since Row is a tuple
    profile=st.just("p"),
    first=st.just(0),
)
RUNS = st.lists(JOB, min_size=1, max_size=12).map(numbered)
QUIET = hypothesis_settings(
    few_examples, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUIET
@given(a=RUNS, data=st.data())
def test_comparing_the_other_way_round_turns_the_signs(
    tmp_path: Path, a: tuple[Row, ...], data: st.DataObject
) -> None:
    waits = data.draw(st.lists(st.integers(0, 5000), min_size=len(a), max_size=len(a)))
    b = tuple(
        row if row.start is None else row._replace(start=row.submit + wait)
        for row, wait in zip(a, waits, strict=True)
    )
    there, back = compared(tmp_path / "1", a, b), compared(tmp_path / "2", b, a)
    assert there.match.same_jobs
    assert back.match.same_jobs
    assert there.identical == back.identical
    assert (there.pairs["start_shift"].fillna(0) == -back.pairs["start_shift"].fillna(0)).all()
    metrics_there, metrics_back = there.metrics, back.metrics
    assert metrics_there["a"].equals(metrics_back["b"])
    assert (
        metrics_there["difference"].fillna(0).tolist()
        == (-metrics_back["difference"].fillna(0)).tolist()
    )
    users = there.users.set_index("user")["wait_shift"]
    assert users.equals(-back.users.set_index("user")["wait_shift"].reindex(users.index))
    if there.identical:
        return
    measured = (comparison.pairs[comparison.pairs["measured"]] for comparison in (there, back))
    effects_there, effects_back = (
        {
            (row.quantity, row.over, row.drawn): row
            for row in tabulate_effects(pairs).frame.itertuples()
        }
        for pairs in measured
    )
    for key, row in effects_there.items():
        mirrored = effects_back[key]
        assert [row.low, row.high] == pytest.approx([-mirrored.high, -mirrored.low], nan_ok=True)
