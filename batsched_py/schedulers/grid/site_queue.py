"""A queue for a site, as local processing has it, or the one for the whole grid."""

from __future__ import annotations

from collections.abc import Iterator

from batsched_py.model.decisions import Decision, Start
from batsched_py.model.job import Job
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.site import Site
from batsched_py.schedulers.grid.grid_backfilling import GridBackfilling


class SiteQueue:
    """A site, the jobs that wait for it, and its discipline.

    The jobs are those of ``shared``, the queue of the machine, or if it is None of a queue that is
    kept up to date here.
    """

    def __init__(
        self, site: Site, backfilling: GridBackfilling, shared: WaitingQueue | None
    ) -> None:
        self.site, self.backfilling = site, backfilling
        self.queue = WaitingQueue() if shared is None else shared
        self._kept_here = shared is None

    def append(self, job: Job) -> None:
        """Add a new job."""
        if self._kept_here:
            self.queue.append(job)

    def try_now(self, job: Job, now: float) -> Iterator[Decision]:
        """Start a job before all others, whatever is reserved, if it fits."""
        if start := self.backfilling.try_now(job, now, self.site):
            yield from self._remove(start)

    def schedule(self, now: float) -> Iterator[Decision]:
        """Do a scheduling pass."""
        for decision in self.backfilling.schedule(now, self.queue, self.site):
            yield from self._remove(decision)

    def _remove(self, decision: Decision) -> Iterator[Decision]:
        yield decision
        if self._kept_here and isinstance(decision, Start):
            self.queue.remove(decision.job)
