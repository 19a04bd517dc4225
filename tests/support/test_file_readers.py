import gzip
import os
import subprocess
import sys
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import InputError, ProtocolError, UsageError
from batsched_py.support import file_readers as readers
from batsched_py.support.file_readers import (
    MOST_DIGITS,
    MOST_LEVELS,
    csv_rows,
    lines_of,
    numbered_csv_rows,
    parse_json,
    parse_toml,
    read_bytes,
    read_json,
    read_text,
    read_toml,
    unpacked,
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


def test_a_name_that_is_too_long_is_told(tmp_path: Path) -> None:
    assert "too long" in message(read_bytes, tmp_path / ("x" * 300))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_what_may_not_be_read_is_told(file: Path) -> None:
    file.touch(mode=0)
    assert str(file) in message(read_bytes, file)


def test_what_could_wait_or_go_on_for_ever_is_not_opened(file: Path) -> None:
    os.mkfifo(file)
    assert "FIFO" in message(read_bytes, file)
    file.unlink()
    file.symlink_to("/dev/zero")
    assert str(file) in message(read_bytes, file)


def test_a_device_that_is_named_is_read_as_far_as_is_allowed() -> None:
    assert read_bytes("/dev/null") == b""
    with pytest.raises(ProtocolError, match="more than 9 bytes"):
        read_bytes("/dev/zero", ProtocolError, most=9)


def test_what_a_shell_hands_on_is_read() -> None:
    code = "from batsched_py.support.file_readers import read_text; print(read_text('/dev/stdin'))"
    done = subprocess.run([sys.executable, "-c", code], input=b"jobs", capture_output=True)
    assert done.stdout == b"jobs\n"


def test_a_file_is_read_up_to_its_limit(file: Path) -> None:
    file.write_bytes(b"12345")
    assert read_bytes(file, most=5) == b"12345"
    assert str(file) in message(lambda: read_bytes(file, most=4))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("mark", [b"", BOM_UTF8])
def test_no_reader_sees_a_byte_order_mark(
    file: Path, mark: bytes, pack: Callable[[bytes], bytes]
) -> None:
    """All reading begins with one of these (``test_one_reader.py``), packed or not."""
    file.write_bytes(pack(mark + b"1\n" + BOM_UTF8 + b"\n"))
    assert unpacked(read_bytes(file), file) == b"1\n" + BOM_UTF8 + b"\n"
    assert list(lines_of(file)) == [b"1\n", BOM_UTF8 + b"\n"]


def test_text_has_no_mark_and_plain_ends_of_lines(file: Path) -> None:
    file.write_bytes("\ufeffä\r\nb\rc\n".encode())
    assert read_text(file) == "ä\nb\nc\n"


@pytest.mark.parametrize("bad", [b"\xff", b"\0", b"\xed\xa0\x80", b"\xc3"])
def test_bytes_that_are_no_text_are_told_with_their_line(file: Path, bad: bytes) -> None:
    file.write_bytes(b"one\ntwo " + bad)
    assert message(read_text, file).startswith(f"{file}:2: no text in UTF-8: it has the byte 0x")


# gzip --------------------------------------------------------------------------------------------


@given(st.binary(), st.binary())
def test_gzip_is_unpacked_by_content_in_all_its_parts(first: bytes, second: bytes) -> None:
    assert unpacked(gzip.compress(first) + gzip.compress(second), "x") == first + second
    if not first.startswith(b"\x1f\x8b"):
        assert unpacked(first, "x") == first


@given(st.data())
def test_damaged_gzip_is_told_or_gives_what_was_packed(data: st.DataObject) -> None:
    packed = bytearray(gzip.compress(b"1 2 3\n" * 50, mtime=0))
    place = data.draw(st.integers(2, len(packed) - 1))
    packed[place] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(place, len(packed)))
    try:
        told = unpacked(bytes(packed[:end]), "log.gz").decode()
    except InputError as error:
        told, _, _ = str(error).partition(" (")
    assert told in ("1 2 3\n" * 50, "log.gz: the gzip file is damaged or cut off")


def bomb(mib: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(mib)), packer.flush()])


def test_a_gzip_bomb_ends_while_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_ANYWAY", 3 << 20)
    assert len(unpacked(bomb(3), "x")) == 3 << 20
    packed = bomb(40)
    assert message(unpacked, packed, "b.gz").startswith("b.gz, unpacked: more than")
    monkeypatch.setattr(readers, "_MOST_TIMES_PACKED", 2000)
    assert len(unpacked(packed, "x")) == 40 << 20
    monkeypatch.setattr(readers, "MOST_BYTES", 1 << 20)
    assert "more than 1048576 bytes" in message(unpacked, packed, "x")


# JSON --------------------------------------------------------------------------------------------


def test_json_of_a_type_is_given(file: Path) -> None:
    file.write_bytes(b'\xef\xbb\xbf{"scheduler": "easy", "nodes": 4}')
    assert read_json(file, Run) == Run("easy", 4)
    assert parse_json('{"a": [1, 2.5]}', dict[str, Any], "x") == {"a": [1, 2.5]}


BAD = {
    "empty": b"",
    "cut": b'{"a": [1, 2',
    "no UTF-8": b'{"a": "\xff"}',
    "0xff": b"\xff{}",
    "zero byte": b'{"a": "\0"}',
    "half a pair": rb'{"a": "\ud800"}',
    "two values": b"{} {}",
    "float too large": b'{"a": 1e999}',
    "309 digits": b'{"a": ' + b"8" * (MOST_DIGITS + 1) + b"}",
    "5000 digits": b'{"a": ' + b"8" * 5000 + b"}",
    "too deep": b"[" * (MOST_LEVELS + 1) + b"]" * (MOST_LEVELS + 1),
    "much too deep": b"[" * 100_000 + b"]" * 100_000,
    "open and deep": b'{"a":' * 100_000,
    "mixed and deep": b'[{"a":' * MOST_LEVELS + b"1" + b"}]" * MOST_LEVELS,
    "deep with brackets in texts": b'["]]]", ' * 200 + b"1" + b"]" * 200,
    "deep, made flat by texts": b'["]", ' * 200 + b"1" + b', "["]' * 200,
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
@pytest.mark.parametrize("kind", [InputError, ProtocolError])
@pytest.mark.parametrize("type", [Any, dict[str, Any]])
def test_bad_json_is_told(bad: bytes, kind: type[Exception], type: Any) -> None:
    told = message(lambda: parse_json(bad, type, "here", kind, expected="a run"), kind=kind)
    assert told.startswith("here: ")
    assert told.endswith("; expected a run")
    if bad.isascii():
        assert told == message(lambda: parse_json(bad.decode(), type, "here", expected="a run"))


GOOD = {
    "deep": b"[" * MOST_LEVELS + b"]" * MOST_LEVELS,
    "308 digits": b"8" * MOST_DIGITS,
    "brackets in texts": b'["' + b"[{" * 1000 + b'"]',
    "ends in texts": b'["' + b"]}" * 1000 + b'"' + b', "\\"["' * 1000 + b"]",
    "digits in a text": b'["' + b"7" * 5000 + b'"]',
    "wide": b"[" + b'{"a": [{}, []]},' * 5000 + b"1]",
}


@pytest.mark.parametrize("good", GOOD.values(), ids=GOOD)
def test_json_that_is_no_more_than_large_is_read(good: bytes) -> None:
    assert parse_json(good, Any, "x") == msgspec.json.decode(good)


@pytest.mark.parametrize("before", [0, 1, 50, 99, 100, 333])
def test_a_long_number_is_found_wherever_it_is(before: int) -> None:
    text = b'["' + b"x" * before + b'", ' + b"7" * MOST_DIGITS
    assert len(parse_json(text + b"]", Any, "x")) == 2
    assert "308 digits" in message(parse_json, text + b"7]", Any, "x")


texts = st.text() | st.text('[]{}"\\:0', max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=300,
)


@given(json_values)
def test_all_usual_json_is_read(value: Any) -> None:
    assert parse_json(msgspec.json.encode(value), Any, "x") == value


def levels(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(levels, value), default=0) if isinstance(value, list) else 0


@given(json_values, st.integers(1, 5))
def test_levels_are_counted_outside_of_texts(value: Any, most: int) -> None:
    raw = msgspec.json.encode(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "MOST_LEVELS", most)
        patch.setattr(readers, "_SMALL", 0)
        if levels(value) <= most:
            assert parse_json(raw, Any, "x") == value
        else:
            assert "in each other" in message(parse_json, raw, Any, "x")


def test_texts_with_brackets_and_backslashes_cost_no_more_than_others() -> None:
    """All is done by a few passes over the bytes."""

    def seconds(note: str) -> float:
        raw = msgspec.json.encode([{"user": "plain words", "of": [2, 3]}] * 30_000 + [note])
        times = []
        for _ in range(5):
            begin = process_time()
            parse_json(raw, Any, "x", unique_names=True)
            times.append(process_time() - begin)
        return min(times)

    plain = seconds("run")
    for note in ("run {1", "]]]", 'so "[" it is', "C:\\runs"):
        assert seconds(note) < 3 * plain


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b'{"a": 1,\n "b": }', ":2:7"),
        (b'{"a": 1,\n "b": "\xff"}', ":2:8"),
        (b'{"a": 1,\n "b": "1', ":2:9"),
        (b"", ":1:1"),
        (b'{"a": 1,\n "b": ' + b"9" * 400 + b"}", ":2:7"),
        (b'{"a": 1,\n "b": ' + b"9" * 5000 + b"}", ":2:7"),
    ],
)
def test_the_place_in_a_file_is_told(file: Path, content: bytes, place: str) -> None:
    file.write_bytes(content)
    assert message(read_json, file, Any).startswith(f"{file}{place}: ")


def test_json_of_another_shape_is_told_with_its_member(file: Path) -> None:
    file.write_bytes(b'{"scheduler": "easy", "nodes": "4"}')
    told = message(read_json, file, Run)
    assert told == f"{file}: Expected `int`, got `str` - at `$.nodes`"


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
    assert told.endswith("the name 'a' comes twice in one object")


@given(json_values)
def test_names_that_differ_are_no_fault(value: Any) -> None:
    assert parse_json(msgspec.json.encode(value), Any, "x", unique_names=True) == value


# TOML --------------------------------------------------------------------------------------------


def test_toml_is_read(file: Path) -> None:
    file.write_text("\ufeff[run]\r\nnodes = 4\r\n")
    assert read_toml(file) == {"run": {"nodes": 4}}


@pytest.mark.parametrize(
    "bad",
    [
        "[run",
        "a = 1\na = 2",
        "a = " + "9" * 5000,
        "a = " + "9" * 310,
        "a = 0x" + "f" * 100_000,
        "a = [1, {b = 0x" + "f" * 300 + "}]",
        "a = " + "[" * 200 + "]" * 200,
        "a = " + "[" * 100_000,
        "a." * 5000 + "a = 1",
        "a = 2020-13-45",
    ],
)
def test_bad_toml_is_told(bad: str) -> None:
    told = message(lambda: parse_toml(bad, "here", ProtocolError), kind=ProtocolError)
    assert told.startswith("here: not a TOML file: ")


@pytest.mark.parametrize("part", ["a", "long-name_1", '"a b"', r'"a\"b."', "'a.b'"])
@pytest.mark.parametrize("form", ["{} = 1", "[{}]", "[[{}]]", "x = {{ {} = 1 }}", "y = 1\n {} = 1"])
@pytest.mark.parametrize("dot", [".", " . "])
def test_deep_keys_are_refused_before_they_are_parsed(
    part: str, form: str, dot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parser takes time by the square of the parts of a key, and does not see these."""
    some = form.format(dot.join([part] * 100))
    parse_toml(some, "here")
    monkeypatch.delattr("tomllib.loads")
    with pytest.raises(InputError, match="more than 150 tables"):
        parse_toml(form.format(dot.join([part] * 40_000)), "here")


def test_long_values_are_no_deep_keys() -> None:
    text = f'a = [{"0.1, " * 999}]\nb = "{"a.b " * 999}"\nc = "{"/x.y" * 999}"\n{"d" * 9999} = 1\n'
    assert len(parse_toml(text, "here")) == 4


# CSV ---------------------------------------------------------------------------------------------


def test_csv_is_read_with_its_lines() -> None:
    lines = ["a,b\n", '1,"two\n', 'lines"\n', "3,4\n"]
    rows = [["a", "b"], ["1", "two\nlines"], ["3", "4"]]
    assert list(csv_rows(lines, "x")) == rows
    assert list(numbered_csv_rows(lines, "x")) == list(zip([1, 3, 4], rows, strict=True))


@pytest.mark.parametrize("bad", ['"' + "x" * 200_000, "1,\r2\n"])
def test_bad_csv_is_told_with_its_line(bad: str) -> None:
    told = message(
        lambda: list(csv_rows(["a,b\n", bad], "x.csv", ProtocolError)), kind=ProtocolError
    )
    assert told.startswith("x.csv:2: ")
