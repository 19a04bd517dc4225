"""What is free on the sites of a grid, now and later."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import inf

from batsched_py.model.job import Job
from batsched_py.model.site import Site
from batsched_py.schedulers.easy import walk_releases
from batsched_py.schedulers.grid.costs import Costs
from batsched_py.schedulers.grid.spreading import Fragments, fragments


class FreeSites:
    """The free processors of ``sites`` at ``now`` (seconds), as long as no job starts."""

    def __init__(self, sites: Sequence[Site], costs: Costs, now: float) -> None:
        self.sites, self.now = sites, now
        self.total = sum(site.free for site in sites)
        """Number of free processors on all sites."""
        self._costs = costs
        self._times: dict[tuple[int, int], float] = {}

    def fitting(self, width: int) -> list[Site]:
        """Return the sites with so many free processors."""
        return [site for site in self.sites if site.free >= width]

    def fragments(self, width: int) -> Fragments:
        """Return the fragments of a job of that many processors; so many must be free."""
        return fragments(width, self._by_free)

    @cached_property
    def _by_free(self) -> list[Site]:
        return sorted(self.sites, key=lambda site: -site.free)  # equals stay in their order

    def first_room(self, width: int) -> float:
        """Return when one site has so many free processors (seconds), inf if nobody knows."""
        return min(self.earliest(site, width) for site in self.sites)

    def first_end(self, job: Job, homes: Sequence[Site]) -> float | None:
        """Return when a job would end first on one site by estimates (seconds), if it started there
        as soon as the jobs that run let it; None if nobody knows when any has room."""
        costs, width = self._costs, job.size
        if self.first_room(width) == inf:
            return None
        return min(
            self.earliest(site, width) + job.lasts(*costs.of(job, [site], homes))
            for site in self.sites
        )

    def earliest(self, site: Site, width: int) -> float:
        """Return when so many processors of a site are free (seconds), inf if never."""
        key = id(site), width
        if key not in self._times:
            time = self.now
            if site.free < width:
                time = max(time, walk_releases(width, site.free, self._costs.releases(site))[0])
            self._times[key] = time
        return self._times[key]
