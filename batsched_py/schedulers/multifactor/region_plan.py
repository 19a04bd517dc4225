"""A plan on overlapping partitions: how much of each region is free over future time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import inf
from operator import add

from batsched_py.model.machine import Machine
from batsched_py.model.timeline import BOUNDS_PAY, LatestStarts
from batsched_py.schedulers.multifactor.backfill_plan import BEYOND, Grid, find_starting_now
from batsched_py.schedulers.multifactor.overlapping import Group

Want = tuple[int, int, float, int]
"""What a job needs: place of its partition, processors, seconds, and processors of a node."""
Placed = tuple[float, list[int]]
"""A planned start (seconds, inf if there is none) and the number of processors in each region."""
NOT_PLANNED: Placed = (inf, [])


class RegionPlan:
    """A plan of starts on a group of overlapping partitions.

    A job fits at t if the least free processors over the time that it lasts, summed over the
    regions of its partition, are enough. (The same processors stay free over that time: of each
    region as many as are never taken.) Whole nodes: of each region multiples of ``unit``.

    Regions are few and so are the times at which something changes: plain lists are faster here
    than arrays.
    """

    def __init__(self, group: Group, machine: Machine, grid: Grid, now: float) -> None:
        self._group, self._end = group, grid.end(now)
        usable = machine.free_processors
        column = [len(usable & part) for part in group.parts]
        self.times, columns = [grid.begin(now)], [column]
        for end, shares in group.releases(machine):
            end = grid.release(end, now)
            if end >= self._end:
                break
            column = list(map(add, column, shares))
            if end == self.times[-1]:
                columns[-1] = column
            else:
                self.times.append(end)
                columns.append(column)
        if self._end < inf:
            self.times.append(self._end)
            columns.append([BEYOND] * len(column))
        self.free = [list(row) for row in zip(*columns, strict=True)]
        """By region and time."""
        self._rows = {place: [self.free[at] for at in group.of[place]] for place in group.places}
        self._sums: dict[int, list[int]] = {}
        """By partition and time, for partitions in which jobs were placed: the sum of the free
        processors of its regions, which no job can exceed."""

    def find_starting(
        self, wants: Sequence[Want], may: list[int], reserved: int
    ) -> Iterator[tuple[int, list[int]]]:
        """Give the jobs that start now, each with its number of processors in each region.

        Jobs are placed in order until no further one can start now. ``may`` are the places of the
        jobs that might start, ascending; for ``reserved`` see :meth:`place_all`.
        """
        durations, taken = [want[2] for want in wants], []

        def starts() -> Iterator[float]:
            for start, parts in self.place_all(wants, reserved):
                taken.append(parts)
                yield start

        def fits_now(job: int) -> bool:
            return self.fits_now(*wants[job])

        for job in find_starting_now(self.times[0], starts(), may, durations, fits_now):
            yield job, taken[job]

    def place_all(self, wants: Sequence[Want], reserved: int) -> Iterator[Placed]:
        """Give the place of each job in order; a job is placed only when its turn is requested.

        The first ``reserved`` jobs (0: all) of each partition are planned. Later ones start at the
        beginning of the plan or are not planned.
        """
        planned = dict.fromkeys(self._group.places, 0)
        bounds = self._bounds(wants)
        for want in wants:
            place, size, duration, _ = want
            planned[place] += 1
            if 0 < reserved < planned[place]:
                yield self.place(*want) if self.fits_now(*want) else NOT_PLANNED
            elif (bound := bounds.get(place)) is None:
                yield self.place(*want)
            else:
                placed = self.place(*want, bound.find_bound(size, duration))
                bound.raise_bounds(size, duration, placed[0])
                yield placed

    def _bounds(self, wants: Sequence[Want]) -> dict[int, LatestStarts]:
        jobs: dict[int, list[Want]] = {}
        for want in wants:
            jobs.setdefault(want[0], []).append(want)
        return {
            place: LatestStarts([want[1] for want in of_place], [want[2] for want in of_place])
            for place, of_place in jobs.items()
            if len(of_place) >= BOUNDS_PAY
        }

    def place(
        self, place: int, size: int, duration: float, unit: int, after: float = -inf
    ) -> Placed:
        """Take ``size`` processors of a partition for ``duration`` seconds as early as possible.

        ``after`` is a known lower bound of the start, which saves the search. A job that cannot
        start within the window is not planned.
        """
        at, behind, least = self._fit(place, size, duration, unit, bisect_left(self.times, after))
        if not least or (at and self.times[at] >= self._end):
            return NOT_PLANNED
        parts = []
        for most in least:
            parts.append(min(most, size))
            size -= parts[-1]
        start = self.times[at]
        if start < start + duration:
            self._take(place, parts, at, behind, start + duration)
        return start, parts

    def fits_now(self, place: int, size: int, duration: float, unit: int) -> bool:
        """Tell whether a job can start at the beginning of the plan."""
        if self._sums_of(place)[0] < size:
            return False
        behind = max(1, bisect_left(self.times, self.times[0] + duration))
        return sum(self._least(place, unit, 0, behind)) >= size

    def _least(self, place: int, unit: int, at: int, behind: int) -> list[int]:
        """Return what each region of a partition has free from one time to before another."""
        least = [min(row[at:behind]) for row in self._rows[place]]
        return least if unit == 1 else [number - number % unit for number in least]

    def _fit(
        self, place: int, size: int, duration: float, unit: int, at: int
    ) -> tuple[int, int, list[int]]:
        """Return the indices of the earliest start from ``at`` on and of the first time after the
        end, and what each region has free in between; nothing if there is none.
        """
        times, sums = self.times, self._sums_of(place)
        nb = len(times)
        while True:
            while at < nb and sums[at] < size:
                at += 1
            if at == nb:
                return nb, nb, []
            end, behind = times[at] + duration, at + 1
            while behind < nb and times[behind] < end and sums[behind] >= size:
                behind += 1
            if behind < nb and times[behind] < end:
                at = behind
                continue
            least = self._least(place, unit, at, behind)
            if sum(least) >= size:
                return at, behind, least
            at = self._later(place, size, unit, at, behind)

    def _later(self, place: int, size: int, unit: int, at: int, behind: int) -> int:
        """Return the first index after ``at`` from which a job fits until ``behind``."""
        low, high = at + 1, behind
        while low < high:
            middle = (low + high) // 2
            if sum(self._least(place, unit, middle, behind)) >= size:
                high = middle
            else:
                low = middle + 1
        return low

    def _sums_of(self, place: int) -> list[int]:
        sums = self._sums.get(place)
        if sums is None:
            sums = self._sums[place] = list(map(sum, zip(*self._rows[place], strict=True)))
        return sums

    def _take(self, place: int, parts: list[int], at: int, behind: int, end: float) -> None:
        """Subtract ``parts`` of the regions of a partition from ``at`` until ``end``."""
        sums = self._sums
        if end < inf and (behind == len(self.times) or self.times[behind] > end):
            self.times.insert(behind, end)
            for row in (*self.free, *sums.values()):
                row.insert(behind, row[behind - 1])
        taken = dict.fromkeys(sums, 0)
        for region, part in zip(self._group.of[place], parts, strict=True):
            if part:
                _subtract(self.free[region], at, behind, part)
                for other in sums.keys() & self._group.members[region]:
                    taken[other] += part
        for other, part in taken.items():
            if part:
                _subtract(sums[other], at, behind, part)


def _subtract(row: list[int], at: int, behind: int, number: int) -> None:
    row[at:behind] = [free - number for free in row[at:behind]]
