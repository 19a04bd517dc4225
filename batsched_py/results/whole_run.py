"""Seals the files of a run, and checks that they are whole when they are read.

``PREFIX_run.json`` is written last. Its member ``files`` has size and SHA-256 of every other file
of the run, and its last member, ``sha256``, is the digest of all bytes of the file before that
member. So the check finds files that were cut, changed, removed, or taken from another run. The
same seal, without ``files``, is on a campaign's ``campaign.json``. It is not a signature: anybody
who can write to a folder can make results up.

Tables of Batsim itself have no ``PREFIX_run.json`` and are read as they are.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from batsched_py.errors import InputError, located
from batsched_py.files.digests import digest_known, sha256
from batsched_py.files.readers import parse_json, read_bytes
from batsched_py.files.writers import sync_folder, write_whole
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.workload.logs.clock import LATEST, parse_time_zone

RUN_JSON = "_run.json"
"""The name, after PREFIX, of the file that describes a run."""
TABLES = ("_jobs.csv", "_schedule.csv")
EXCHANGE = "_exchange.jsonl"
"""The file of the recorded messages, if there is one."""
_SEAL = b',\n "sha256": "%s"\n}\n'
_LENGTH = len(_SEAL % (b"0" * 64))
_T = TypeVar("_T")


class NamedFile(msgspec.Struct, frozen=True):
    """The size and the SHA-256 of a file of a run."""

    size: int
    """Bytes."""
    sha256: str

    @classmethod
    def of(cls, content: bytes) -> NamedFile:
        """Return size and SHA-256 of a file with this content."""
        return cls(len(content), hashlib.sha256(content).hexdigest())

    @classmethod
    def at(cls, path: Path) -> NamedFile:
        """Return size and SHA-256 of a file; raises :class:`OSError`."""
        return cls(path.stat().st_size, sha256(path))


class DigestedParts:
    """An iterator over the parts of a file that computes size and SHA-256 on the way."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts = parts
        self._size = 0
        self._hash = hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        """Yield the parts as they are."""
        for content in self._parts:
            self._size += len(content)
            self._hash.update(content)
            yield content

    @property
    def named(self) -> NamedFile:
        """Size and SHA-256 of the parts so far."""
        return NamedFile(self._size, self._hash.hexdigest())


class _Files(msgspec.Struct):
    files: dict[str, NamedFile]
    """By name; one that begins with ``_`` follows PREFIX, so that a run can be renamed."""


_Value = Annotated[float, msgspec.Meta(ge=-1e30, le=1e30)] | None
_Values = dict[str, _Value]


class _Measured(msgspec.Struct):
    """The metrics of a run that were stored, within bounds that calculations can bear."""

    overall: _Values | None = None
    study: _Values = {}
    windows: list[_Values] = []
    per_user: dict[str, _Values] = {}
    per_site: dict[str, _Values] = {}


class _Described(_Files):
    """The members of ``PREFIX_run.json`` that are checked; other members may be anything."""

    run: dict[str, Any] = {}
    input: dict[str, Any] = {}
    power: dict[str, str] = {}
    metrics: _Measured | None = None
    notes: list[str] = []
    nb_processors: Annotated[int, msgspec.Meta(ge=1, le=MOST_PROCESSORS)] | None = None
    wall_time: _Value = None
    nb_messages: int | None = None
    unix_start_time: Annotated[float, msgspec.Meta(ge=-LATEST, le=LATEST)] | None = None
    time_zone: str | None = None


def write_sealed(path: Path, content: bytes, files: Mapping[str, NamedFile] | None = None) -> None:
    """Write a JSON object with its seal, and wait until it is on the disk.

    ``files`` are those of a run, by the names that ``PREFIX_run.json`` gives them. Raises
    :class:`OutputError`.
    """
    write_whole(path, add_seal(content, files))
    sync_folder(path.parent)


def add_seal(content: bytes, files: Mapping[str, NamedFile] | None = None) -> bytes:
    """Return a JSON object with its seal, see :func:`write_sealed`."""
    body = _open(content)
    if files is not None:
        named = msgspec.json.format(msgspec.json.encode(_Files(dict(files))), indent=1)
        body += b"," + _open(named).removeprefix(b"{")
    return body + _SEAL % hashlib.sha256(body).hexdigest().encode()


def _open(content: bytes) -> bytes:
    """Return a JSON object without its closing brace, so that members can follow."""
    return content.rstrip().removesuffix(b"}").rstrip()


def read_sealed(path: Path, kind: type[_T]) -> _T:
    """Read a sealed JSON file.

    Raises :class:`InputError` if the seal does not fit, or if it holds something else.
    """
    expected = "what batsched-py writes"
    return parse_json(_sealed_content(path), kind, path, expected=expected, unique_names=True)


def read_run(path: Path, kind: type[_T], remedy: str = "") -> _T:
    """Read a ``PREFIX_run.json``, and check that all files of the run are whole.

    Raises :class:`InputError` for impossible values and for the first file that is not whole, with
    the ``remedy``. A file is read once in a process unless it changes.
    """
    remedy = remedy or (
        f"simulate again, or rename {path.name} to read the table alone, without settings and notes"
    )
    try:
        content = _sealed_content(path)
        described = _decoded(content, _Described, path)
        if described.time_zone is not None:
            with located(path, InputError):
                parse_time_zone(described.time_zone)
        for name, expected in described.files.items():
            if reason := _fault(_place(path, name), expected):
                raise InputError(f"{_place(path, name)} {reason} ({path.name} names it)")
        return _decoded(content, kind, path)
    except InputError as error:
        raise InputError(f"{error}; {remedy}") from None


def check_whole(path: Path) -> None:
    """Raise :class:`InputError` unless the run of a ``PREFIX_run.json`` is whole."""
    read_run(path, _Files)


def read_run_settings(path: Path, remedy: str = "") -> dict[str, Any]:
    """Return the content of a ``PREFIX_run.json`` without digests, see :func:`read_run`."""
    stored = read_run(path, dict[str, Any], remedy)
    del stored["files"], stored["sha256"]
    return stored


def is_named(file: Path, path: Path) -> bool:
    """Return whether a ``PREFIX_run.json`` names a file."""
    return any(_place(path, name) == file for name in read_sealed(path, _Files).files)


def _sealed_content(path: Path) -> bytes:
    content = read_bytes(path)
    body, seal = content[:-_LENGTH], content[-_LENGTH:]
    if seal == _SEAL % hashlib.sha256(body).hexdigest().encode():
        return content
    if seal.startswith(_SEAL.partition(b"%")[0]):
        raise InputError(f"{path} is damaged: its SHA-256 is not the one at its end")
    reason = "it is damaged"
    with suppress(InputError):  # else it is not JSON
        if "sha256" not in _decoded(content, dict[str, Any], path):
            reason = "it is not sealed: use the earlier version of batsched-py that wrote it"
    raise InputError(f"{path} does not end with its SHA-256: {reason}")


def _decoded(content: bytes, kind: type[_T], path: Path) -> _T:
    return parse_json(content, kind, path, expected="what batsched-py writes")


def _place(path: Path, name: str) -> Path:
    """Return where a file is that a ``PREFIX_run.json`` names; raises :class:`InputError`."""
    if os.path.basename(name) != name or name in ("", ".", ".."):
        raise InputError(f"{path}: files: {name!r} is not the name of a file")
    return path.with_name(path.name.removesuffix(RUN_JSON) + name if name.startswith("_") else name)


def _fault(path: Path, expected: NamedFile) -> str | None:
    """Return what is wrong with a file of a run, None if it is whole."""
    damaged = "is damaged, or belongs to another run"
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            return "is not a file"
        if state.st_size != expected.size:
            return f"{damaged}: it has {state.st_size} bytes, expected {expected.size}"
        if (digest := digest_known(path, state)) != expected.sha256:
            return f"{damaged}: its SHA-256 is {digest[:12]}..., expected {expected.sha256[:12]}..."
    except FileNotFoundError:
        return "is missing"
    except (OSError, ValueError) as error:
        return f"cannot be read: {error}"
    return None
