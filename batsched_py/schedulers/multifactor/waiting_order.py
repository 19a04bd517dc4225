"""The waiting jobs in the order of their priorities, kept from one pass to the next."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np

from batsched_py.model.job import WAITING, Job
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.job_arrays import Floats
from batsched_py.model.site import Site
from batsched_py.schedulers.multifactor.priority import Priority

MANY = 20
"""With more new jobs, sorting all is faster than inserting each."""
Entry = tuple[int, float, int, Job]
"""Sort entry of a job: minus its partition's tier, minus its priority key, number, job."""


class WaitingOrder:
    """The waiting jobs, partitions of a higher tier first, then by descending priority.

    All jobs age alike: so the order stays until the fair share of a user with waiting jobs changes,
    or a job has waited so long that its age counts no more.
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
        self._by_user: Floats = np.zeros(0)  # with which the entries were made
        self._forget()

    def _forget(self) -> None:
        self.entries: list[Entry] = []
        """The sorted jobs, as of the last :meth:`sort`; :meth:`remove` takes jobs out."""
        self._entry_of: dict[int, Entry] = {}
        self._unsorted: list[Job] = []
        """The jobs without an entry yet."""
        self._sizes: list[list[int]] = [[] for _ in self._tiers]
        """The sizes of the jobs of each partition, ascending."""
        self._users: dict[int, int] = {}
        """The number of waiting jobs of each user."""

    def take_new_jobs(self, queue: WaitingQueue) -> list[Job]:
        """Return the jobs submitted since the last call of this or of :meth:`update`."""
        news = queue.since(self._seen)
        self._seen = queue.nb_arrived
        self._news += news
        return news

    def update(self, now: float, queue: WaitingQueue) -> None:
        """Add new jobs, drop those that no longer wait, and refresh the fair shares at ``now``."""
        if self._seen != queue.nb_arrived:
            self.take_new_jobs(queue)
        news, self._news = [job for job in self._news if job.state is WAITING], []
        if news:
            self._priority.add_jobs(news, self._nb_processors, self._factors)
        self._priority.refresh(now)
        # Jobs may have gone, or gone and come back into their places.
        if len(self._entry_of) + len(self._unsorted) + len(news) != len(queue):
            self._forget()
            news = list(queue)
        for job in news:
            insort(self._sizes[job.partition], job.size)
            user = self._priority.user_of(job)
            self._users[user] = self._users.get(user, 0) + 1
        self._unsorted += news

    def find_partitions_with_room(self, views: Sequence[Site]) -> set[int]:
        """Return the places of the partitions in which some waiting job fits now."""
        places = set()
        for place, sizes in enumerate(self._sizes):
            if sizes and sizes[0] <= views[place].free:
                places.add(place)
        return places

    def has_size(self, most: int) -> bool:
        """Tell whether a waiting job needs at most ``most`` processors."""
        return any(sizes and sizes[0] <= most for sizes in self._sizes)

    def sort(self, now: float, queue: WaitingQueue) -> None:
        """Sort the entries by the priorities of ``now`` (seconds)."""
        head = queue.head
        too_old = head is not None and now - head.submit_time > self._priority.max_age
        if self._shares_changed(now) or too_old or len(self._unsorted) > MANY:
            jobs = [entry[-1] for entry in self.entries] + self._unsorted
            self.entries = sorted(self._entries(now, jobs, self._by_user))
            self._entry_of = {entry[2]: entry for entry in self.entries}
        else:
            for entry in self._entries(now, self._unsorted, self._by_user):
                self._entry_of[entry[2]] = entry
                insort(self.entries, entry)
        self._unsorted = []

    def _shares_changed(self, now: float) -> bool:
        """Take the fair shares of ``now``; return whether any in the order has changed."""
        before = self._by_user
        if len(self._users) == 1 and max(self._users) < len(before):
            return False  # among the jobs of one user it does not matter
        self._by_user = self._priority.compute_user_parts(now)
        if self._by_user is before:
            return False
        after, nb = self._by_user, len(before)  # newer users are not in it
        return any(after[user] != before[user] for user in self._users if user < nb)

    def remove(self, job: Job) -> None:
        """Remove a job that starts, or was withdrawn, from the order."""
        entry = self._entry_of.pop(job.number, None)
        if entry is not None:
            del self.entries[bisect_left(self.entries, entry)]
        elif job in self._unsorted:
            self._unsorted.remove(job)
        else:
            if job in self._news:
                self._news.remove(job)
            return
        sizes, user = self._sizes[job.partition], self._priority.user_of(job)
        del sizes[bisect_left(sizes, job.size)]
        self._users[user] -= 1
        if not self._users[user]:
            del self._users[user]

    def list_jobs(self, now: float, queue: WaitingQueue) -> list[Job]:
        """Return the jobs in the order of ``now`` without changing the stored order."""
        jobs = list(queue)
        self._priority.add_jobs(jobs, self._nb_processors, self._factors)
        entries = self._entries(now, jobs, self._priority.compute_user_parts(now))
        return [entry[-1] for entry in sorted(entries)]

    def _entries(self, now: float, jobs: list[Job], by_user: Floats) -> list[Entry]:
        tiers, keys = self._tiers, self._priority.compute_keys(now, by_user, jobs)
        return [
            (-tiers[job.partition], -key, job.number, job)
            for key, job in zip(keys, jobs, strict=True)
        ]
