"""Sorts very many rows: merges sorted parts that are packed in memory."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge

from batsched_py.files.packed_rows import PackedBatches

Row = tuple[int, ...]
IN_MEMORY = 65_536
"""Rows that are sorted together, some 40 MB."""
_TOGETHER = 256
"""Rows of a part that are unpacked together when parts are merged."""


class SortedRows:
    """Rows of whole numbers, added in any order; iterated, as often as wanted, they ascend.

    At most :data:`IN_MEMORY` rows, and a few of each part, are there as objects at once.
    """

    def __init__(self) -> None:
        self._packed: PackedBatches[list[Row]] = PackedBatches()
        self._parts: list[range] = []
        """The batches of each sorted part."""
        self._latest: list[Row] = []
        self.nb_rows = 0

    def add(self, row: Row) -> None:
        """Add a row."""
        self._latest.append(row)
        self.nb_rows += 1
        if len(self._latest) >= IN_MEMORY:
            self._store()

    def _store(self) -> None:
        self._latest.sort()
        first = len(self._packed)
        for begin in range(0, len(self._latest), _TOGETHER):
            self._packed.append(self._latest[begin : begin + _TOGETHER])
        self._parts.append(range(first, len(self._packed)))
        self._latest = []

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, the smallest first; equal ones follow each other."""
        self._latest.sort()
        return merge(self._latest, *map(self._rows_of, self._parts))

    def _rows_of(self, part: range) -> Iterator[Row]:
        for batch in part:
            yield from self._packed[batch]
