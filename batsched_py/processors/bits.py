"""A pool of few processors as the bits of a number: on a small machine that is much faster."""

from __future__ import annotations

from batsched_py.errors import InvariantError
from batsched_py.processors.pool import ProcessorPool
from batsched_py.processors.sets import (
    NO_PROCESSORS,
    ProcessorSet,
    to_text,
    with_bounds,
)

_FEW = 2048
"""Processors up to which one is taken: beyond, each operation would take time for all of them."""


def pool_of(processors: ProcessorSet) -> ProcessorPool:
    """Return a pool of these, of the kind that is faster for so many."""
    few = not processors.bounds or processors.bounds[-1] <= _FEW
    return BitPool(processors) if few else ProcessorPool(processors)


class BitPool(ProcessorPool):
    """A :class:`ProcessorPool` that is a bitmask."""

    __slots__ = ("_bits",)

    def __init__(self, processors: ProcessorSet) -> None:
        self._bits = bits_of(processors)
        self._size = processors.size

    def snapshot(self) -> ProcessorSet:
        """Return the processors of now."""
        return with_bounds(_lowest_bounds(self._bits, self._size))

    def common(self, processors: ProcessorSet) -> ProcessorSet:
        """Return those of ``processors`` that are here."""
        bits = bits_of(processors)
        common = self._bits & bits
        if common == bits:
            return processors
        if not common:
            return NO_PROCESSORS
        size = common.bit_count()
        return ProcessorSet(_lowest_bounds(common, size), size, common)

    def lowest(self, count: int) -> ProcessorSet:
        """Return the ``count`` lowest, of which there must be so many; they stay."""
        bounds = _lowest_bounds(self._bits, count)
        return ProcessorSet(bounds, count, self._bits & ~(-1 << bounds[-1]))

    def take_lowest(self, count: int) -> ProcessorSet:
        """Take the ``count`` lowest; raises :class:`InvariantError` if there are not so many."""
        if not 0 < count <= self._size:
            raise InvariantError(f"{count} processors are to be taken of {self._size}")
        bits = self._bits
        bounds = _lowest_bounds(bits, count)
        self._bits = left = bits & (-1 << bounds[-1])
        self._size -= count
        return ProcessorSet(bounds, count, bits ^ left)

    def take(self, processors: ProcessorSet) -> bool:
        """Take these if all of them are here; tell whether."""
        bits = bits_of(processors)
        if bits & self._bits != bits:
            return False
        self._bits ^= bits
        self._size -= processors.size
        return True

    def give_back(self, processors: ProcessorSet) -> None:
        """Add these; raises :class:`InvariantError` unless none of them is here."""
        bits = bits_of(processors)
        if bits & self._bits:
            raise InvariantError(f"of {to_text(processors)!r} some processors are free already")
        self._bits ^= bits
        self._size += processors.size


def bits_of(processors: ProcessorSet) -> int:
    """Return a number of which bit ``i`` is set if processor ``i`` is in the set."""
    if processors.bits:
        return processors.bits
    bits = 0
    for bound in processors.bounds:
        bits ^= -1 << bound
    return bits


def _lowest_bounds(bits: int, count: int) -> tuple[int, ...]:
    """Return the bounds of the ``count`` lowest bits that are set, of which there are so many."""
    bounds: list[int] = []
    while count:
        lowest = bits & -bits
        behind = bits + lowest  # the first interval is gone, but for a bit where it ended
        first, end = lowest.bit_length() - 1, (behind & -behind).bit_length() - 1
        if first + count <= end:
            return (*bounds, first, first + count)
        bounds += first, end
        bits &= behind
        count -= end - first
    return tuple(bounds)
