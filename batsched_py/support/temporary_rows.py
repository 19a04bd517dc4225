"""Rows that are needed once more at the end, in a temporary file."""

from __future__ import annotations

import os
import pickle
import weakref
from collections.abc import Iterator
from io import FileIO
from tempfile import TemporaryFile
from typing import Generic, TypeVar

from batsched_py.errors import InvariantError, OutputError

_Batch = TypeVar("_Batch")


class Spool(Generic[_Batch]):
    """Batches of rows, written once and read again, as often as wanted.

    The file has no name (or is removed with its last handle), so that nothing is left behind,
    however the program ends; there is none before the first batch. ``TMPDIR`` says in which
    folder it is. It is not buffered, and every access says where: what a write that failed left
    is behind the last batch, and processes that share the file by a fork do not move each other.

    Copies, such as a process pool's results, have a file of their own with the same bytes.
    """

    def __init__(self) -> None:
        self._file: FileIO | None = None
        self._owner = 0
        """The process that writes to the file."""
        self._places = [0]
        """Where each batch begins, and where the last one ends."""

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self._places) - 1

    def append(self, rows: _Batch) -> None:
        """Write a batch; if that fails, those before it are as they were.

        Raises :class:`OutputError` if the disk is full and the like, :class:`InvariantError` for
        rows with something that is not data (a lock, a local function).
        """
        try:
            content = pickle.dumps(rows, pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
            raise InvariantError(
                f"what a job carries in extra cannot be kept: {error}; expected plain data"
            ) from error
        if self._owner != os.getpid():  # none yet, or the file of the process that forked us
            self._open(self._read(0, self._places[-1]))
        assert self._file is not None
        _write(self._file, content, self._places[-1])
        self._places.append(self._places[-1] + len(content))

    def __getitem__(self, batch: int) -> _Batch:
        """Return a batch as it was written; raises :class:`OutputError` if it cannot be read."""
        begin, end = self._places[batch : batch + 2]
        rows: _Batch = pickle.loads(self._read(begin, end))
        return rows

    def __iter__(self) -> Iterator[_Batch]:
        """Yield the batches in order."""
        for batch in range(len(self)):
            yield self[batch]

    def __getstate__(self) -> tuple[list[int], bytes]:
        """Return where the batches are, and the bytes of all of them."""
        return self._places, self._read(0, self._places[-1])

    def __setstate__(self, state: tuple[list[int], bytes]) -> None:
        """Write the batches of another spool to a new file."""
        self.__init__()  # type: ignore[misc]
        places, content = state
        if content:
            self._open(content)
        self._places = list(places)

    def _open(self, content: bytes) -> None:
        """Go on in a new file that begins with ``content``."""
        try:
            file = TemporaryFile(buffering=0)  # noqa: SIM115 - it lives as long as we do
        except OSError as error:
            raise _failed("written", error) from error
        weakref.finalize(self, file.close)
        _write(file, content, 0)
        self._file, self._owner = file, os.getpid()

    def _read(self, begin: int, end: int) -> bytes:
        if self._file is None:
            return b""
        content = bytearray()
        try:
            while begin + len(content) < end:
                at = begin + len(content)
                part = os.pread(self._file.fileno(), end - at, at)
                if not part:
                    raise OSError(f"it ends after {at} bytes, expected {end}")
                content += part
        except OSError as error:
            raise _failed("read", error) from error
        return bytes(content)


def _write(file: FileIO, content: bytes, place: int) -> None:
    left = memoryview(content)
    try:
        while left:  # a nearly full disk takes a part, and then fails
            written = os.pwrite(file.fileno(), left, place)
            left, place = left[written:], place + written
    except OSError as error:
        raise _failed("written", error) from error


def _failed(what: str, error: OSError) -> OutputError:
    return OutputError(
        f"the temporary file of ended jobs cannot be {what}: {error.strerror or error}; "
        "TMPDIR can name another folder"
    )


_Item = TypeVar("_Item")
_ROWS = 4096
"""Of a list's batch."""


class SpooledList(Generic[_Item]):
    """A list that only grows, of plain data; all but its latest part is on disk."""

    def __init__(self) -> None:
        self._spool: Spool[list[_Item]] = Spool()
        self._latest: list[_Item] = []

    def append(self, item: _Item) -> None:
        """Add an item."""
        self._latest.append(item)
        if len(self._latest) >= _ROWS:
            self._spool.append(self._latest)
            self._latest = []

    def __len__(self) -> int:
        return len(self._spool) * _ROWS + len(self._latest)

    def __iter__(self) -> Iterator[_Item]:
        for items in self._spool:
            yield from items
        yield from self._latest
