import gzip
import io
import re
import sys
import tracemalloc
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import InputError, ProtocolError, UsageError
from batsched_py.files.readers import (
    MOST_DIGITS,
    csv_rows,
    numbered_csv_rows,
    parse_json,
    parse_toml,
    read_bytes,
    read_json,
    read_lines,
    read_text,
    read_toml,
    unpack,
)


class Run(msgspec.Struct):
    scheduler: str
    nodes: int


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "in"


def message(action: Any, *arguments: Any, kind: type[Exception] = InputError) -> str:
    with pytest.raises(kind) as error:
        action(*arguments)
    return str(error.value)


# Files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["missing", "", "a\0b"])
def test_a_missing_file_or_a_folder_is_a_mistake_of_who_names_it(tmp_path: Path, name: str) -> None:
    assert name[:1] in message(read_bytes, tmp_path / name, kind=UsageError)
    assert name[:1] in message(list, read_lines(tmp_path / name), kind=UsageError)
    assert "too long" in message(read_bytes, tmp_path / ("x" * 300))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("mark", [b"", BOM_UTF8])
def test_no_reader_sees_a_byte_order_mark(
    file: Path, mark: bytes, pack: Callable[[bytes], bytes]
) -> None:
    """All reading begins with one of these (``test_one_reader.py``), packed or not."""
    file.write_bytes(pack(mark + b"1\n" + BOM_UTF8 + b"\n"))
    assert unpack(read_bytes(file), file) == b"1\n" + BOM_UTF8 + b"\n"
    assert list(read_lines(file)) == [b"1\n", BOM_UTF8 + b"\n"]


@pytest.mark.parametrize("bad", [b"\xff", b"\xed\xa0\x80", b"\xc3"])
def test_bytes_that_are_no_text_are_told_with_their_line(file: Path, bad: bytes) -> None:
    file.write_bytes(b"one\ntwo " + bad)
    assert message(read_text, file).startswith(f"{file}:2: ")
    file.write_bytes("\ufeffä\r\nb\rc\n".encode())
    assert read_text(file) == "ä\nb\nc\n", "no mark, and plain ends of lines"


DAMAGED = "the gzip file is damaged or cut off"


# gzip --------------------------------------------------------------------------------------------


@given(st.binary(), st.binary())
def test_gzip_is_unpacked_by_content_in_all_its_parts(first: bytes, second: bytes) -> None:
    assert unpack(gzip.compress(first) + gzip.compress(second), "x") == first + second
    if not first.startswith(b"\x1f\x8b"):
        assert unpack(first, "x") == first


@given(st.data())
def test_damaged_gzip_is_told_or_gives_what_was_packed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "log.gz"
    packed = bytearray(gzip.compress(b"1 2 3\n" * 50, mtime=0))
    place = data.draw(st.integers(2, len(packed) - 1))
    packed[place] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(place, len(packed)))
    path.write_bytes(packed[:end])
    for read in (lambda: unpack(path.read_bytes(), path), lambda: b"".join(read_lines(path))):
        try:
            told = read().decode()
        except InputError as error:
            told, _, _ = str(error).partition(" (")
        assert told in ("1 2 3\n" * 50, f"{path}: {DAMAGED}")


@given(content=st.binary(max_size=60), packed=st.booleans())
def test_lines_are_those_of_the_content(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, packed: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / "file"
    content = content.removeprefix(b"\x1f\x8b")
    path.write_bytes(gzip.compress(content) if packed else content)
    assert list(read_lines(path)) == re.findall(rb"[^\n]*\n|[^\n]+", content)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_of_standard_input(
    pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(pack(b"a\nb"))))
    monkeypatch.setattr(sys, "stdin", stream)
    assert list(read_lines("-")) == [b"a\n", b"b"]


@pytest.mark.parametrize("packed", [False, True])
def test_memory_does_not_grow_with_the_lines_of_a_file(file: Path, packed: bool) -> None:
    content = b"a line of a file\n" * 500_000
    file.write_bytes(gzip.compress(content, 1) if packed else content)
    del content
    tracemalloc.start()
    assert sum(1 for _ in read_lines(file)) == 500_000
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8_000_000


# JSON --------------------------------------------------------------------------------------------


def test_files_are_read(file: Path) -> None:
    for content, expected in (
        (b'\xef\xbb\xbf{"scheduler": "easy", "nodes": 4}', Run("easy", 4)),
        (b'{"scheduler": "easy", "nodes": "4"}', f"{file}: .*`$.nodes`"),
        (b'{"a": 1,\n "b": }', f"{file}:2:7: "),
        (b'{"a": 1,\n "b": "\xff"}', f"{file}:2:8: "),
        (b'{"a": 1,\n "b": "1', f"{file}:2:9: "),
        (b"", f"{file}:1:1: "),
        (b'{"a": 1,\n "b": ' + b"9" * 400 + b"}", f"{file}:2:7: "),
    ):
        file.write_bytes(content)
        if isinstance(expected, Run):
            assert read_json(file, Run) == expected
        else:
            start, _, end = expected.partition(".*")
            told = message(read_json, file, Run if end else Any)
            assert told.startswith(start)
            assert told.endswith(end)
    file.write_text("\ufeff[run]\r\nnodes = 4\r\n")
    assert read_toml(file) == {"run": {"nodes": 4}}
    lines = ["a,b\n", '1,"two\n', 'lines"\n', "3,4\n"]
    rows = [["a", "b"], ["1", "two\nlines"], ["3", "4"]]
    assert list(csv_rows(lines, "x")) == rows
    assert list(numbered_csv_rows(lines, "x")) == list(zip([1, 3, 4], rows, strict=True))


BAD = {
    "cut": b'{"a": [1, 2',
    "no UTF-8": b'{"a": "\xff"}',
    "half a pair": rb'{"a": "\ud800"}',
    "two values": b"{} {}",
    "float too large": b'{"a": 1e999}',
    "309 digits": b'{"a": ' + b"8" * (MOST_DIGITS + 1) + b"}",
    "5000 digits": b'{"a": ' + b"8" * 5000 + b"}",
    "much too deep": b"[" * 100_000 + b"]" * 100_000,
    "open and deep": b'{"a":' * 100_000,
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("kind", [Any, dict[str, Any]])
def test_bad_json_is_told(bad: bytes, kind: Any) -> None:
    told = message(
        lambda: parse_json(bad, kind, "here", ProtocolError, expected="a run"), kind=ProtocolError
    )
    assert told.startswith("here: ")
    assert told.endswith("; expected a run")
    if bad.isascii():
        assert told == message(lambda: parse_json(bad.decode(), kind, "here", expected="a run"))


@pytest.mark.parametrize("before", [0, 1, 50, 99, 100, 333])
def test_a_long_number_is_found_wherever_it_is(before: int) -> None:
    text = b'["' + b"x" * before + b'", ' + b"7" * MOST_DIGITS
    assert len(parse_json(text + b"]", Any, "x")) == 2
    assert "308 digits" in message(parse_json, text + b"7]", Any, "x")


texts = st.text() | st.text('[]{}"\\:0', max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=60,
)


@given(json_values)
def test_all_usual_json_is_read(value: Any) -> None:
    for unique in (False, True):
        assert parse_json(msgspec.json.encode(value), Any, "x", unique_names=unique) == value


@pytest.mark.parametrize(
    "double",
    [
        b'{"a": 1, "a": 2}',
        b'[{"b": {"a": ":", "a": ":"}}]',
        rb'{"a": 1, "\u0061": "\u003a"}',
        rb'{"a": 1, "a": "\\ \u003A"}',
    ],
)
def test_a_name_that_comes_twice_is_told_if_it_is_asked_for(double: bytes) -> None:
    parse_json(double, Any, "here")
    told = message(lambda: parse_json(double, Any, "here", unique_names=True))
    assert told.endswith("in one object")


# TOML --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        "[run",
        "a = 1\na = 2",
        "a = " + "9" * 5000,
        "a = " + "[" * 100_000,
        "a = 2020-13-45",
    ],
)
def test_bad_toml_is_told(bad: str) -> None:
    told = message(lambda: parse_toml(bad, "here", ProtocolError), kind=ProtocolError)
    assert told.startswith(("here: not a TOML file: ", "here:1: "))


# CSV ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ['"' + "x" * 200_000, "1,\r2\n"])
def test_bad_csv_is_told_with_its_line(bad: str) -> None:
    told = message(
        lambda: list(csv_rows(["a,b\n", bad], "x.csv", ProtocolError)), kind=ProtocolError
    )
    assert told.startswith("x.csv:2: ")
