"""Reading and writing SWF logs; swapped-out jobs; data frames as logs."""

from __future__ import annotations

import gzip
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
from batsched_py.units import LATEST_TIME
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from batsched_py.workload.logs.swf import FIELDS, SwfLog, read_swf, write_swf
from batsched_py.workload.logs.swf_frame import digest, log_from_frame
from helpers.logs import swf_line as line

HEADER = ["; Version: 2.2", "; MaxProcs: 8 (of 16)", "; Note: one", "; Note: two"]
LOGS = {
    "KTH-SP2-1996-2.1-cln": 28_476,
    "CTC-SP2-1996-3.1-cln": 77_222,
    "SDSC-DS-2004-2.1-cln": 96_069,
    "CEA-Curie-2011-2.1-cln": 312_826,
}
"""The other logs are read by the tests of published numbers."""


def write(path: Path, *lines: str, end: str = "\n") -> Path:
    path.write_bytes("".join(f"{text}{end}" for text in lines).encode("latin-1"))
    return path


def test_a_log_has_columns_lines_and_header(tmp_path: Path) -> None:
    """With ends of lines of Windows, none at the end, and a header that is not UTF-8."""
    latin = "; Acknowledge: J\xfcrgen"
    path = write(tmp_path / "a.swf", *HEADER, latin, line(1, 0), line(2, 5.5), end="\r\n")
    path.write_bytes(path.read_bytes().rstrip())
    log = read_swf(path)
    assert log.column("submit_time").tolist() == [0, 5.5]
    assert log.column("user").tolist() == [3, 3]
    assert log.lines.tolist() == [6, 7]
    assert [key for key, _ in log.header] == ["Version", "MaxProcs", "Note", "Note", "Acknowledge"]
    assert [value for _, value in log.header][:4] == ["2.2", "8 (of 16)", "one", "two"]
    assert log.header_lines[:4] == HEADER
    assert log.max_processors == 8


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ([";  MaxProcs\t:\t128"], 128),  # tabs and spaces around the key are ignored
        (["; MaxNodes: 5", "; MaxProcs: 9"], 9),  # MaxProcs comes before MaxNodes
        (["; MaxNodes: 5"], 5),  # MaxNodes stands in for MaxProcs
        (["; MaxProcs: -1"], 4),  # an unknown MaxProcs is the largest size
        ([], 4),  # without a header it is the largest size
    ],
)
def test_machine(tmp_path: Path, header: list[str], expected: int) -> None:
    log = read_swf(write(tmp_path / "a.swf", *header, line(1, size=4), line(2, size=2)))
    assert log.max_processors == expected
    noted = any("MaxProcs" in note for note in log.notes)
    assert noted == (expected not in (128, 9)), "where the number is from is said if not MaxProcs"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("1 2 3", "fields"),  # a line with too few fields
        (line(2) + " 7", "fields"),  # a line with too many fields
        (line(2, "1o"), "1o"),  # a letter in a number
        (line(2, "nan"), "nan"),  # a nan
        (line(2, run="1_0"), "1_0"),  # a number in Python's spelling
        (line(2, size=4.5), "4.5"),  # half a processor
        (line(2, -1), "-1"),  # an unknown submit time
        (line(1, 4), "1"),  # a job number that was there before
    ],
)
def test_a_bad_line_is_named_or_skipped(tmp_path: Path, bad: str, message: str) -> None:
    path = write(tmp_path / "a.swf", "; MaxProcs: 8", line(1), bad, line(3))
    with pytest.raises(LogError) as error:
        read_swf(path)
    assert f"{path}:3" in str(error.value)
    assert message in str(error.value)
    assert "skip_bad_lines" in str(error.value)
    log = read_swf(path, skip_bad_lines=True)
    assert log.column("job_number").tolist() == [1, 3]
    assert log.lines.tolist() == [2, 4]
    assert any("1 " in note and "3" in note for note in log.notes)


def test_unsorted_submissions_are_sorted_stably_and_noted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", line(1, 9), line(2, 5), line(3, 9), line(4, 5))
    log = read_swf(path)
    assert log.column("job_number").tolist() == [2, 4, 1, 3]
    assert log.lines.tolist() == [2, 4, 1, 3]
    assert any("order" in note for note in log.notes)


@pytest.mark.parametrize(
    "content",
    [
        b"; MaxProcs: 4\n",
        b"\n \n",
        pytest.param(bytes(range(256)), id="binary data"),
        gzip.compress(b"; x\n" * 999, mtime=0)[:-9],
        gzip.compress(b"", mtime=0),
    ],
)
@pytest.mark.parametrize("skip", [False, True])
def test_what_is_no_log_is_refused(tmp_path: Path, content: bytes, skip: bool) -> None:
    path = tmp_path / "a.swf.gz"
    path.write_bytes(content)
    with pytest.raises(LogError, match=r"a\.swf\.gz"):
        read_swf(path, skip_bad_lines=skip)


numbers = st.one_of(
    st.integers(-1, 10**12).map(float),
    st.floats(-1, 1e15, allow_nan=False, allow_infinity=False),
)
times = st.integers(-1, 10**9).map(float) | st.floats(-1, LATEST_TIME / 3)
WHOLE = [0, 4, 7, *range(10, 17)]


@st.composite
def records(draw: st.DrawFn) -> list[list[float]]:
    count = draw(st.integers(1, 5))
    rows = [draw(st.lists(numbers, min_size=18, max_size=18)) for _ in range(count)]
    for number, row in enumerate(rows):
        row[0], row[1] = float(number), abs(draw(times))
        row[2:4] = draw(times), draw(times)
        for index in WHOLE:
            row[index] = float(int(row[index]))
    return sorted(rows, key=lambda row: row[1])


@given(rows=records(), zipped=st.booleans())
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[float]], zipped: bool
) -> None:
    path = tmp_path_factory.mktemp("swf") / ("a.swf.gz" if zipped else "a.swf")
    write_swf(path, HEADER, rows)
    content = path.read_bytes()
    log = read_swf(path)
    assert log.data.tolist() == rows
    assert log.header_lines == HEADER
    write_swf(path, log.header_lines, log.data.tolist())
    assert path.read_bytes() == content, "the same log gives the same bytes"


@pytest.mark.parametrize("name", LOGS)
def test_logs_of_the_archive_parse(shared: Path, name: str) -> None:
    path = shared / "swf" / f"{name}.swf.gz"
    if not path.is_file():
        pytest.skip(f"no {path}")
    log = read_swf(path)
    assert len(log) == LOGS[name]
    assert log.data.shape == (LOGS[name], len(FIELDS))
    assert np.all(np.diff(log.column("submit_time")) >= 0)


# A job that was swapped out has a line for each burst ---------------------------------------------


OF_EIGHT = "; MaxProcs: 8"


def row(job: int, submit: float, status: int) -> list[float]:
    return [job, submit, 0, 10, 1, -1, -1, 1, 60, -1, status, 3, 1, -1, 1, -1, -1, -1]


def text_of(rows: list[list[float]]) -> list[str]:
    return [" ".join(f"{value:g}" for value in fields) for fields in rows]


def readings(folder: Path, rows: list[list[float]]) -> dict[str, SwfLog]:
    """Return the same log, read in each of the ways that there are."""
    lines = text_of(rows)
    tidy, commented, untidy = (folder / name for name in ("tidy", "commented", "untidy"))
    tidy.write_text("\n".join([OF_EIGHT, *lines, ""]))
    commented.write_text("\n".join([OF_EIGHT, lines[0], "; Note: pause", *lines[1:], ""]))
    untidy.write_text("\n".join([OF_EIGHT, *lines, "no job", ""]))
    frame = pd.DataFrame(np.array(rows), columns=list(FIELDS))
    frame.attrs = {"MaxProcs": 8}
    return {
        "tidy": read_swf(tidy),
        "commented": read_swf(commented),
        "untidy": read_swf(untidy, skip_bad_lines=True),
        "frame": log_from_frame(frame),
    }


@given(
    nb_bursts=st.lists(st.integers(0, 3), min_size=1, max_size=6),
    ending=st.sampled_from([3, 4]),
    unknown_submit=st.booleans(),
)
def test_bursts_change_nothing_but_a_note(
    tmp_path_factory: pytest.TempPathFactory,
    nb_bursts: list[int],
    ending: int,
    *,
    unknown_submit: bool,
) -> None:
    """Only the first line of a job need have a submit time."""
    wholes, rows = [], []
    for job, nb in enumerate(nb_bursts, 1):
        wholes.append(row(job, 10 * job, ending % 2))
        parts = [row(job, -1 if unknown_submit else 10 * job, 2) for _ in range(nb)]
        if parts:
            parts[-1][FIELDS.index("status")] = ending
        rows += [wholes[-1], *parts]
    folder = tmp_path_factory.getbasetemp()
    with_bursts = readings(folder, rows)
    for way, log in readings(folder, wholes).items():
        read = with_bursts[way]
        assert (read.data == log.data).all(), way
        assert not any("burst" in note for note in log.notes)
        added = [note for note in read.notes if "burst" in note]
        assert len(read.notes) == len(log.notes) + len(added), way
        nb, jobs = sum(nb_bursts), sum(map(bool, nb_bursts))
        assert len(added) == bool(nb), way
        assert not nb or added[0].startswith(f"{nb} bursts of {jobs} jobs"), way


def test_a_line_that_is_the_only_one_of_its_job_is_a_job(tmp_path: Path) -> None:
    rows = [row(1, 0, 3), row(2, 5, 2), row(3, 9, 1)]
    for way, log in readings(tmp_path, rows).items():
        assert log.column("job_number").tolist() == [1, 2, 3], way
    path = tmp_path / "a.swf"
    path.write_text("\n".join(text_of([row(1, -5, 1), row(1, 5, 2), row(1, 5, 3), row(2, 9, 1)])))
    log = read_swf(path, skip_bad_lines=True)  # bursts of a bad line go with it
    assert (log.column("job_number").tolist(), log.lines.tolist()) == ([2], [4])
    path.write_text("\n".join(text_of([row(1, 0, 2), row(1, 5, 3)])))
    with pytest.raises(LogError, match=r"a\.swf:2: job_number"):
        read_swf(path)


# Data frames as logs ------------------------------------------------------------------------------


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
        ([1, 2], "is not an input"),
    ],
)
def test_what_is_no_frame_of_a_log_is_refused(given_frame: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        simulate(given_frame)
