"""The spells of time in which processors are not awake, from the list of their changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from batsched_py.processors.sets import ProcessorSet

PowerChange = tuple[float, ProcessorSet, str]
"""Time (seconds), processors, and their new state: switching_off, asleep, switching_on, awake."""


def find_spells(
    changes: Iterable[PowerChange], end: float
) -> Iterator[tuple[float, float, ProcessorSet, str]]:
    """Yield begin and end (seconds), processors and state of each spell before ``end``.

    Example: one of two sleeping processors is woken.

        >>> both, one = ProcessorSet.interval(0, 2), ProcessorSet.interval(0, 1)
        >>> changes = [(0.0, both, "asleep"), (5.0, one, "switching_on"), (7.0, one, "awake")]
        >>> [(begin, end, str(state)) for begin, end, _, state in find_spells(changes, 9.0)]
        [(0.0, 5.0, 'asleep'), (5.0, 7.0, 'switching_on'), (0.0, 9.0, 'asleep')]
    """
    present: list[PowerChange] = []
    for time, processors, state in changes:
        rest = []
        for since, some, was in present:
            if (over := some & processors) and since < min(time, end):
                yield since, min(time, end), over, was
            if left := some - processors:
                rest.append((since, left, was))
        present = rest if state == "awake" else [*rest, (time, processors, state)]
    yield from ((since, end, some, was) for since, some, was in present if since < end)
