"""Free processors over future time, for policies that plan.

A step function: ``free[i]`` processors are free from ``times[i]`` until ``times[i + 1]``, the last
ones for ever. Intervals are half-open, so a job that ends at t frees its processors at t; times
are compared exactly.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

from batsched_py.errors import InvariantError, UsageError, parameter
from batsched_py.model.job import Job

if TYPE_CHECKING:
    from batsched_py.model.site import Site

MANY = 20
"""Number of jobs from which they are placed as arrays: see ``model.compiled.switch``."""
NB_CLASSES = 16
"""Number of classes of sizes and of durations, for lower bounds of starts."""
BOUNDS_PAY = 200
"""Number of jobs from which such bounds save time."""


class LatestStarts:
    """Lower bounds of the starts of further jobs, while jobs are placed one after another.

    Free processors only become fewer, so a job at least as wide and as long as an earlier one
    cannot start before it. Sizes and durations are in classes, each given by its least value.
    """

    def __init__(self, sizes: Sequence[int], durations: Sequence[float]) -> None:
        self._sizes = _quantiles(sizes)
        self._durations = _quantiles(durations)
        self._starts = [[-inf] * len(self._durations) for _ in self._sizes]

    def find_bound(self, size: int, duration: float) -> float:
        """Return a time (seconds) before which no job of this size and duration can start."""
        row = bisect_right(self._sizes, size) - 1
        return self._starts[row][bisect_right(self._durations, duration) - 1]

    def raise_bounds(self, size: int, duration: float, start: float) -> None:
        """Raise the bounds by a job that was placed at its earliest start."""
        shortest = bisect_left(self._durations, duration)
        for row in self._starts[bisect_left(self._sizes, size) :]:
            longer = shortest
            for known in row[shortest:]:
                if known >= start:
                    break
                row[longer] = start
                longer += 1
            if longer == shortest:
                break


def _quantiles(values: Sequence[float]) -> list[Any]:
    """Return up to :data:`NB_CLASSES` different values, the least among them, ascending."""
    ascending = sorted(values)
    nb = min(NB_CLASSES, len(ascending))
    return sorted({ascending[number * len(ascending) // nb] for number in range(nb)})


class Timeline:
    """The number of free processors over future time, from ``now`` on (seconds)."""

    __slots__ = ("free", "times")

    def __init__(self, nb_processors: int, now: float) -> None:
        self.times = [now]
        """Times at which the number changes, ascending; the first is the beginning."""
        self.free = [nb_processors]
        """Free processors from each of these times on."""

    @classmethod
    def of(cls, machine: Site, now: float) -> Timeline:
        """Return the free processors of a machine, from ``now`` on, if no further job starts."""
        releases = ((end, size) for end, size, _, _ in machine.expected_releases())
        return cls.of_releases(machine.free, now, releases)

    @classmethod
    def of_releases(cls, free: int, now: float, releases: Iterable[tuple[float, int]]) -> Timeline:
        """Return the timeline of a machine: ``free`` now, more at each (end, size) of a job.

        ``releases`` are by ascending end. Jobs that run longer than expected are taken to end
        right after ``now``; those that end at infinity never do.
        """
        line = cls(free, now)
        times, numbers = line.times, line.free
        soon = nextafter(now, inf)
        for end, size in releases:
            if end == inf:
                break
            free += size
            if end <= now:
                end = soon
            if end == times[-1]:
                numbers[-1] = free
            else:
                times.append(end)
                numbers.append(free)
        return line

    def copy(self) -> Timeline:
        """Return an independent copy."""
        other = Timeline.__new__(Timeline)
        other.times = self.times[:]
        other.free = self.free[:]
        return other

    def free_at(self, time: float) -> int:
        """Return the free processors at ``time``, which is not before the beginning."""
        return self.free[bisect_right(self.times, time) - 1]

    def least_free(self, start: float, end: float) -> int:
        """Return the least number of free processors in ``[start, end)``."""
        first = bisect_right(self.times, start) - 1
        last = max(first + 1, bisect_left(self.times, end))
        return min(self.free[first:last])

    def earliest(self, size: int, duration: float, after: float = -inf) -> float:
        """Return the earliest time from ``after`` on with ``size`` processors for ``duration``.

        Seconds; inf if there is none.
        """
        return self._fit(size, duration, after)[0]

    def _fit(self, size: int, duration: float, after: float) -> tuple[float, int, int]:
        """Return the earliest start, its place in the lists, and that of its end."""
        times, free = self.times, self.free
        nb = len(times)
        at = 0
        if after > times[0]:
            at = bisect_right(times, after) - 1
        while True:
            while free[at] < size:
                at += 1
                if at == nb:
                    return inf, at, at
            start = times[at]
            if start < after:
                start = after
            end = start + duration
            behind = at + 1
            while behind < nb and times[behind] < end:
                if free[behind] < size:
                    break
                behind += 1
            else:
                return start, at, behind
            at = behind

    def place(self, size: int, duration: float, after: float = -inf) -> float:
        """Take ``size`` processors for ``duration`` seconds as early as possible.

        Returns the start, inf if there is none (then nothing is taken).
        """
        start, at, behind = self._fit(size, duration, after)
        if start < start + duration:
            self._take(start, at, start + duration, behind, size)
        return start

    def place_all(self, sizes: Sequence[int], durations: Sequence[float]) -> list[float]:
        """Place jobs one after another, and return their starts as :meth:`place` does."""
        return list(self._starts(sizes, durations))

    def find_starting(self, sizes: Sequence[int], durations: Sequence[float]) -> list[int]:
        """Return the places of the jobs that start at the beginning if jobs are placed in order.

        Jobs are placed only as long as a further one can start at the beginning.
        """
        starts = self._starts(sizes, durations)
        begin, last = self.times[0], len(sizes) - 1
        chosen = []
        for job in range(len(sizes)):
            while last >= job and not self._fits_first(sizes[last], durations[last]):
                last -= 1
            if last < job:
                break
            if next(starts) == begin:
                chosen.append(job)
        return chosen

    def _starts(self, sizes: Sequence[int], durations: Sequence[float]) -> Iterator[float]:
        """Give the start of each job, which is placed when its turn comes."""
        bounds = LatestStarts(sizes, durations) if len(sizes) >= BOUNDS_PAY else None
        for size, duration in zip(sizes, durations, strict=True):
            if bounds is None:
                yield self.place(size, duration)
            else:
                start = self.place(size, duration, bounds.find_bound(size, duration))
                bounds.raise_bounds(size, duration, start)
                yield start

    def replace_all(
        self, sizes: Sequence[int], durations: Sequence[float], starts: Sequence[float]
    ) -> list[float]:
        """Take back each job that begins at ``starts``, and place it anew; return the new starts.

        One job after another, each as early as possible; inf: it has no start yet.
        """
        if min(starts, default=inf) == inf:
            return self.place_all(sizes, durations)
        new_starts = []
        for size, duration, start in zip(sizes, durations, starts, strict=True):
            self.release(start, start + duration, size)
            new_starts.append(self.place(size, duration))
        return new_starts

    def _fits_first(self, size: int, duration: float) -> bool:
        """Return whether the earliest start is the beginning."""
        begin = self.times[0]
        end = begin + duration
        for time, free in zip(self.times, self.free, strict=True):
            if time > begin and time >= end:
                break
            if free < size:
                return False
        return True

    def _take(self, start: float, at: int, end: float, behind: int, size: int) -> None:
        """Subtract ``size`` in ``[start, end)``; ``at`` and ``behind`` are where these lie."""
        times, free = self.times, self.free
        if end < inf and (behind == len(times) or times[behind] > end):
            times.insert(behind, end)
            free.insert(behind, free[behind - 1])
        if times[at] < start:
            at += 1
            behind += 1
            times.insert(at, start)
            free.insert(at, free[at - 1])
        for number in range(at, behind):
            free[number] -= size

    def reserve(self, start: float, end: float, size: int) -> None:
        """Take ``size`` processors in ``[start, end)``.

        Raises :class:`InvariantError` if fewer are free, and changes nothing then.
        """
        if start < self.times[0] or not start <= end:
            raise InvariantError(f"a reservation from {start} to {end} was requested at {self}")
        if start < end and (least := self.least_free(start, end)) < size:
            raise InvariantError(
                f"{size} processors were reserved from {start} to {end}, where {least} are free"
            )
        self.occupy(start, end, size)

    def occupy(self, start: float, end: float, size: int) -> None:
        """Take ``size`` processors in ``[start, end)`` whether they are free or not.

        If it falls below zero, more is reserved than there is, and nothing else fits there.
        """
        start = max(start, self.times[0])
        if start < end:
            at = bisect_right(self.times, start) - 1
            self._take(start, at, end, bisect_left(self.times, end), size)

    def release(self, start: float, end: float, size: int) -> None:
        """Give back ``size`` reserved processors in ``[start, end)``.

        Time before the beginning does not count.
        """
        self.occupy(start, end, -size)

    def advance(self, now: float) -> None:
        """Let the timeline begin at ``now`` (seconds), and drop steps without a change."""
        at = bisect_right(self.times, now) - 1
        if at > 0:
            del self.times[:at], self.free[:at]
        self.times[0] = max(self.times[0], now)
        times, free = [self.times[0]], [self.free[0]]
        for time, number in zip(self.times[1:], self.free[1:], strict=True):
            if number != free[-1]:
                times.append(time)
                free.append(number)
        self.times, self.free = times, free

    def __repr__(self) -> str:
        steps = ", ".join(f"{t:g}: {f}" for t, f in zip(self.times, self.free, strict=True))
        return f"Timeline({steps})"


def check_estimate(job: Job, who: str) -> None:
    """Raise :class:`UsageError` for a job without an estimate; ``who`` needs it, as text."""
    if job.estimate == inf:
        raise UsageError(
            f"job {job.id} has no walltime and no estimate: {who} one. Jobs of a log get one by "
            f"{parameter('least_walltime')} 1 or {parameter('walltime')} exact"
        )
