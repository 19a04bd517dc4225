"""Rows that are needed once more at the end, in a temporary file."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Iterator, Sequence
from tempfile import TemporaryFile
from typing import IO, Any

from batsched_py.errors import InvariantError, OutputError


class Spool:
    """Batches of rows, written once and read again, as often as wanted.

    The file has no name (or is removed with its last handle), so that nothing is left behind,
    however the program ends; there is none before the first batch. ``TMPDIR`` says in which
    folder it is.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._places = [0]
        """Where each batch begins, and where the last one ends."""

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self._places) - 1

    def append(self, rows: Sequence[Any]) -> None:
        """Write a batch.

        Raises :class:`OutputError` if the disk is full and the like, :class:`InvariantError` for
        rows with something that is not data (a lock, a local function).
        """
        try:
            content = pickle.dumps(rows, pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
            raise InvariantError(
                f"what a job carries in extra cannot be kept: {error}; expected plain data"
            ) from error
        try:
            if self._file is None:
                self._file = TemporaryFile()  # noqa: SIM115 - it lives as long as we do
                weakref.finalize(self, self._file.close)
            self._file.seek(self._places[-1])
            self._file.write(content)
            self._file.flush()  # a full disk is noticed now
        except OSError as error:
            raise OutputError(
                f"the temporary file of ended jobs cannot be written: {error.strerror or error}; "
                "TMPDIR can name another folder"
            ) from error
        self._places.append(self._places[-1] + len(content))

    def __getitem__(self, batch: int) -> Any:
        """Return a batch as it was written."""
        begin, end = self._places[batch : batch + 2]
        assert self._file is not None
        self._file.seek(begin)
        return pickle.loads(self._file.read(end - begin))

    def __iter__(self) -> Iterator[Any]:
        """Yield the batches in order."""
        for batch in range(len(self)):
            yield self[batch]
