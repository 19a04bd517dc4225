"""The waiting jobs in the order of their priorities, kept from one pass to the next."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence

import numpy as np

from batsched_py.model.job import WAITING, Job
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.job_arrays import Floats
from batsched_py.schedulers.multifactor.priority import Priority

Entry = tuple[int, float, int, Job]
"""Minus the tier of the partition, minus the key of the priority, number, job: ascending."""


class WaitingOrder:
    """The waiting jobs, partitions of a higher tier first, then by descending priority.

    All jobs age alike: so the order stays as it is until fair-share factors are computed anew, or
    somebody has waited for so long that the age counts no more.
    """

    def __init__(
        self,
        priority: Priority,
        tiers: Sequence[int],
        factors: Sequence[float],
        nb_processors: int,
    ) -> None:
        self._priority = priority
        self._tiers, self._factors, self._nb_processors = tiers, factors, nb_processors
        self._seen = 0
        self._news: list[Job] = []
        self.entries: list[Entry] = []
        """In order; whoever starts a job takes its entry out."""

    def news(self, queue: WaitingQueue) -> list[Job]:
        """Return the jobs that have come since the last call of this or of :meth:`update`."""
        news = queue.since(self._seen)
        self._seen = queue.nb_arrived
        self._news += news
        return news

    def update(self, now: float, queue: WaitingQueue) -> None:
        """Bring the order up to ``now`` (seconds)."""
        self.news(queue)
        news, self._news = self._news, []
        if news:
            news = [job for job in news if job.state is WAITING]
            self._priority.learn(news, self._nb_processors, self._factors)
        anew = self._priority.refresh(now)
        head = queue.head
        too_old = head is not None and now - head.submit_time > self._priority.max_age
        # Jobs may have gone, or gone and come back into their places.
        if anew or too_old or len(self.entries) + len(news) != len(queue):
            self.entries = self._sorted(now, queue, self._priority.by_user(now))
            return
        for job in news:
            insort(self.entries, self._entry(now, job))

    def listed(self, now: float, queue: WaitingQueue) -> list[Job]:
        """Return the jobs in the order of ``now``, and change nothing."""
        self._priority.learn(list(queue), self._nb_processors, self._factors)
        return [entry[-1] for entry in self._sorted(now, queue, self._priority.by_user(now))]

    def _entry(self, now: float, job: Job) -> Entry:
        by_user = self._priority.by_user(now)
        key = self._priority.key(now, by_user, job)
        return -self._tiers[job.partition], -key, job.number, job

    def _sorted(self, now: float, queue: WaitingQueue, by_user: Floats) -> list[Entry]:
        columns = queue.columns
        rows = np.flatnonzero(columns.waiting)
        numbers = columns.number[rows]
        ranks = -self._priority.keys(now, by_user, numbers, columns.submit_time[rows])
        order = np.argsort(ranks, kind="stable")
        jobs = [columns.jobs[row] for row in rows[order].tolist()]
        tiers = self._tiers
        places = [-tiers[job.partition] for job in jobs]
        entries = list(
            zip(places, ranks[order].tolist(), numbers[order].tolist(), jobs, strict=True)
        )
        if len(tiers) > 1:
            entries.sort()
        return entries
