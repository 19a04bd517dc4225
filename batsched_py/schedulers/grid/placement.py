"""Where on a grid a job starts now: on one site, or spread over several, at the price of time.

Source: A. Streit's thesis, 2003, chapters 6 and 7, figure 7.12. What the thesis leaves open: ties
go to the first site; a job that could end on one site at the same time as spread waits for the one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import inf, nextafter
from typing import TYPE_CHECKING

import msgspec

from batsched_py.model.decisions import Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Site
from batsched_py.schedulers.easy import walk_releases
from batsched_py.schedulers.grid.costs import Costs
from batsched_py.schedulers.grid.site_selection import Fit, Selection
from batsched_py.schedulers.grid.spreading import Fragments, Spreading, fragments
from batsched_py.support.processor_sets import lowest

if TYPE_CHECKING:
    from batsched_py.model.queue.orders import RankedJobs


class GridRules(msgspec.Struct, frozen=True):
    """By which rules jobs are placed; without ``spreading`` each runs on one site."""

    select: Selection
    costs: Costs
    spreading: Spreading | None = None
    adaptive: bool = False
    """Whether a job is spread only if it ends earlier then than it would on one site."""


class Reserved(msgspec.Struct):
    """What is promised to the head of the queue: later jobs end by ``horizon`` (seconds), or keep
    at most ``extra`` processors longer: of ``site``, or if that is None of all."""

    site: Site | None
    horizon: float
    extra: int

    def held_by(self, parts: Fragments) -> int:
        """Return how many of the processors that are promised a job takes."""
        return sum(number for site, number in parts if self.site in (None, site))


class Placed(msgspec.Struct, frozen=True):
    """A job that can start now: where, how much longer it runs there, its end by estimates."""

    job: Job
    parts: Fragments
    dilation: float
    transfer: float
    end: float

    def start(self) -> Start:
        """Return the decision."""
        processors = 0
        for site, number in self.parts:
            processors |= lowest(site.free_processors, number)
        return Start(self.job, processors, self.dilation, self.transfer)


class Room:
    """What is free on ``sites`` at an instant; ``homes`` are those that users live at.

    A job starts only where ``reserved`` leaves it room, if anything is. To be made anew after each
    start.
    """

    def __init__(
        self,
        rules: GridRules,
        sites: Sequence[Site],
        homes: Sequence[Site],
        now: float,
        reserved: Reserved | None = None,
    ) -> None:
        self._rules, self._sites, self._homes, self._now = rules, sites, homes, now
        self._reserved = reserved
        self._free = sum(site.free for site in sites)
        self._earliest: dict[tuple[int, int], float] = {}

    @cached_property
    def _by_free(self) -> list[Site]:
        return sorted(self._sites, key=lambda site: -site.free)  # stable

    def first(self, ranked: RankedJobs) -> Placed | None:
        """Return the first of the waiting jobs that can start, None if none can."""
        if not self._rules.costs.by_job:
            job = ranked.first_by(self._now, self._free, self._latest_end)
            if job is None:
                return None
            if placed := self.place(job):  # else a rounding error in the time by which it must end
                return placed
        return next(self._all(ranked), None)

    def _all(self, ranked: RankedJobs) -> Iterator[Placed]:
        for job in ranked:
            if job.size <= self._free and (placed := self.place(job)):
                yield placed

    def place(self, job: Job) -> Placed | None:
        """Return where a job starts now, None if nowhere: on one site before several."""
        singles = [self._placed(job, [(site, job.size)]) for site in self._fitting(job.size)]
        fits = [Fit(at.parts[0][0], at.end) for at in singles if self._leaves_room(at)]
        if fits:
            return self._placed(job, [(self._rules.select(fits).site, job.size)])
        return self.spread(job)

    def spread(self, job: Job) -> Placed | None:
        """Return where a job starts now on several sites, None if it does not."""
        spreading = self._rules.spreading
        if spreading is None or not self._can_spread(spreading, job.size):
            return None
        placed = self._placed(job, fragments(job.size, self._by_free))
        waits = self._rules.adaptive and placed.end >= self.single_end(job)
        return None if waits or not self._leaves_room(placed) else placed

    def single_end(self, job: Job) -> float:
        """Return when a job would end on one site (seconds) by estimates, if it started there as
        soon as the jobs that run let it; inf if it is wider than each site."""
        return min(
            self.earliest(site, job.size)
            + job.lasts(*self._rules.costs.of(job, [site], self._homes))
            for site in self._sites
        )

    def earliest(self, site: Site, width: int) -> float:
        """Return when so many processors of a site are free (seconds), inf if never."""
        key = id(site), width
        if key not in self._earliest:
            releases = self._rules.costs.releases(site)
            free = site.free >= width
            time = self._now if free else walk_releases(width, site.free, releases)[0]
            self._earliest[key] = max(time, self._now)
        return self._earliest[key]

    def _fitting(self, width: int) -> list[Site]:
        return [site for site in self._sites if site.free >= width]

    def _placed(self, job: Job, parts: Fragments) -> Placed:
        costs = self._rules.costs.of(job, [site for site, _ in parts], self._homes)
        return Placed(job, parts, *costs, self._now + job.lasts(*costs))

    def _leaves_room(self, placed: Placed) -> bool:
        reserved = self._reserved
        if reserved is None or placed.end <= reserved.horizon:
            return True
        return reserved.held_by(placed.parts) <= reserved.extra

    def _can_spread(self, spreading: Spreading, width: int) -> bool:
        """Tell whether the free processors allow it, without asking when the job would end."""
        if width > self._free or not spreading.allows(width, self._sites):
            return False
        return 2 <= len(fragments(width, self._by_free)) <= spreading.most_fragments(width)

    def _latest_end(self, width: int) -> float:
        """Return by when a job must end on one site to start now (seconds), as the queue's search
        needs it: inf if whenever, -inf if it cannot start; a rounding error too late at most."""
        latest, reserved, now = -inf, self._reserved, self._now
        for site in self._fitting(width):
            if reserved is None or reserved.held_by([(site, width)]) <= reserved.extra:
                return inf
            latest = reserved.horizon
        spreading = self._rules.spreading
        if spreading is None or not self._can_spread(spreading, width):
            return latest
        overhead = self._rules.costs.overhead
        longest = inf
        if reserved and reserved.held_by(fragments(width, self._by_free)) > reserved.extra:
            longest = (reserved.horizon - now) / (1 + overhead)
        if self._rules.adaptive:
            earliest = min(self.earliest(site, width) for site in self._sites)
            gained = earliest - now
            longest = min(longest, gained / overhead if overhead else inf if gained else -inf)
        return max(latest, nextafter(now + longest, inf))
