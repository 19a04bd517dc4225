"""The agenda of a simulation: actions, each at its time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Any

import msgspec

from batsched_py.protocol import messages as m

Happen = Callable[..., Iterable[m.Event] | None]
"""An action, which returns the events that the scheduler receives."""
FEW_ENTRIES = 4096
"""Number of cancelled entries below which none are removed."""


class Timer(msgspec.Struct, eq=False, gc=False):
    """An action that happens at its time, unless it is cancelled before."""

    happen: Happen | None
    """The action; None if it was cancelled."""
    what: Any = None
    """The argument of ``happen``; None: it has none."""


class Agenda:
    """The timers of a simulation by time (seconds); timers of the same time as they were set."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = count()
        self._nb_cancelled = 0
        """Number of timers cancelled since cancelled ones were last removed."""
        self.after_each: Callable[[], Iterable[m.Event]] | None = None
        """Called after each action; returns further events for the scheduler."""

    def at(self, time: float, happen: Happen, what: Any = None) -> Timer:
        """Set an action for ``time``, now or later; ``what`` is its argument, None: it has none."""
        timer = Timer(happen, what)
        heappush(self._heap, (time, next(self._order), timer))
        return timer

    def cancel(self, timer: Timer) -> None:
        """Cancel the action of a timer; nothing changes if it has happened."""
        timer.happen = timer.what = None
        self._nb_cancelled += 1
        heap = self._heap
        if self._nb_cancelled > max(FEW_ENTRIES, len(heap) // 2):
            heap[:] = [entry for entry in heap if entry[2].happen is not None]
            heapify(heap)
            self._nb_cancelled = 0

    def clear(self) -> None:
        """Cancel all actions."""
        self._heap.clear()

    def send(self, event: m.Event) -> None:
        """Send an event to the scheduler, after the actions that are set for this instant."""
        self.at(self.now, lambda: (event,))

    def instants(self) -> Iterator[list[m.Event]]:
        """Advance from instant to instant while there are actions; yield the events of each.

        An action may set and cancel further timers of now. A timer that is set after the instant
        has ended begins another instant.
        """
        heap = self._heap
        while heap and heap[0][0] < inf:
            time, _, timer = heappop(heap)
            happen = timer.happen
            if happen is None:
                continue
            self.now = time
            reports: list[m.Event] = []
            while True:
                if happen is not None:
                    what = timer.what
                    reports += (happen() if what is None else happen(what)) or ()
                    if self.after_each is not None:
                        reports += self.after_each()
                if not heap or heap[0][0] != time:
                    break
                timer = heappop(heap)[2]
                happen = timer.happen
            yield reports
