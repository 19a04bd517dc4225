"""The last time at which something happened to each of many processors."""

from __future__ import annotations

from operator import itemgetter

from batsched_py.processors.pool import ProcessorPool
from batsched_py.processors.sets import ProcessorSet

_AT_ONCE = 1 << 15
"""Notes that are kept (some 6 MB) before notes that later ones cover are dropped."""


class LastTimes:
    """The last time (seconds) at which something happened to each of ``machines``."""

    def __init__(self, machines: ProcessorSet) -> None:
        self._all = machines
        self._noted: list[tuple[float, ProcessorSet]] = []
        self._most = _AT_ONCE

    def note(self, time: float, machines: ProcessorSet) -> None:
        """Note that something happened to ``machines`` at a time (seconds)."""
        self._noted.append((time, machines))
        if len(self._noted) > self._most:
            self._most = 2 * len(self.all()) + _AT_ONCE

    def all(self) -> list[tuple[float, ProcessorSet]]:
        """Return pairs of a last time and its machines, the latest time first."""
        unseen, last = ProcessorPool(self._all), []
        for time, machines in sorted(self._noted, key=itemgetter(0), reverse=True):
            if new := unseen.intersect(machines):
                last.append((time, new))
                unseen.take(new)
                if not unseen:
                    break
        self._noted = last
        return last
