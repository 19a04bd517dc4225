"""Where on a grid a job starts now: on one site, or spread over several, where it runs longer.

Source: A. Streit's thesis, 2003, chapters 6 and 7, figure 7.12. Assumptions beyond the thesis: ties
go to the first site; a job that would end no earlier if it were spread waits for one site.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from math import inf
from typing import TYPE_CHECKING

import msgspec

from batsched_py.model.job import Job
from batsched_py.model.site import Site
from batsched_py.schedulers.backfilling import has_room_before
from batsched_py.schedulers.easy import walk_releases
from batsched_py.schedulers.grid.costs import Costs
from batsched_py.schedulers.grid.placed import Placed, Reserved, Selection
from batsched_py.schedulers.grid.spreading import Fragments, Spreading

if TYPE_CHECKING:
    from batsched_py.model.queue.orders import RankedJobs

_ROUNDING = 1 + 1e-14
"""The factor by which rounding may change a time."""


class GridRules(msgspec.Struct, frozen=True):
    """The rules by which jobs are placed; without ``spreading`` each runs on one site."""

    select: Selection
    costs: Costs
    spreading: Spreading | None = None
    adaptive: bool = False
    """Whether a job is spread only if it ends earlier then than it would on one site."""
    extra_nodes: str = "first"
    """See :func:`~batsched_py.schedulers.easy.easy_reservation`."""


class Room:
    """Finds places for jobs in the free processors of ``sites`` at ``now``, until a job starts.

    ``homes`` are the home sites of users. A job starts only if it leaves what is ``reserved`` for
    the head of the queue, if anything.
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
        self._sites, self._reserved = sites, reserved
        self._total = sum(site.free for site in sites)
        self._times: dict[tuple[int, int], float] = {}
        self._begins = None if sites[0].sleepers is None else cache(Site.begins)

    def find_first(self, ranked: RankedJobs) -> Placed | None:
        """Return the first of the waiting jobs that can start, None if none can."""
        total, now, latest = self._total, self._now, dict[int, float]()
        for job in ranked:
            width = job.size
            if width > total:
                continue
            if width not in latest:
                latest[width] = inf if self._rules.costs.depends_on_job else self._latest_end(width)
            if now + job.estimate <= latest[width] and (placed := self.place(job)):
                return placed
        return None

    def must_wait(self, job: Job) -> bool:
        """Return whether ends of jobs give one site room for ``job`` before any place begins."""
        places = self._on_each_site(job) or filter(None, [self._spread(job)])
        begin = min((place.begin for place in places), default=-inf)
        return any(has_room_before(begin, job.size, self._now, site) for site in self._sites)

    def place(self, job: Job) -> Placed | None:
        """Return where a job begins first: on one site, else on several; None if nowhere."""
        if on_site := self._on_each_site(job):
            first = min(place.begin for place in on_site)
            return self._rules.select([place for place in on_site if place.begin == first])
        return self._spread(job)

    def find_shortest_duration(self, job: Job) -> float | None:
        """Return the least time (seconds) a job would run if it started now, None if it cannot."""
        ends = [place.end for place in self._on_each_site(job)]
        if not ends and (spread := self._spread(job)):
            ends = [spread.end]
        return min(ends) - self._now if ends else None

    def explain(self, job: Job) -> str:
        """Return why a job does not start now though all sites together have room; else ``""``."""
        spreading = self._rules.spreading
        if len(self._sites) == 1 or job.size > self._total or self._fitting(job.size):
            return ""
        nowhere = "no grid site has enough free processors"
        if spreading is None:
            return nowhere
        most = spreading.most_fragments(job.size)
        if most == 1 or not spreading.allows(job.size, self._sites):
            return f"{nowhere}, and jobs of its size are not spread"
        parts = self._fragments(job.size)
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

    def _fitting(self, width: int) -> list[Site]:
        """Return the sites with enough free processors."""
        return [site for site in self._sites if site.free >= width]

    def _fragments(self, width: int) -> Fragments:
        """Return the fragments of a job of ``width`` processors, which must be free.

        They are all free processors of each site until the job has enough, most of them first.
        """
        parts: Fragments = []
        for site in self._by_free:
            parts.append((site, min(width, site.free)))
            width -= parts[-1][1]
            if not width:
                break
        return parts

    @cached_property
    def _by_free(self) -> list[Site]:
        return sorted(self._sites, key=lambda site: -site.free)  # equals stay in their order

    def _on_each_site(self, job: Job) -> list[Placed]:
        """Return the places on one site where a job can start now beside the reservation."""
        places = [self._placed(job, [(site, job.size)]) for site in self._fitting(job.size)]
        return [place for place in places if self._leaves_room(place)]

    def _spread(self, job: Job) -> Placed | None:
        """Return the place of a job that starts now on several sites, None if it does not."""
        if not self._can_spread(job.size):
            return None
        placed = self._placed(job, self._fragments(job.size))
        alone = self._first_end(job) if self._rules.adaptive else None
        if alone is not None and placed.end >= alone:
            return None
        return placed if self._leaves_room(placed) else None

    def _placed(self, job: Job, parts: Fragments) -> Placed:
        costs = self._rules.costs.compute(job, [site for site, _ in parts], self._homes)
        begin = self._now
        if self._begins is not None:
            begin = max(self._begins(site, number) for site, number in parts)
        return Placed(job, parts, *costs, begin, begin + job.lasts(*costs))

    def _leaves_room(self, placed: Placed) -> bool:
        reserved = self._reserved
        if reserved is None or placed.end <= reserved.horizon:
            return True
        return reserved.count_taken(placed.parts) <= reserved.extra

    def _can_spread(self, width: int) -> bool:
        """Tell whether enough processors are free for a spread job, whenever it would end."""
        spreading = self._rules.spreading
        if spreading is None or width > self._total or not spreading.allows(width, self._sites):
            return False
        return 2 <= len(self._fragments(width)) <= spreading.most_fragments(width)

    def _latest_end(self, width: int) -> float:
        """Return the latest end (seconds) of a job of ``width`` processors that starts now.

        It is at most a rounding error too late; inf: any end, -inf: the job cannot start.
        """
        latest, reserved, now = -inf, self._reserved, self._now
        for site in self._fitting(width):
            if reserved is None or reserved.count_taken([(site, width)]) <= reserved.extra:
                return inf
            latest = reserved.horizon
        if not self._can_spread(width):
            return latest
        overhead = self._rules.costs.overhead
        longest = inf
        if reserved and reserved.count_taken(self._fragments(width)) > reserved.extra:
            longest = (reserved.horizon - now) / (1 + overhead)
        if self._rules.adaptive:
            gained = self._first_room(width) - now
            longest = min(longest, gained / overhead if overhead else inf if gained else -inf)
        return max(latest, (now + longest) * _ROUNDING)

    def _first_room(self, width: int) -> float:
        """Return when one site has ``width`` free processors (seconds), inf if that is unknown."""
        return min(self._earliest(site, width) for site in self._sites)

    def _first_end(self, job: Job) -> float | None:
        """Return the earliest end (seconds) of a job on one site by estimates, if it started when
        running jobs leave room; None if it is unknown when a site has room.
        """
        costs, width = self._rules.costs, job.size
        if self._first_room(width) == inf:
            return None
        return min(
            self._earliest(site, width) + job.lasts(*costs.compute(job, [site], self._homes))
            for site in self._sites
        )

    def _earliest(self, site: Site, width: int) -> float:
        """Return when ``width`` processors of a site are free (seconds), inf if never."""
        key = id(site), width
        if key not in self._times:
            time, (free, coming) = self._now, self._rules.costs.outlook(site)
            if free < width:
                time = max(time, walk_releases(width, free, coming)[0])
            self._times[key] = time
        return self._times[key]
