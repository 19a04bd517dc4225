"""Sets of processors as integer bitmasks: bit ``i`` is set when processor ``i`` is in the set.

Inside the loop a set operation on an integer costs well below a microsecond at thousands of
processors; :class:`procset.ProcSet` objects, which are pleasant to read and write, are for the
edges. Text is Batsim's: ``"0-3 7"`` for the processors 0, 1, 2, 3 and 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from batsched_py.errors import ProtocolError
from batsched_py.support.json_values import shown

if TYPE_CHECKING:
    from procset import ProcSet

_TEXT = re.compile(r"[0-9]+(-[0-9]+)?( +[0-9]+(-[0-9]+)?)*")
_LONGEST = 40
"""Characters of an interval, more than numbers of so many processors can have."""
_FEW = 200
"""Intervals that are added to a set one by one."""
MOST_PROCESSORS = 10_000_000
"""More are taken for a mistake: a set of them would take all the memory."""


def lowest(processors: int, count: int) -> int:
    """Return the ``count`` lowest members of ``processors``, which has at least that many."""
    run = (processors & -processors) * ((1 << count) - 1)
    if run & processors == run:  # the usual case: the lowest members are neighbours
        return run
    low, high = count, processors.bit_length()
    while low < high:
        middle = (low + high) // 2
        if (processors & ((1 << middle) - 1)).bit_count() < count:
            low = middle + 1
        else:
            high = middle
    return processors & ((1 << low) - 1)


def intervals(processors: int) -> Iterator[tuple[int, int]]:
    """Give the maximal closed intervals ``(first, last)`` of a set, in ascending order."""
    start = 0
    while processors:
        gap = (processors & -processors).bit_length() - 1
        processors >>= gap
        length = (~processors & (processors + 1)).bit_length() - 1
        start += gap
        yield start, start + length - 1
        processors >>= length
        start += length


def numbers(processors: int) -> Iterator[int]:
    """Give the members of a set, ascending."""
    for first, last in intervals(processors):
        yield from range(first, last + 1)


def to_text(processors: int) -> str:
    """Write a set in Batsim's canonical form: ascending, disjoint, merged."""
    return " ".join(
        str(first) if first == last else f"{first}-{last}" for first, last in intervals(processors)
    )


def from_text(text: str, most: int = MOST_PROCESSORS) -> int:
    """Read Batsim's form; order, overlaps and repeated inner spaces do not matter.

    Raises :class:`ProtocolError` for anything else, and for processors that are not below ``most``.
    Batsim itself reads ``"0,1"`` as processor 0 without a word, which nobody can have meant: it is
    refused here.
    """
    if not isinstance(text, str) or not _TEXT.fullmatch(text):
        raise ProtocolError(
            f"{shown(text)} is not a set of processors: expected intervals separated by spaces, "
            "such as '0-3 7'"
        )
    parts = text.split()
    if len(parts) > _FEW:
        return _from_many([_interval(part, most) for part in parts])
    processors = 0
    for part in parts:
        low, high = _interval(part, most)
        processors |= ((1 << (high - low + 1)) - 1) << low
    return processors


def _interval(part: str, most: int) -> tuple[int, int]:
    first, _, last = part.partition("-")
    if len(part) > _LONGEST:
        raise ProtocolError(f"interval {shown(part)}: expected numbers below {most}")
    low, high = int(first), int(last or first)
    if max(low, high) >= most:
        raise ProtocolError(f"interval {part!r}: expected numbers below {most}")
    if high < low:
        raise ProtocolError(f"interval {part!r} is reversed: write '{high}-{low}'")
    return low, high


def _from_many(intervals: list[tuple[int, int]]) -> int:
    """Put many intervals together: adding each to the set would take the size of the set each."""
    size = max(high for _, high in intervals) + 1
    digits = bytearray(b"0") * size  # of the highest processor first
    done = 0
    for low, high in sorted(intervals):
        low = max(low, done)
        if low <= high:
            digits[size - 1 - high : size - low] = b"1" * (high - low + 1)
            done = high + 1
    return int(digits, 2)


def to_procset(processors: int) -> ProcSet:
    """Give a set as a :class:`procset.ProcSet`."""
    from procset import ProcSet

    return ProcSet(*intervals(processors))


def from_procset(processors: ProcSet) -> int:
    """Give a :class:`procset.ProcSet` as a bitmask."""
    mask = 0
    for interval in processors.intervals():
        mask |= ((1 << (interval.sup - interval.inf + 1)) - 1) << interval.inf
    return mask
