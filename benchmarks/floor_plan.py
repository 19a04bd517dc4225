"""The reference of planners: plans in plain Python, each job as early as it fits."""

from __future__ import annotations

from bisect import bisect_left
from math import inf

Job = tuple[int, float, float]
"""(processors, estimate, submission) in seconds."""


class FreeProcessors:
    """How many processors are free from each time on (seconds), by two lists."""

    def __init__(self, now: float, free: int, releases: list[tuple[float, int]]) -> None:
        self.times, self.free = [now], [free]
        for end, size in releases:
            free += size
            self.times.append(end)
            self.free.append(free)

    def copy(self) -> FreeProcessors:
        other = FreeProcessors(0.0, 0, [])
        other.times, other.free = self.times.copy(), self.free.copy()
        return other

    def split(self, time: float) -> int:
        """Return the place where the list changes at ``time``, from now on."""
        place = bisect_left(self.times, time)
        if place == len(self.times) or self.times[place] != time:
            self.times.insert(place, time)
            self.free.insert(place, self.free[place - 1])
        return place

    def place(self, size: int, duration: float) -> float:
        """Take processors as early as they are free; return from when on."""
        begin = 0
        for place, free in enumerate(self.free):
            if self.times[place] >= self.times[begin] + duration and begin < place:
                break
            if free < size:
                begin = place + 1
        start = self.times[begin]
        for place in range(begin, self.split(start + duration)):
            self.free[place] -= size
        return start


def plan(jobs: list[Job], line: FreeProcessors) -> list[float]:
    """Return when each job starts, planned in this order."""
    return [line.place(size, estimate) for size, estimate, _ in jobs]


def step(jobs: list[Job], line: FreeProcessors) -> float:
    """Plan in the three orders of dynP; return the least ARTwW (average response time, weighted
    by processors)."""
    least = inf
    for key in (lambda job: job[2], lambda job: job[1], lambda job: -job[1]):
        ordered = sorted(jobs, key=key)
        starts = plan(ordered, line.copy())
        weighted = sum(
            size * (start + estimate - submit)
            for (size, estimate, submit), start in zip(ordered, starts, strict=True)
        )
        least = min(least, weighted / sum(size for size, _, _ in jobs))
    return least
