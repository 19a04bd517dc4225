"""What is to happen in a simulation, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf

import msgspec

from batsched_py.protocol import messages as m

Happen = Callable[[], Iterable[m.Event] | None]
"""Lets something happen, and returns the events that the scheduler is told of it."""
FEW_ENTRIES = 4096
"""Entries that are not worth looking through for those that were cancelled."""


class Timer(msgspec.Struct, eq=False):
    """Something that happens at its time, unless it is cancelled before."""

    happen: Happen | None
    """None: cancelled."""

    def cancel(self) -> None:
        """Let it not happen; nothing changes if it has."""
        self.happen = None


class Agenda:
    """Timers in order of time (seconds); those of the same time in the order they were set."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = count()
        self._most_entries = FEW_ENTRIES
        self.after_each: Callable[[], Iterable[m.Event]] | None = None
        """What follows on each thing that happens, and may tell the scheduler of more."""

    def at(self, time: float, happen: Happen) -> Timer:
        """Let something happen at a time, which is now or later."""
        timer = Timer(happen)
        heap = self._heap
        heappush(heap, (time, next(self._order), timer))
        if len(heap) > self._most_entries:
            heap[:] = [entry for entry in heap if entry[2].happen is not None]
            heapify(heap)
            self._most_entries = 2 * len(heap) + FEW_ENTRIES
        return timer

    def send(self, event: m.Event) -> None:
        """Tell the scheduler of an event now, after what is to happen at this instant already."""
        self.at(self.now, lambda: (event,))

    def instants(self) -> Iterator[list[m.Event]]:
        """Let the time go on from instant to instant, as long as anything is to happen.

        Gives what the scheduler is told of each. What happens may set and cancel further timers of
        now; those that are set when an instant has ended begin another one.
        """
        heap = self._heap
        while heap and heap[0][0] < inf:
            time, _, timer = heappop(heap)
            if timer.happen is None:
                continue
            self.now = time
            told: list[m.Event] = []
            while True:
                if timer.happen is not None:
                    told += timer.happen() or ()
                    if self.after_each is not None:
                        told += self.after_each()
                if not heap or heap[0][0] != time:
                    break
                timer = heappop(heap)[2]
            yield told
