"""The readers of what others wrote: whole files, gzip, JSON, TOML and CSV.

Nobody else reads or unpacks (ruff and ``tests/support/test_one_reader.py`` see to that), so that
all that can be wrong with a file is told in one way: as an error of the ``kind`` that is asked for,
with file and place. What a content may come to is limited while it is read, and is small enough
that those who use it need not ask again: levels of nesting, digits of a number, bytes.
"""

from __future__ import annotations

import csv
import os
import re
import stat
import sys
import zlib
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast, overload

import msgspec

from batsched_py.errors import BatschedError, InputError, UsageError, unreadable
from batsched_py.support.json_values import shown

if TYPE_CHECKING:
    from gzip import GzipFile

STANDARD_INPUT = "-"
"""The name of what is piped in."""
LONGEST_LINE = 1 << 20
"""Bytes of a line of a file that is read line by line."""
MOST_BYTES = 4 << 30
"""Of a file, and of what a gzip file becomes."""
MOST_LEVELS = 150
"""Of objects and arrays in each other: Python itself fails at some hundreds."""
MOST_DIGITS = 308
"""Of a number: more than that no float holds."""
_MOST_TIMES_PACKED = 250
"""What a gzip file may become, in its own sizes; logs and workloads become 5 to 50 of them."""
_ANYWAY = 64 << 20
"""Bytes that each gzip file may become."""
_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
_COLON = re.compile(rb"\\u003[aA]")
_ALL = bytes(range(256))
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_DIGITS_TO_0 = bytes.maketrans(b"123456789", b"0" * 9)
_TOO_LONG = b"0" * (MOST_DIGITS + 1)
_KEY_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+"""
_DEEP_KEY = re.compile(rf"(?<![\w-])(?:{_KEY_PART}\.[ \t]*+){{{MOST_LEVELS}}}", re.ASCII)
"""A dotted key of TOML of more parts than :data:`MOST_LEVELS`; each part is a table."""
_SMALL = min(MOST_DIGITS, 2 * MOST_LEVELS)
"""Bytes in which there cannot be too much of anything, as in most messages."""

_ENCODE = msgspec.json.Encoder().encode
T = TypeVar("T")
Kind = type[BatschedError]


# Files -------------------------------------------------------------------------------------------


def is_file(path: str | Path) -> bool:
    """Tell whether there is such a file; none has a name that the system does not take."""
    return os.path.isfile(path)  # which, other than pathlib, raises nothing


def is_folder(path: str | Path) -> bool:
    """Tell the same of a folder."""
    return os.path.isdir(path)


def read_bytes(
    path: str | Path, kind: Kind = InputError, *, most: int = MOST_BYTES, keep_mark: bool = False
) -> bytes:
    """Return the content of a file of at most ``most`` bytes.

    A byte order mark is left out, unless ``keep_mark`` wants every byte.

    What is no regular file is read only by its name in ``/dev`` (``/dev/stdin``, the ``/dev/fd/63``
    of ``<(...)``): elsewhere a FIFO could wait for ever, and a link to a device never end. Raises
    :class:`UsageError` if there is no such file, ``kind`` if it cannot be read.
    """
    try:
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or str(path).startswith("/dev/")):
            raise kind(f"{path} is a device, a socket or a FIFO: expected a regular file")
        with open(path, "rb") as file:
            content = _limited(file, most, path, kind)
            return content if keep_mark else content.removeprefix(BOM_UTF8)
    except OSError as error:
        raise unreadable(path, error, kind) from None
    except ValueError:  # a zero byte in its name
        raise UsageError(f"there is no file {str(path)!r}") from None


def lines_of(path: str | Path, kind: Kind = InputError) -> Iterator[bytes]:
    """Yield the lines of a file that may be longer than memory, each with its end, without a BOM.

    A gzip file is unpacked on the way (by content, not by name); ``-`` is standard input. Raises as
    :func:`read_bytes`, and ``kind`` for a gzip file that is damaged and for a line of more than
    :data:`LONGEST_LINE` bytes.
    """
    number = 0
    try:
        with _opened(path, kind) as file:
            while line := file.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE:
                    raise kind(
                        f"{path}:{number}: a line of more than {LONGEST_LINE} bytes: expected text"
                    )
                yield line.removeprefix(BOM_UTF8) if number == 1 else line
    except (EOFError, zlib.error) as error:
        raise kind(f"{path}: the gzip file is damaged or cut off ({error})") from None
    except OSError as error:
        if isinstance(error, BatschedError):
            raise
        if error.errno is None:  # gzip's own
            raise kind(f"{path}: the gzip file is damaged or cut off ({error})") from None
        raise unreadable(path, error, kind) from None
    except ValueError:  # a zero byte in its name
        raise UsageError(f"there is no file {str(path)!r}") from None


@contextmanager
def _opened(path: str | Path, kind: Kind) -> Iterator[BufferedReader]:
    """Open a file, unpacked if it is packed."""
    if str(path) == STANDARD_INPUT:
        yield _unpacked_stream(cast(BufferedReader, sys.stdin.buffer))
        return
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or str(path).startswith("/dev/")):
        raise kind(f"{path} is a device, a socket or a FIFO: expected a regular file")
    with open(path, "rb") as file:
        yield _unpacked_stream(file)


def _unpacked_stream(file: BufferedReader) -> BufferedReader:
    if file.peek(2)[:2] != _GZIP:
        return file
    from gzip import GzipFile

    return BufferedReader(cast(Any, GzipFile(fileobj=file)), _CHUNK)


def read_text(path: str | Path, kind: Kind = InputError) -> str:
    """Return the text in a file, UTF-8, whose lines end with ``\\n``.

    Raises as :func:`read_bytes`, and ``kind`` with the line for bytes that are no text.
    """
    content = read_bytes(path, kind)
    try:
        text = content.decode()
        bad = content.find(b"\0")
    except UnicodeDecodeError as error:
        bad = error.start
    if bad >= 0:
        line = content.count(b"\n", 0, bad) + 1
        raise kind(f"{path}:{line}: no text in UTF-8: it has the byte 0x{content[bad]:02x}")
    return _plain_lines(text)


def read_log(path: str | Path) -> str:
    """Return what a program told in a file, whatever it told: what is no text is replaced.

    Raises as :func:`read_bytes`.
    """
    return _plain_lines(read_bytes(path).decode(errors="replace"))


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def unpacked(content: bytes, where: object, kind: Kind = InputError) -> bytes:
    """Return what a gzip file holds, without a byte order mark, and all else as it is.

    The content decides, not a name. Raises ``kind`` for one that is damaged, or becomes more than a
    log or workload ever did.
    """
    if not content.startswith(_GZIP):
        return content
    from gzip import GzipFile

    most = min(MOST_BYTES, max(_ANYWAY, _MOST_TIMES_PACKED * len(content)))
    try:
        with GzipFile(fileobj=BytesIO(content)) as file:
            return _limited(file, most, f"{where}, unpacked", kind).removeprefix(BOM_UTF8)
    except (OSError, EOFError, zlib.error) as error:
        raise kind(f"{where}: the gzip file is damaged or cut off ({error})") from None


def _limited(file: IO[bytes] | GzipFile, most: int, where: object, kind: Kind) -> bytes:
    content = BytesIO()
    try:
        while part := file.read(_CHUNK):
            content.write(part)
            if content.tell() > most:
                raise kind(f"{where}: more than {most} bytes, which is more than is read")
    except MemoryError:
        raise kind(f"{where}: there is not enough memory for it") from None
    return content.getvalue()


# JSON --------------------------------------------------------------------------------------------


@overload
def parse_json(
    raw: bytes | str,
    type: type[T],
    where: object,
    kind: Kind = ...,
    *,
    expected: str | None = ...,
    unique_names: bool = ...,
) -> T: ...
@overload
def parse_json(
    raw: bytes | str,
    type: object,
    where: object,
    kind: Kind = ...,
    *,
    expected: str | None = ...,
    unique_names: bool = ...,
) -> Any: ...
def parse_json(
    raw: bytes | str,
    type: Any,
    where: object,
    kind: Kind = InputError,
    *,
    expected: str | None = None,
    unique_names: bool = False,
) -> Any:
    """Return the value of a ``type`` that JSON holds.

    ``where`` begins the message; to a :class:`~pathlib.Path` the line and column are added, if they
    are known. ``expected`` ends it: what should be there. Numbers that no float holds, and more
    than :data:`MOST_LEVELS` objects and arrays in each other, are no JSON here; with
    ``unique_names`` nor is an object with a name twice, of which readers take one or the other.
    Raises ``kind``.
    """
    place = ""
    try:
        value = _decoder(type).decode(raw)
        fault = None if len(raw) <= _SMALL else _excess(raw)
        if fault is None and unique_names:
            fault = _double_name(raw, value if type is Any else _decoder(Any).decode(raw))
        if fault is None:
            return value
        problem = f"no JSON that is read here: {fault}"
        place = _place(raw, fault)
    except (msgspec.DecodeError, UnicodeError) as error:
        problem = str(error) if isinstance(error, msgspec.ValidationError) else f"no JSON: {error}"
        place = _place(raw, error)
    except RecursionError:
        problem = f"no JSON that is read here: {_DEEP}"
    except MemoryError:
        problem = "there is not enough memory for it"
    where = f"{where}{place}" if isinstance(where, Path) else where
    raise kind(f"{where}: {problem}{'' if expected is None else f'; expected {expected}'}")


def parse_exactly(raw: bytes | str, type: Any) -> Any:
    """Return what :func:`parse_json` would, with unique names, but None if it would have to look
    twice, or fail.

    The ``type`` is a struct without defaults, so that all that is written of it was read.
    """
    try:
        value = _decoder(type).decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError, MemoryError):
        return None
    if len(raw) > _SMALL and _excess(raw) is not None:
        return None
    return value if _has_all_members(raw, value) else None


@overload
def read_json(
    path: str | Path, type: type[T], kind: Kind = ..., *, expected: str | None = ...
) -> T: ...
@overload
def read_json(
    path: str | Path, type: object, kind: Kind = ..., *, expected: str | None = ...
) -> Any: ...
def read_json(
    path: str | Path, type: Any, kind: Kind = InputError, *, expected: str | None = None
) -> Any:
    """Return the value of a ``type`` in a file, whose objects have each name once.

    Raises as :func:`read_bytes` and :func:`parse_json`.
    """
    content = read_bytes(path, kind)
    return parse_json(content, type, Path(path), kind, expected=expected, unique_names=True)


@cache
def _decoder(type: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type)


_DEEP = f"more than {MOST_LEVELS} objects and arrays in each other"
_LONG = f"a number of more than {MOST_DIGITS} digits"


def _excess(raw: bytes | str) -> str | None:
    """Return what there is too much of in JSON that is well-formed, in words; None if nothing.

    Both are looked for in the bytes, quickly, and only if in doubt in what is outside of texts.
    """
    content = raw.encode() if isinstance(raw, str) else raw
    zeros = content.translate(_DIGITS_TO_0)
    if _TOO_LONG in zeros and _TOO_LONG in _outside_texts(zeros):
        return _LONG
    if content.count(b"[") + content.count(b"{") <= MOST_LEVELS:
        return None
    brackets = _outside_texts(content, b"[]{}").translate(_ONE_KIND)
    for _ in range(MOST_LEVELS):
        brackets = brackets.replace(b"[]", b"")  # the innermost level
        if not brackets:
            return None
    return _DEEP


def _outside_texts(content: bytes, characters: bytes = b"") -> bytes:
    """Return JSON without its texts; if ``characters`` are given, only those."""
    if b"\\" in content:  # only texts have them: what then begins or ends one has none before it
        content = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    if characters:
        content = content.translate(None, _ALL.translate(None, characters + b'"'))
        content = content.replace(b'""', b"")  # also between two texts, which are one then
    return b"".join(content.split(b'"')[::2])


def _double_name(raw: bytes | str, value: Any) -> str | None:
    """Say which name comes twice in an object, None if none does."""
    if _has_all_members(raw, value):
        return None
    from json import loads

    twice: list[str] = []

    def note(members: list[tuple[str, Any]]) -> None:
        names = Counter(name for name, _ in members)
        twice.extend(name for name, count in names.items() if count > 1)

    loads(raw.encode() if isinstance(raw, str) else raw, object_pairs_hook=note)
    return f"the name {shown(twice[0])} comes twice in one object" if twice else None


def _has_all_members(raw: bytes | str, value: Any) -> bool:
    """Tell whether no name came twice, and none was left out, as far as a count can tell.

    A member that is lost leaves a colon that is lost when the value is written again. One that is
    written as its number, which is written otherwise then, is a doubt.
    """
    content = raw.encode() if isinstance(raw, str) else raw
    return content.count(b":") == _ENCODE(value).count(b":") and (
        b"\\" not in content or not _COLON.search(content)
    )


def _place(raw: bytes | str, error: Exception | str) -> str:
    """Return ``:line:column`` of the byte that an error is about, nothing if it is not known."""
    content = raw.encode(errors="replace") if isinstance(raw, str) else raw
    offset = -1
    if isinstance(error, UnicodeDecodeError):  # its places are those within a text
        offset = content.find(error.object) + error.start
    elif match := re.search(r"byte (\d+)", str(error)):
        offset = int(match[1])
    elif "truncated" in str(error):
        offset = len(content)
    elif "out of range" in str(error) or error == _LONG:
        offset = content.translate(_DIGITS_TO_0).find(_TOO_LONG)
    if offset < 0:
        return ""
    line = content.count(b"\n", 0, offset) + 1
    column = offset - content.rfind(b"\n", 0, offset)
    return f":{line}:{column}"


# TOML and CSV ------------------------------------------------------------------------------------


def parse_toml(text: str, where: object, kind: Kind = InputError) -> dict[str, Any]:
    """Return the content of a TOML file, with no more levels and digits than :func:`parse_json`
    allows; raises ``kind``, with line and column as far as they are known.

    Deep keys are refused first: :mod:`tomllib` takes time by the square of their parts.
    """
    import tomllib

    try:
        if _DEEP_KEY.search(text):
            raise RecursionError
        content = tomllib.loads(text)
        _check_values(content, MOST_LEVELS)
        return content
    except tomllib.TOMLDecodeError as error:
        problem = str(error)
    except RecursionError:
        problem = _DEEP.replace("objects", "tables")
    except ValueError:
        problem = _LONG
    raise kind(f"{where}: not a TOML file: {problem}")


def read_toml(path: str | Path, kind: Kind = InputError) -> dict[str, Any]:
    """Return the content of a TOML file; raises as :func:`read_text` and :func:`parse_toml`."""
    return parse_toml(read_text(path, kind), path, kind)


def _check_values(value: Any, levels: int) -> None:
    """Raise :class:`RecursionError` for too many levels, :class:`ValueError` for huge numbers."""
    if isinstance(value, dict | list):
        if not levels:
            raise RecursionError
        for item in value.values() if isinstance(value, dict) else value:
            _check_values(item, levels - 1)
    elif isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
        raise ValueError


def csv_rows(lines: Iterable[str], where: object, kind: Kind = InputError) -> Iterator[list[str]]:
    """Yield the fields of each row of a CSV file; raises ``kind`` with the line."""
    return _rows(csv.reader(lines), where, kind)


def numbered_csv_rows(
    lines: Iterable[str], where: object, kind: Kind = InputError
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each row of a CSV file ends, from 1, and its fields."""
    reader = csv.reader(lines)
    for fields in _rows(reader, where, kind):
        yield reader.line_num, fields


def _rows(reader: Any, where: object, kind: Kind) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise kind(f"{where}:{reader.line_num}: {error}") from None
