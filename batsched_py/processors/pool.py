"""Pools: sets of processors that change, such as the free processors of a machine."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import inf

from batsched_py.errors import InvariantError
from batsched_py.processors.sets import (
    INSIDE,
    NO_PROCESSORS,
    Bounds,
    ProcessorSet,
    count_members,
    cut_bounds,
    find_lowest,
    make_set,
    to_text,
)

_FEW = 16
"""Bounds of a set up to which its intervals are changed one by one."""


class ProcessorPool:
    """A set of processors that are taken out and given back, in time by their intervals alone.

    A refused operation leaves the pool as it is.
    """

    __slots__ = ("_bounds", "_size")

    def __init__(self, processors: ProcessorSet = NO_PROCESSORS) -> None:
        self._bounds = list(processors.bounds)
        self._size = processors.size

    def __len__(self) -> int:
        """Return the number of processors."""
        return self._size

    def snapshot(self) -> ProcessorSet:
        """Return the set of the processors that are in the pool now."""
        return ProcessorSet(tuple(self._bounds), self._size)

    def intersect(self, processors: ProcessorSet) -> ProcessorSet:
        """Return the processors that are both in ``processors`` and in the pool."""
        few, many = sorted((processors.bounds, self._bounds), key=len)
        return make_set(cut_bounds(few, many, INSIDE))

    def lowest(self, count: int) -> ProcessorSet:
        """Return the ``count`` lowest processors, which stay in the pool and must exist."""
        return ProcessorSet(find_lowest(self._bounds, count), count)

    def take_lowest(self, count: int) -> ProcessorSet:
        """Take out the ``count`` lowest; raises :class:`InvariantError` if there are fewer."""
        if not 0 < count <= self._size:
            raise InvariantError(f"{count} processors are to be taken of {self._size}")
        bounds = self._bounds
        first = bounds[0]
        end = first + count
        if end < bounds[1]:  # the usual case: the lowest are neighbours, and others stay there
            bounds[0] = end
            taken: tuple[int, ...] = (first, end)
        else:
            taken = find_lowest(bounds, count)
            last = len(taken) - 1
            if bounds[last] == taken[last]:
                del bounds[: last + 1]
            else:
                bounds[:last] = taken[last:]
        self._size -= count
        return ProcessorSet(taken, count)

    def take(self, processors: ProcessorSet) -> bool:
        """Take processors out if all of them are in the pool; return whether they were."""
        if not self._flip(processors.bounds, 1):
            return False
        self._size -= processors.size
        return True

    def give_back(self, processors: ProcessorSet) -> None:
        """Put processors back; raises :class:`InvariantError` if one of them is in the pool."""
        if not self._flip(processors.bounds, 0):
            raise InvariantError(f"of {to_text(processors)!r} some processors are free already")
        self._size += processors.size

    def _flip(self, intervals: Bounds, odd: int) -> bool:
        """Take intervals out (``odd`` 1) or put them in (0), if possible; return whether it was.

        Both are the same operation: each bound is removed if it was there, else added.
        """
        if len(intervals) > _FEW:
            return self._flip_many(intervals, odd)
        bounds = self._bounds
        for at in range(0, len(intervals), 2):
            first, end = intervals[at], intervals[at + 1]
            place = bisect_right(bounds, first)
            until = bounds[place] if place < len(bounds) else inf
            if place % 2 != odd or until < end:
                self._flip(intervals[:at], 1 - odd)  # all of them or none
                return False
            begins = place > 0 and bounds[place - 1] == first
            if until == end:
                if begins:
                    del bounds[place - 1 : place + 1]
                else:
                    bounds[place] = first
            elif begins:
                bounds[place - 1] = end
            else:
                bounds[place:place] = (first, end)
        return True

    def _flip_many(self, intervals: Bounds, odd: int) -> bool:
        """Do the same for all at once: keep the bounds that only one of the two sets has."""
        bounds = self._bounds
        low, high = bisect_left(bounds, intervals[0]), bisect_right(bounds, intervals[-1])
        before = bounds[low:high]
        after = sorted({*before}.symmetric_difference(intervals))
        change = count_members(after) - count_members(before)  # the other way round from an end on
        if (change if low % 2 == odd else -change) != count_members(intervals):
            return False  # some were not here, or not away
        bounds[low:high] = after
        return True
