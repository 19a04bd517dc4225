"""Reads files of users and of other programs: text, gzip, JSON, TOML and CSV.

Nothing else reads or unpacks files (ruff and ``tests/support/test_one_reader.py`` check that), so
every fault is one line with file and place: an error of the ``kind`` that the caller asks for. A
file that does not exist, or is a folder, is a :class:`UsageError`.
"""

from __future__ import annotations

import csv
import json
import re
import sys
import tomllib
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from gzip import BadGzipFile, GzipFile
from io import BufferedReader, BytesIO
from os.path import isdir, isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from batsched_py.errors import BatschedError, InputError, UsageError, make_read_error
from batsched_py.support.json_values import quote

if TYPE_CHECKING:
    from typing_extensions import TypeForm

STANDARD_INPUT = "-"
"""The file name that stands for standard input."""
MOST_DIGITS = 308
"""The most digits of a number: a float cannot hold a longer one."""
_GZIP = b"\x1f\x8b"
_DIGITS_TO_0 = bytes.maketrans(b"123456789", b"0" * 9)
_LONG_NUMBER = re.compile(rf"[0-9a-fA-F_]{{{MOST_DIGITS + 1}}}")
_TOO_LONG = b"0" * (MOST_DIGITS + 1)
T = TypeVar("T")
Kind = type[BatschedError]


def is_file(path: str | Path) -> bool:
    """Return whether a file exists; unlike pathlib, False for names that the system refuses."""
    return isfile(path)


def is_folder(path: str | Path) -> bool:
    """Return whether a folder exists; unlike pathlib, False for names that the system refuses."""
    return isdir(path)


def read_bytes(path: str | Path, kind: Kind = InputError, *, keep_mark: bool = False) -> bytes:
    """Return the content of a file, without a byte order mark unless ``keep_mark``."""
    with _readable(path, kind):
        content = Path(path).read_bytes()
    return content if keep_mark else content.removeprefix(BOM_UTF8)


def read_text(path: str | Path, kind: Kind = InputError) -> str:
    r"""Return the UTF-8 text in a file; its lines end with ``\n``."""
    content = read_bytes(path, kind)
    try:
        return _unify_line_ends(content.decode())
    except UnicodeDecodeError as error:
        line, byte = content.count(b"\n", 0, error.start) + 1, content[error.start]
        raise kind(f"{path}:{line}: not a text in UTF-8: it has the byte 0x{byte:02x}") from None


def read_log(path: str | Path) -> str:
    """Return the text of a program's log; bytes that are not UTF-8 are replaced."""
    return _unify_line_ends(read_bytes(path).decode(errors="replace"))


def read_lines(path: str | Path) -> Iterator[bytes]:
    """Yield the lines of a file that may be longer than memory, with their ends.

    A gzip file is unpacked on the way (its content decides, not its name); ``-`` is standard input.
    """
    with (
        _readable(path, InputError),
        nullcontext(cast(BufferedReader, sys.stdin.buffer))
        if str(path) == STANDARD_INPUT
        else open(path, "rb") as file,
    ):
        if file.peek(2)[:2] == _GZIP:
            file = BufferedReader(cast(Any, GzipFile(fileobj=file)), 1 << 20)
        for number, line in enumerate(file):
            yield line if number else line.removeprefix(BOM_UTF8)


def unpack(content: bytes, where: object, kind: Kind = InputError) -> bytes:
    """Return the content of a gzip file, and any other content unchanged."""
    if not content.startswith(_GZIP):
        return content
    with _readable(where, kind):
        return GzipFile(fileobj=BytesIO(content)).read().removeprefix(BOM_UTF8)


@contextmanager
def _readable(path: object, kind: Kind) -> Iterator[None]:
    """Turn errors of opening, reading or unpacking a file into a :class:`BatschedError`."""
    try:
        yield
    except (BadGzipFile, EOFError, zlib.error) as error:
        raise kind(f"{path}: the gzip file is damaged or cut off ({error})") from None
    except OSError as error:
        raise make_read_error(path, error, kind) from None
    except ValueError:  # a zero byte in its name
        raise UsageError(f"there is no file {str(path)!r}") from None


def _unify_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_json(path: str | Path, type: TypeForm[T], *, expected: str | None = None) -> T:
    """Return the value of a ``type`` in a JSON file whose objects have each name once."""
    content = read_bytes(path)
    return parse_json(content, type, Path(path), expected=expected, unique_names=True)


def parse_json(
    raw: bytes | str,
    type: TypeForm[T],
    where: object,
    kind: Kind = InputError,
    *,
    expected: str | None = None,
    unique_names: bool = False,
) -> T:
    """Parse JSON into a value of a ``type``.

    ``where`` begins the message; a :class:`~pathlib.Path` gets line and column. ``expected`` ends
    it: what should be there. With ``unique_names``, an object with a name twice is refused.
    """
    content = raw.encode(errors="surrogatepass") if isinstance(raw, str) else raw
    try:
        _check_numbers(content)
        value = cast(T, _decoder(cast(Any, type)).decode(content))
        if unique_names and not (type is Any and _has_each_name(content, value)):
            json.loads(content, object_pairs_hook=_check_names)
        return value
    except msgspec.ValidationError as error:
        problem, place = str(error), _locate(content, error)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        problem, place = f"not JSON: {error}", _locate(content, error)
    where = f"{where}{place}" if isinstance(where, Path) else where
    raise kind(f"{where}: {problem}{'' if expected is None else f'; expected {expected}'}")


@cache
def _decoder(type: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type)


def _check_numbers(content: bytes) -> None:
    """Raise for a number that no float can hold, so that other code need not check."""
    if len(content) > MOST_DIGITS:
        place = content.translate(_DIGITS_TO_0).find(_TOO_LONG)
        if place >= 0:
            raise msgspec.ValidationError(
                f"a number of more than {MOST_DIGITS} digits (byte {place})"
            )


def _has_each_name(content: bytes, value: Any) -> bool:
    """Return whether the value, written again, has as many ``:`` as the JSON, and so all names.

    An escape may be a ``:``, so JSON with escapes is in doubt.
    """
    has_escapes = b"\\u" in content
    return not has_escapes and content.count(b":") == msgspec.json.encode(value).count(b":")


def _check_names(members: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in members]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise msgspec.ValidationError(f"the name {quote(twice)} comes twice in one object")


def _locate(content: bytes, error: Exception) -> str:
    """Return ``:line:column`` of the byte that an error is about, nothing if it is not known."""
    if isinstance(error, UnicodeDecodeError):  # its places are those within a text
        place = content.find(error.object) + error.start
    elif match := re.search(r"byte (\d+)", str(error)):
        place = int(match[1])
    elif "truncated" in str(error):
        place = len(content)
    else:
        return ""
    column = place - content.rfind(b"\n", 0, place)
    line = content.count(b"\n", 0, place) + 1
    return f":{line}:{column}"


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the content of a TOML file."""
    return parse_toml(read_text(path), path)


def parse_toml(text: str, where: object, kind: Kind = InputError) -> dict[str, Any]:
    """Return the content of a TOML text."""
    if match := _LONG_NUMBER.search(text):
        line = text.count("\n", 0, match.start()) + 1
        raise kind(f"{where}:{line}: a number of more than {MOST_DIGITS} digits")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: a number of thousands of digits
        raise kind(f"{where}: not a TOML file: {error}") from None


def csv_rows(lines: Iterable[str], where: object, kind: Kind = InputError) -> Iterator[list[str]]:
    """Yield the fields of each row of a CSV file."""
    return (fields for _, fields in numbered_csv_rows(lines, where, kind))


def numbered_csv_rows(
    lines: Iterable[str], where: object, kind: Kind = InputError
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each row of a CSV file ends, from 1, and its fields."""
    reader = csv.reader(lines)
    try:
        for fields in reader:
            yield reader.line_num, fields
    except csv.Error as error:
        raise kind(f"{where}:{reader.line_num}: {error}") from None
