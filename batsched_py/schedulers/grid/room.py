"""Where on a grid a job starts now: on one site, or spread over several, at the price of time.

Source: A. Streit's thesis, 2003, chapters 6 and 7, figure 7.12. What the thesis leaves open: ties
go to the first site; a job that could end on one site at the same time as spread waits for the one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from batsched_py.model.job import Job
from batsched_py.model.site import Site
from batsched_py.schedulers.grid.free_sites import FreeSites
from batsched_py.schedulers.grid.placed import GridRules, Placed, Reserved
from batsched_py.schedulers.grid.site_selection import Fit
from batsched_py.schedulers.grid.spreading import Fragments, Spreading

if TYPE_CHECKING:
    from batsched_py.model.queue.orders import RankedJobs

_ROUNDING = 1 + 1e-14
"""A time is at most by this factor less, whichever way it is computed."""


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
        self._rules, self._homes, self._now = rules, homes, now
        self._reserved = reserved
        self._free = FreeSites(sites, rules.costs, now)

    def first(self, ranked: RankedJobs) -> Placed | None:
        """Return the first of the waiting jobs that can start, None if none can."""
        if not self._rules.costs.by_job:
            job = ranked.first_by(self._now, self._free.total, self._latest_end)
            if job is None:
                return None
            if placed := self.place(job):  # else a rounding error in the time by which it must end
                return placed
        return next(self._all(ranked), None)

    def _all(self, ranked: RankedJobs) -> Iterator[Placed]:
        for job in ranked:
            if job.size <= self._free.total and (placed := self.place(job)):
                yield placed

    def place(self, job: Job) -> Placed | None:
        """Return where a job starts now, None if nowhere: on one site before several."""
        if fits := self._fits(job):
            return self._placed(job, [(self._rules.select(fits).site, job.size)])
        return self._spread(job)

    def lasts(self, job: Job) -> float | None:
        """Return how long a job that started now would run at least (seconds), None if it cannot
        start."""
        ends = [fit.end for fit in self._fits(job)]
        if not ends and (spread := self._spread(job)):
            ends = [spread.end]
        return min(ends) - self._now if ends else None

    def why_not(self, job: Job) -> str:
        """Say why a job that fits into what is free on all sites together does not start now."""
        spreading, sites = self._rules.spreading, self._free.sites
        if len(sites) == 1 or job.size > self._free.total or self._free.fitting(job.size):
            return ""
        nowhere = "no site has so many free"
        if spreading is None:
            return nowhere
        most = spreading.most_fragments(job.size)
        if most == 1 or not spreading.allows(job.size, sites):
            return f"{nowhere}, and jobs of its size are not spread"
        parts = self._free.fragments(job.size)
        if len(parts) > most:
            return f"{nowhere}, and it must not be in more than {most:g} fragments"
        if not self._rules.adaptive:
            return nowhere
        spread = self._placed(job, parts)
        if spread.end == inf:
            return f"{nowhere}, and nobody knows when it would end"
        return (
            f"it waits for one site, where it ends no later than on {len(parts)} now, "
            f"{spread.dilation:g} times as long"
        )

    def _fits(self, job: Job) -> list[Fit]:
        """Return the sites on which a job can start now, without those that are reserved."""
        singles = [self._placed(job, [(site, job.size)]) for site in self._free.fitting(job.size)]
        return [Fit(at.parts[0][0], at.end) for at in singles if self._leaves_room(at)]

    def _spread(self, job: Job) -> Placed | None:
        """Return where a job starts now on several sites, None if it does not."""
        spreading = self._rules.spreading
        if spreading is None or not self._can_spread(spreading, job.size):
            return None
        placed = self._placed(job, self._free.fragments(job.size))
        alone = self._free.first_end(job, self._homes) if self._rules.adaptive else None
        if alone is not None and placed.end >= alone:
            return None
        return placed if self._leaves_room(placed) else None

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
        if width > self._free.total or not spreading.allows(width, self._free.sites):
            return False
        return 2 <= len(self._free.fragments(width)) <= spreading.most_fragments(width)

    def _latest_end(self, width: int) -> float:
        """Return by when a job must end on one site to start now (seconds), as the queue's search
        needs it: inf if whenever, -inf if it cannot start; a rounding error too late at most."""
        latest, reserved, now = -inf, self._reserved, self._now
        for site in self._free.fitting(width):
            if reserved is None or reserved.held_by([(site, width)]) <= reserved.extra:
                return inf
            latest = reserved.horizon
        spreading = self._rules.spreading
        if spreading is None or not self._can_spread(spreading, width):
            return latest
        overhead = self._rules.costs.overhead
        longest = inf
        if reserved and reserved.held_by(self._free.fragments(width)) > reserved.extra:
            longest = (reserved.horizon - now) / (1 + overhead)
        if self._rules.adaptive:
            gained = self._free.first_room(width) - now
            longest = min(longest, gained / overhead if overhead else inf if gained else -inf)
        return max(latest, (now + longest) * _ROUNDING)
