"""Columns of jobs from logs, workloads and results, and their order by users."""

from __future__ import annotations

from math import nan
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from batsched_py import simulate
from batsched_py.errors import InputError, UsageError
from batsched_py.units import HOUR
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_py.workload.logs.swf import read_swf
from batsched_users.measures.job_columns import (
    JobColumns,
    columns_of_frame,
    columns_of_jobs_file,
    columns_of_log,
    columns_of_workload,
)
from helpers.drawn_sessions import job_columns
from helpers.sealed_runs import seal

LOG = """\
; MaxProcs: 8
; UnixStartTime: 345600
; TimeZoneString: UTC
1 0 5 60 4 -1 -1 2 120 -1 1 7 1 1 1 1 -1 -1
2 10 5 -1 4 -1 -1 -1 -1 -1 1 7 1 1 1 1 -1 -1
3 20 5 0 -1 -1 -1 -1 30 -1 1 -1 1 1 1 1 -1 -1
"""


def test_a_log_keeps_all_jobs_and_marks_what_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    read = columns_of_log(read_swf(path))
    assert read.user.tolist() == [7, 7, -1]
    np.testing.assert_array_equal(read.end, [65, np.nan, 25])
    np.testing.assert_array_equal(read.ended.submit, [0, 20])
    np.testing.assert_array_equal(read.size, [2, 4, np.nan])
    np.testing.assert_array_equal(read.run_time, [60, np.nan, 0])
    np.testing.assert_array_equal(read.requested_time, [120, np.nan, 30])
    assert read.calendar.weekday(0) == 0, "5 January 1970 was a Monday"
    np.testing.assert_array_equal(read.ran.submit, [0])
    allocated = columns_of_log(read_swf(path), size="allocated")
    np.testing.assert_array_equal(allocated.size, [4, 4, np.nan])


def columns(*rows: tuple[int, float, float]) -> JobColumns:
    """Columns from user, submission and end."""
    user, submit, end = np.array(rows, dtype=float).reshape(-1, 3).T
    return job_columns(user, submit, end=end)


def test_order_by_users() -> None:
    """Row 0 is nobody's; rows 1 and 3 are of one instant, row 3 ends first."""
    jobs = columns((-1, 0, 1), (7, 5, 30), (2, 5, 6), (7, 5, 20), (7, 9, np.nan), (7, 40, 41))
    assert jobs.user_order().tolist() == [2, 1, 3, 4, 5]
    assert jobs.user_order(ties="end").tolist() == [2, 3, 1, 4, 5]
    ordered = jobs.by_user()
    assert ordered.same_user.tolist() == [False, True, True, True]
    np.testing.assert_array_equal(ordered.think_times, [np.inf, -25, -11, np.nan, np.inf])
    with pytest.raises(UsageError, match="ties=user"):
        jobs.user_order(ties="user")
    with pytest.raises(UsageError, match=r"attribute=sise .*size"):
        jobs.attribute("sise")


HEADER = "job_id,workload_name,submission_time,final_state,finish_time,user\n"
JOBS = (
    HEADER
    + "2,w0,10.000000,COMPLETED_SUCCESSFULLY,20.000000,u\n"
    + "1,w0,0.000000,COMPLETED_SUCCESSFULLY,30.500000,v\n"
    + "3,w0,40.000000,REJECTED,,u\n"
)


def write(folder: Path, jobs: str) -> Path:
    path = folder / "out_jobs.csv"
    path.write_text(jobs)
    return path


def test_a_result_of_this_project(tmp_path: Path) -> None:
    """On a machine with room for all, jobs run as long as in the log, and nobody waits."""
    simulate(SAMPLE_LOG, nodes=100_000).write(tmp_path / "out")
    read = columns_of_jobs_file(tmp_path / "out_jobs.csv")
    log = columns_of_workload(load_workload(SAMPLE_LOG, make_rules()))
    assert len(read) == len(log)
    assert read.calendar == log.calendar
    assert len(np.unique(read.user)) == len(np.unique(log.user))
    for name in ("submit", "size"):
        np.testing.assert_array_equal(np.sort(getattr(read, name)), np.sort(getattr(log, name)))
    run = np.sort(read.run_time)
    np.testing.assert_allclose(run, np.sort(log.run_time), atol=2e-5)
    np.testing.assert_allclose(read.end - read.submit, read.run_time, atol=2e-5)


def test_users_and_clock_of_a_result_of_batsim_are_beside_it(tmp_path: Path) -> None:
    """Batsim's own file does not say who submitted; ours beside it does, in any order."""
    lines = (line.rsplit(",", 1)[0] for line in JOBS.splitlines())
    users = "job_id,workload_name,user,session\n3,w0,x,1\n1,w0,y,1\n2,w0,x,1\n1,other,z,1\n"
    (tmp_path / "out_users.csv").write_text(users)
    seal(tmp_path / "out_run.json", '{"unix_start_time": 0.0, "time_zone": "+01:00"}')
    done = columns_of_jobs_file(write(tmp_path, "\n".join(lines) + "\n"))
    assert done.calendar.at_origin == 73 * HOUR
    assert done.user.tolist() == [1, 0, 0]
    assert done.submit.tolist() == [0, 10, 40]


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ("", "out_jobs.csv is empty"),
        (HEADER.replace("user", "whose"), "no column user"),
        (HEADER, "no job"),
        (HEADER + "1,w0,soon,X,1,u\n", "out_jobs.csv:2: submission_time is 'soon'"),
        (HEADER + "1,w0,5,X,6,\n", "out_jobs.csv:2: .*no user"),
        (HEADER + "1,w0,5,X,6,u\n2,w0,5,X,4,u\n", ":3: finish_time 4"),
    ],
)
def test_what_is_no_result(tmp_path: Path, jobs: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        columns_of_jobs_file(write(tmp_path, jobs))


def test_a_frame_of_jobs_is_in_the_order_of_submission_and_number() -> None:
    """Jobs 10 and 9 come together: 9 is first; a job of another workload has no number."""
    names = ("job_id", "user", "submission_time", "finish_time", "requested_number_of_resources")
    rows = [("10", "x", 5.0, 7.0, 2), ("9", "y", 5.0, 9.0, 4), ("a!1", "x", 1.0, nan, 1)]
    frame = pd.DataFrame(rows, columns=names).assign(execution_time=nan)
    columns = columns_of_frame(frame)
    assert columns.submit.tolist() == [1, 5, 5]
    assert columns.size.tolist() == [1, 4, 2]
    assert columns.user.tolist() == [0, 1, 0]
    assert np.isnan(columns.requested_time).all()
