"""Sets of processors as sorted, disjoint intervals: time and memory depend on their gaps alone.

Jobs are mostly on a few intervals, however many processors the machine has. What changes all the
time, such as the free processors, is a :class:`~batsched_py.processors.pool.ProcessorPool`;
:class:`procset.ProcSet` objects are for the edges. Text is Batsim's: ``"0-3 7"`` for the
processors 0, 1, 2, 3 and 7.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from operator import index
from typing import TYPE_CHECKING

import msgspec

from batsched_py.errors import ProtocolError
from batsched_py.support.json_values import quote

if TYPE_CHECKING:
    from procset import ProcSet

_TEXT = re.compile(r"[0-9]+(-[0-9]+)?( +[0-9]+(-[0-9]+)?)*")
_LONGEST = 40
"""The most characters of an interval; valid numbers of processors have fewer."""
MOST_PROCESSORS = 10_000_000
"""The largest number of processors; more are taken for a mistake."""

Bounds = Sequence[int]
"""Where a set begins and ends, in turn and ascending: 0, 4, 7, 8 are the processors 0 to 3 and 7.

No interval touches the next. So a number is in the set if an odd number of bounds is at most it.
"""


class ProcessorSet(msgspec.Struct, frozen=True, eq=False, gc=False):
    """An immutable set of processors with ``&``, ``|`` and ``-``; iteration is ascending.

    A set from the pool of a small machine also has its bits, which pools use.
    """

    bounds: tuple[int, ...] = ()
    size: int = 0
    """Number of its processors."""
    bits: int = 0
    """Bit ``i`` is set if processor ``i`` is in the set; 0 where only the bounds are there."""

    @staticmethod
    def of(numbers: Iterable[int]) -> ProcessorSet:
        """Return the set of the processors with these ``numbers``, in any order.

        Raises :class:`TypeError` for other values, :class:`ValueError` for numbers below 0.
        """
        bounds: list[int] = []
        for number in sorted(map(index, set(numbers))):
            if bounds and bounds[-1] == number:
                bounds[-1] = number + 1
            else:
                bounds += number, number + 1
        if bounds and bounds[0] < 0:
            raise ValueError(f"processor {bounds[0]}: expected numbers from 0 on")
        return make_set(bounds)

    @staticmethod
    def interval(first: int, count: int) -> ProcessorSet:
        """Return the set of the ``count`` processors from ``first`` on."""
        return ProcessorSet((first, first + count), count) if count else NO_PROCESSORS

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same processors."""
        return self is other or (isinstance(other, ProcessorSet) and self.bounds == other.bounds)

    def __ne__(self, other: object) -> bool:  # that of structs does not ask for __eq__
        return not self == other

    def __hash__(self) -> int:
        return hash(self.bounds)

    def __repr__(self) -> str:
        return f"ProcessorSet({to_text(self)!r})"

    def __len__(self) -> int:
        """Return the number of processors."""
        return self.size

    def __iter__(self) -> Iterator[int]:
        """Give the processors, ascending."""
        bounds = self.bounds
        return chain.from_iterable(map(range, bounds[::2], bounds[1::2]))

    def __contains__(self, number: int) -> bool:
        """Return whether a processor is in the set."""
        return bisect_right(self.bounds, number) % 2 == 1

    def __and__(self, other: ProcessorSet) -> ProcessorSet:
        """Return the processors that are in both."""
        few, many = sorted((self.bounds, other.bounds), key=len)
        return make_set(cut_bounds(few, many, INSIDE))

    def __or__(self, other: ProcessorSet) -> ProcessorSet:
        """Return the processors that are in either set."""
        few, many = sorted((self.bounds, other.bounds), key=len)
        return make_set(_insert(many, few, OUTSIDE))

    def __sub__(self, other: ProcessorSet) -> ProcessorSet:
        """Return the processors that are not in ``other``."""
        few, many = self.bounds, other.bounds
        if not few or not many:
            return self
        if len(few) <= len(many):
            return make_set(cut_bounds(few, many, OUTSIDE))
        return make_set(_insert(few, many, INSIDE))

    def intervals(self) -> Iterator[tuple[int, int]]:
        """Give the maximal closed intervals ``(first, last)`` of the set, ascending."""
        bounds = self.bounds
        return ((first, end - 1) for first, end in zip(bounds[::2], bounds[1::2], strict=True))

    def lowest(self, count: int) -> ProcessorSet:
        """Return the ``count`` lowest processors, which must exist."""
        return ProcessorSet(find_lowest(self.bounds, count), count) if count else NO_PROCESSORS


NO_PROCESSORS = ProcessorSet()


# On bounds: each takes time for every interval of the first or of `few`, and copies the rest ----


def make_set(bounds: Bounds) -> ProcessorSet:
    """Return the set of processors with these :data:`Bounds`."""
    if not bounds:
        return NO_PROCESSORS
    return ProcessorSet(tuple(bounds), count_members(bounds))


def count_members(bounds: Bounds) -> int:
    """Return the number of processors in a set with these bounds."""
    if len(bounds) == 2:  # mostly
        return bounds[1] - bounds[0]
    return sum(bounds[1::2]) - sum(bounds[::2])


def find_lowest(bounds: Bounds, count: int) -> tuple[int, ...]:
    """Return the bounds of the ``count`` lowest processors; ``count`` is 1 at least."""
    for at in range(0, len(bounds), 2):
        first, end = bounds[at], bounds[at + 1]
        if first + count <= end:
            return (*bounds[:at], first, first + count)
        count -= end - first
    raise ValueError(f"{count} more processors were requested than there are")


INSIDE, OUTSIDE = 1, 0
"""The parity of the number of bounds below a processor that is inside of a set, or outside."""


def cut_bounds(few: Bounds, many: Bounds, side: int) -> list[int]:
    """Return the bounds of the parts of ``few`` inside or outside of ``many``, by ``side``."""
    pieces: list[int] = []
    for at in range(0, len(few), 2):
        first, end = few[at], few[at + 1]
        low, high = bisect_right(many, first), bisect_left(many, end)
        if low % 2 == side:
            pieces.append(first)
        pieces += many[low:high]
        if high % 2 == side:
            pieces.append(end)
    return pieces


def _insert(many: Bounds, few: Bounds, side: int) -> list[int]:
    """Return ``many`` with the intervals of ``few`` added, which are now outside, or removed."""
    bounds: list[int] = []
    done = 0
    for at in range(0, len(few), 2):
        first, end = few[at], few[at + 1]
        low, high = bisect_left(many, first, done), bisect_right(many, end, done)
        bounds += many[done:low]
        if low % 2 == side:
            bounds.append(first)
        if high % 2 == side:
            bounds.append(end)
        done = high
    bounds += many[done:]
    return bounds


# Text and ProcSet --------------------------------------------------------------------------------


def to_text(processors: ProcessorSet) -> str:
    """Return a set as Batsim's text, such as ``0-3 7``: ascending, disjoint, merged."""
    bounds = processors.bounds
    if len(bounds) == 2:  # mostly
        return _interval_text(*bounds)
    return " ".join(map(_interval_text, bounds[::2], bounds[1::2]))


def _interval_text(first: int, end: int) -> str:
    return f"{first}-{end - 1}" if end - first > 1 else str(first)


def from_text(text: str, most: int = MOST_PROCESSORS) -> ProcessorSet:
    """Read a set from Batsim's text; order, overlaps and repeated inner spaces do not matter.

    Raises :class:`ProtocolError` for anything else, and for processors that are not below ``most``.
    Batsim itself silently reads ``"0,1"`` as processor 0, which must be a mistake: it is refused
    here.
    """
    if not isinstance(text, str) or not _TEXT.fullmatch(text):
        raise ProtocolError(
            f"{quote(text)} is not a set of processors: expected intervals separated by spaces, "
            "such as '0-3 7'"
        )
    if " " not in text:  # mostly
        low, high = _interval(text, most)
        return ProcessorSet.interval(low, high + 1 - low)
    return join_intervals([_interval(part, most) for part in text.split()])


@lru_cache(1 << 16)
def _interval(part: str, most: int) -> tuple[int, int]:
    if len(part) > _LONGEST:
        raise ProtocolError(f"interval {quote(part)}: expected numbers below {most}")
    first, _, last = part.partition("-")
    low = int(first)
    high = int(last) if last else low
    if low <= high < most:
        return low, high
    if max(low, high) >= most:
        raise ProtocolError(f"interval {part!r}: expected numbers below {most}")
    raise ProtocolError(f"interval {part!r} is reversed: write '{high}-{low}'")


def join_intervals(intervals: Iterable[tuple[int, int]]) -> ProcessorSet:
    """Return the set of processors in closed intervals ``(first, last)``, in any order."""
    bounds: list[int] = []
    for low, high in sorted(intervals):
        if not bounds or low > bounds[-1]:
            bounds += low, high + 1
        elif high >= bounds[-1]:
            bounds[-1] = high + 1
    return make_set(bounds)


def to_procset(processors: ProcessorSet) -> ProcSet:
    """Return a set as a :class:`procset.ProcSet`."""
    from procset import ProcSet

    return ProcSet(*processors.intervals())


def from_procset(processors: ProcSet) -> ProcessorSet:
    """Return the set of a :class:`procset.ProcSet`."""
    return join_intervals([(part.inf, part.sup) for part in processors.intervals()])
