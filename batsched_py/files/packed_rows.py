"""Compressed lists in memory, for rows that are needed again at the end."""

from __future__ import annotations

import pickle
import zlib  # noqa: TID251 - unpacks its own bytes only
from collections.abc import Iterator
from typing import Generic, TypeVar

from batsched_py.errors import InvariantError

_Batch = TypeVar("_Batch")
_Item = TypeVar("_Item")
_TOGETHER = 4096
"""Rows of a list that are packed together."""


class PackedBatches(Generic[_Batch]):
    """A list of batches of plain data, each compressed; every access unpacks a batch again."""

    def __init__(self) -> None:
        self._packed: list[bytes] = []

    def append(self, batch: _Batch) -> None:
        """Pack a batch; raises :class:`InvariantError` for objects such as a lock."""
        try:
            content = pickle.dumps(batch, pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
            raise InvariantError(
                f"the further fields of a job cannot be stored: {error}; expected plain data"
            ) from error
        self._packed.append(zlib.compress(content, level=1))

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self._packed)

    def __getitem__(self, at: int) -> _Batch:
        batch: _Batch = pickle.loads(zlib.decompress(self._packed[at]))
        return batch

    def __iter__(self) -> Iterator[_Batch]:
        """Yield the batches in order."""
        for at in range(len(self)):
            yield self[at]


class PackedList(Generic[_Item]):
    """A list of plain data that only grows; all but its latest part is compressed."""

    def __init__(self) -> None:
        self._packed: PackedBatches[list[_Item]] = PackedBatches()
        self._latest: list[_Item] = []

    def append(self, item: _Item) -> None:
        """Add an item at the end."""
        self._latest.append(item)
        if len(self._latest) >= _TOGETHER:
            self._packed.append(self._latest)
            self._latest = []

    def __len__(self) -> int:
        return len(self._packed) * _TOGETHER + len(self._latest)

    def __iter__(self) -> Iterator[_Item]:
        for items in self._packed:
            yield from items
        yield from self._latest
