"""A data frame as a log: it gives what the file of the same jobs gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.errors import LogError, UsageError
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_py.workload.logs.swf import FIELDS, read_swf, write_swf
from batsched_py.workload.logs.swf_frame import digest, log_from_frame

ARCHIVE = (
    *("Job Number", "Submit Time", "Wait Time", "Run Time", "Number of Allocated Processors"),
    *("Average CPU Time Used", "Used Memory", "Requested Number of Processors", "Requested Time"),
    *("Requested Memory", "Status", "User ID", "Group ID", "Executable (Application) Number"),
    *("Queue Number", "Partition Number", "Preceding Job Number"),
    "Think Time from Preceding Job",
)
EVALYS = (
    *("jobID", "submission_time", "waiting_time", "execution_time", "proc_alloc", "cpu_used"),
    *("mem_used", "proc_req", "user_est", "mem_req", "status", "uid", "gid", "exe_num", "queue"),
    *("partition", "prev_jobs", "think_time"),
)


def frame(**changes: Any) -> pd.DataFrame:
    """Return three jobs of two users."""
    columns = {
        "submit_time": [0, 10, 20],
        "run_time": [5, 6, 7],
        "requested_processors": [1, 2, 4],
        "user": [1, 2, 1],
    }
    kept = {name: column for name, column in (columns | changes).items() if column is not None}
    return pd.DataFrame(kept)


def test_it_gives_what_the_file_gives() -> None:
    """By any names, in any order of the columns and rows, and by the same rules."""
    log = read_swf(SAMPLE_LOG)
    read = pd.DataFrame(log.data[:100], columns=list(FIELDS))
    frames = [
        read,
        read.set_axis(list(ARCHIVE), axis=1),
        read.set_axis(list(EVALYS), axis=1).iloc[:, ::-1],
        read.set_index("job_number"),
        read.astype(object).where(read != -1, None),
    ]
    hashes = set()
    for same in frames:
        same.attrs = dict(log.header)
        again = log_from_frame(same)
        assert (again.data == log.data[:100]).all()
        hashes.add(digest(again))
    assert len(hashes) == 1
    assert digest(log_from_frame(read.iloc[1:])) not in hashes
    rules: dict[str, Any] = {"rules": "predictsim", "users": "feedback", "first": 60}
    ours, by_file = simulate(frames[1], **rules), simulate("sample", **rules)
    assert ours.jobs_csv() == by_file.jobs_csv()
    assert ours.settings["input"]["name"] == "DataFrame"
    for name in ("rules", "unix_start_time"):
        assert ours.settings[name] == by_file.settings[name]


columns = st.sampled_from([name for name in FIELDS if name not in ("job_number", "submit_time")])


@given(
    submits=st.lists(st.integers(0, 1000), min_size=1, max_size=8),
    known=st.dictionaries(columns, st.integers(-1, 1000)),
)
def test_it_is_what_it_would_be_as_a_file(
    tmp_path_factory: pytest.TempPathFactory, submits: list[int], known: dict[str, int]
) -> None:
    given_frame = pd.DataFrame({"submit_time": submits, "run_time": 1, "requested_processors": 1})
    given_frame = given_frame.assign(**known)
    rows = np.full((len(submits), len(FIELDS)), -1.0)
    rows[:, 0] = range(1, len(submits) + 1)
    for name in given_frame:
        rows[:, FIELDS.index(str(name))] = given_frame[name]
    path: Path = tmp_path_factory.getbasetemp() / "drawn.swf"
    write_swf(path, [], rows.tolist())
    expected, log = read_swf(path), log_from_frame(given_frame)
    assert (log.data == expected.data).all()
    assert log.notes == expected.notes


def test_what_is_not_there_is_unknown() -> None:
    log = log_from_frame(frame(user=None, requested_time=[60, None, np.nan]))
    assert log.column("job_number").tolist() == [1, 2, 3]
    assert log.column("user").tolist() == [-1, -1, -1]
    assert log.column("requested_time").tolist() == [60, -1, -1]
    more = log_from_frame(frame(hour=[1, 2, 3], submited=0))
    assert any("hour, submited" in note for note in more.notes)
    of_64 = frame()
    of_64.attrs = {"MaxProcs": 64, "UnixStartTime": 1000}
    assert [log_from_frame(each).max_processors for each in (of_64, frame())] == [64, 4]
    assert simulate(of_64, node_factor=0.5).output.nb_processors == 32
    with pytest.raises(LogError, match="0 rows"):
        log_from_frame(frame().iloc[:0])


@pytest.mark.parametrize(
    ("changes", "place", "expected"),
    [
        ({"run_time": [5, "x", 7]}, "row 1, column run_time: found 'x'", "a number"),
        ({"run_time": [5, np.inf, 7]}, "row 1, column run_time", "a number"),
        ({"requested_processors": [1, 2, 0.5]}, "row 2, column requested_pr", "an integer"),
        ({"user": ["a", 2, 3]}, "row 0, column user: found 'a'", "factorize"),
        ({"submit_time": [0, 1, -1]}, "row 2, column submit_time: found -1", "at least 0"),
        ({"job_number": [1, 2, 1]}, "row 2, column job_number: found 1", "no other"),
    ],
)
def test_what_makes_no_sense_is_told_with_its_place(
    changes: dict[str, Any], place: str, expected: str
) -> None:
    with pytest.raises(LogError, match=f"{re.escape(place)}.*expected.*{expected}"):
        log_from_frame(frame(**changes))
    log = log_from_frame(frame(**changes), skip_bad_lines=True)
    assert len(log) == 2
    assert any(note.startswith("1 bad rows") for note in log.notes)


@pytest.mark.parametrize(
    ("given_frame", "message"),
    [
        (frame(submit_time=None, submittime_s=[1, 2, 3]), "submit_time .*submittime_s"),
        (frame(Submit=[1, 2, 3]), "'submit_time' and 'Submit'"),
        (frame(submit_time=pd.to_datetime([0, 1, 2])), "'submit_time' has datetime64"),
        ([1, 2], "is no input"),
    ],
)
def test_what_is_no_log_is_refused(given_frame: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        simulate(given_frame)
