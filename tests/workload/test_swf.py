"""Reading and writing SWF logs."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import LogError
from batsched_py.units import LATEST_TIME
from batsched_py.workload.logs.swf import FIELDS, read_swf, write_swf
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
