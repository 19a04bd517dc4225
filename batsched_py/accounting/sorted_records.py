"""Sorts very many rows: merges sorted parts that are packed in memory."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import chain
from typing import Any

from batsched_py.files.packed_rows import PackedBatches

Row = tuple[Any, ...]
IN_MEMORY = 65_536
"""Rows that are sorted together, some 70 MB."""
_TOGETHER = 256
"""Rows of a part that are unpacked together when parts are merged."""


class SortedRows:
    """Rows of numbers and texts, added in any order; iterated, as often as wanted, they ascend.

    At most :data:`IN_MEMORY` rows, and a few of each part, are there as objects at once.
    """

    def __init__(self) -> None:
        self._parts: list[PackedBatches[list[Row]]] = []
        """Each is sorted."""
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
        part: PackedBatches[list[Row]] = PackedBatches()
        for begin in range(0, len(self._latest), _TOGETHER):
            part.append(self._latest[begin : begin + _TOGETHER])
        self._parts.append(part)
        self._latest = []

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows, the smallest first; equal ones follow each other."""
        self._latest.sort()
        return merge(self._latest, *map(chain.from_iterable, self._parts))
