"""Columns of jobs from logs, workloads and results, and their sessions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.metrics.table import JobTable
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.rules import make_rules, workload_from_log
from batsched_py.workload.swf import read_swf
from users.sessions import Delimitation, partition
from users.validation.columns import (
    JobColumns,
    columns_of_log,
    columns_of_table,
    columns_of_workload,
    cut_sessions,
)

LOG = """\
; MaxProcs: 8
; UnixStartTime: 345600
; TimeZoneString: UTC
1 0 5 60 4 -1 -1 2 120 -1 1 7 1 1 1 1 -1 -1
2 10 5 -1 4 -1 -1 -1 -1 -1 1 7 1 1 1 1 -1 -1
3 20 5 0 -1 -1 -1 -1 30 -1 1 -1 1 1 1 1 -1 -1
"""


def columns(submit: list[float], user: list[int]) -> JobColumns:
    ones = np.ones(len(submit))
    return JobColumns(np.array(user, dtype=np.int64), np.array(submit), ones, ones, ones)


def test_a_log_keeps_all_jobs_and_marks_what_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    found = columns_of_log(read_swf(path))
    assert found.user.tolist() == [7, 7, -1]
    np.testing.assert_array_equal(found.size, [2, 4, np.nan])
    np.testing.assert_array_equal(found.run_time, [60, np.nan, 0])
    np.testing.assert_array_equal(found.requested_time, [120, np.nan, 30])
    assert found.calendar.weekday(0) == 0, "5 January 1970 was a Monday"
    np.testing.assert_array_equal(found.ran.submit, [0])
    allocated = columns_of_log(read_swf(path), size="allocated")
    np.testing.assert_array_equal(allocated.size, [4, 4, np.nan])


def test_a_workload_has_the_same_columns_as_its_log(shared: Path) -> None:
    log = read_swf(shared / "swf/KTH-SP2-1996-2.swf.gz")
    of_log = columns_of_log(log)
    of_workload = columns_of_workload(workload_from_log(log, make_rules(walltime="requested")))
    for name in ("submit", "size", "run_time", "requested_time"):
        np.testing.assert_array_equal(getattr(of_workload, name), getattr(of_log, name))
    first = np.unique(of_workload.user, return_index=True)[1]
    assert len(first) == 214
    np.testing.assert_array_equal(of_log.user, of_log.user[first][of_workload.user])


def test_a_workload_out_of_order_and_with_unknowns() -> None:
    jobs = [
        WorkloadJob(id="a", submit_time=9, size=1, profile="d", user="u"),
        WorkloadJob(id="b", submit_time=3, size=2, profile="x", walltime=50.0),
    ]
    profiles = {"d": {"type": "delay", "delay": 7}, "x": {"type": "parallel_homogeneous_total"}}
    found = columns_of_workload(Workload(name="w", nb_res=4, jobs=jobs, profiles=profiles))
    assert found.user.tolist() == [-1, 0]
    assert found.submit.tolist() == [3, 9]
    np.testing.assert_array_equal(found.run_time, [np.nan, 7])
    np.testing.assert_array_equal(found.requested_time, [50, np.nan])
    empty = columns_of_workload(Workload(name="w", nb_res=4, jobs=[], profiles={}))
    assert len(empty) == 0
    assert len(cut_sessions(empty).user) == 0


def test_a_result_gives_the_jobs_that_ran() -> None:
    table = JobTable(
        submit=np.array([5.0, 1, 2]),
        start=np.array([5.0, 1, np.nan]),
        finish=np.array([8.0, 3, np.nan]),
        execution=np.array([3.0, 2, np.nan]),
        size=np.array([4.0, 2, 0]),
        original_submit=np.array([5.0, 1, 2]),
        user=["a", "", "b"],
    )
    found = columns_of_table(table)
    assert found.user.tolist() == [-1, 0]
    assert found.submit.tolist() == [1, 5]
    assert found.run_time.tolist() == [2, 3]
    assert np.isnan(found.requested_time).all()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30),
    st.sampled_from(["arrival:10", "arrival:10:>", "arrival:0", "arrival:0:>"]),
)
def test_sessions_are_those_of_the_partition(drawn: list[tuple[int, int]], text: str) -> None:
    drawn.sort(key=lambda pair: pair[1])
    rule = Delimitation.parse(text)
    jobs = [
        WorkloadJob(id=str(i), submit_time=600.0 * t, size=1, profile="p", user=str(u))
        for i, (u, t) in enumerate(drawn)
    ]
    expected = {
        int(user): [[int(job.id) for job in session.jobs] for session in own]
        for user, own in partition(jobs, rule).items()
    }
    cut = cut_sessions(columns([600.0 * t for _, t in drawn], [u for u, _ in drawn]), rule)
    found: dict[int, list[list[int]]] = {}
    for i, user in enumerate(cut.user.tolist()):
        own = cut.rows[cut.bounds[i] : cut.bounds[i + 1]].tolist()
        found.setdefault(user, []).append(own)
    assert found == expected


def test_sessions_leave_out_unknown_users_and_refuse_other_methods() -> None:
    jobs = columns([0, 1, 2], [-1, 4, -1])
    assert cut_sessions(jobs).rows.tolist() == [1]
    with pytest.raises(UsageError, match="expected arrival:MINUTES"):
        cut_sessions(jobs, Delimitation("max", 20))
    with pytest.raises(UsageError, match=r"attribute=sise .*size"):
        jobs.attribute("sise")
