"""A pool of processors stored as the bits of a number, which is faster on a small machine."""

from __future__ import annotations

from batsched_py.errors import InvariantError
from batsched_py.processors.pool import ProcessorPool
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, make_set, to_text

_FEW = 2048
"""The largest number of processors for a bit pool: each operation takes time for all of them."""


def make_pool(processors: ProcessorSet) -> ProcessorPool:
    """Return a pool with these processors, of the kind that is faster for their number."""
    few = not processors.bounds or processors.bounds[-1] <= _FEW
    return BitPool(processors) if few else ProcessorPool(processors)


class BitPool(ProcessorPool):
    """A :class:`ProcessorPool` that stores its processors as the bits of a number."""

    __slots__ = ("_bits",)

    def __init__(self, processors: ProcessorSet) -> None:
        self._bits = to_bits(processors)
        self._size = processors.size

    def snapshot(self) -> ProcessorSet:
        """Return the set of the processors that are in the pool now."""
        return make_set(_lowest_bounds(self._bits, self._size))

    def intersect(self, processors: ProcessorSet) -> ProcessorSet:
        """Return the processors that are both in ``processors`` and in the pool."""
        bits = to_bits(processors)
        common = self._bits & bits
        if common == bits:
            return processors
        if not common:
            return NO_PROCESSORS
        size = common.bit_count()
        return ProcessorSet(_lowest_bounds(common, size), size, common)

    def lowest(self, count: int) -> ProcessorSet:
        """Return the ``count`` lowest processors, which stay in the pool and must exist."""
        bounds = _lowest_bounds(self._bits, count)
        return ProcessorSet(bounds, count, self._bits & ~(-1 << bounds[-1]))

    def take_lowest(self, count: int) -> ProcessorSet:
        """Take out the ``count`` lowest; raises :class:`InvariantError` if there are fewer."""
        if not 0 < count <= self._size:
            raise InvariantError(f"{count} processors are to be taken of {self._size}")
        bits = self._bits
        bounds = _lowest_bounds(bits, count)
        self._bits = left = bits & (-1 << bounds[-1])
        self._size -= count
        return ProcessorSet(bounds, count, bits ^ left)

    def take(self, processors: ProcessorSet) -> bool:
        """Take processors out if all of them are in the pool; return whether they were."""
        bits = processors.bits or to_bits(processors)
        if bits & self._bits != bits:
            return False
        self._bits ^= bits
        self._size -= processors.size
        return True

    def give_back(self, processors: ProcessorSet) -> None:
        """Put processors back; raises :class:`InvariantError` if one of them is in the pool."""
        bits = processors.bits or to_bits(processors)
        if bits & self._bits:
            raise InvariantError(f"of {to_text(processors)!r} some processors are free already")
        self._bits ^= bits
        self._size += processors.size


def to_bits(processors: ProcessorSet) -> int:
    """Return a set as a number: bit ``i`` is 1 if processor ``i`` is in the set."""
    if processors.bits:
        return processors.bits
    bits = 0
    for bound in processors.bounds:
        bits ^= -1 << bound
    return bits


def _lowest_bounds(bits: int, count: int) -> tuple[int, ...]:
    """Return the bounds of the ``count`` lowest bits that are set; there must be enough."""
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
