"""Files that are read line by line, for they may be longer than memory."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import InputError, UsageError
from batsched_py.support import file_readers
from batsched_py.support.file_readers import lines_of


@given(content=st.binary(max_size=60), packed=st.booleans())
def test_lines_are_those_of_the_content(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, packed: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / "file"
    content = content.removeprefix(b"\x1f\x8b")
    path.write_bytes(gzip.compress(content) if packed else content)
    assert list(lines_of(path)) == re.findall(rb"[^\n]*\n|[^\n]+", content)
    assert b"".join(lines_of(path)) == content


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (b"a\nb", gzip.compress(b"a\nb")):
        stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))
        monkeypatch.setattr(sys, "stdin", stream)
        assert list(lines_of("-")) == [b"a\n", b"b"]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"a\n" * 9000)[:-9])
    (tmp_path / "torn.gz").write_bytes(b"\x1f\x8b\x08" + b"?" * 40)
    for name, kind, message in (
        ("none", UsageError, "there is no file"),
        ("a\0b", UsageError, "there is no file"),
        (".", UsageError, "is a folder"),
        ("fifo", InputError, "a FIFO"),
        ("cut.gz", InputError, "damaged or cut off"),
        ("torn.gz", InputError, "damaged or cut off"),
    ):
        with pytest.raises(kind, match=message):
            list(lines_of(tmp_path / name))


def test_a_line_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_readers, "LONGEST_LINE", 10)
    (tmp_path / "file").write_bytes(b"a\n" + b"b" * 8 + b"\n" + b"c" * 10)
    lines = lines_of(tmp_path / "file")
    assert [next(lines), next(lines)] == [b"a\n", b"b" * 8 + b"\n"]
    with pytest.raises(InputError, match="file:3: a line of more than 10 bytes"):
        next(lines)


@pytest.mark.parametrize("packed", [False, True])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, packed: bool) -> None:
    content = b"a line of a file\n" * 500_000
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    del content
    tracemalloc.start()
    assert sum(1 for _ in lines_of(path)) == 500_000
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 5_000_000
