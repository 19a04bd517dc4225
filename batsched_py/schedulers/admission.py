"""Holds jobs back from a policy while limits of users or planned outages forbid their start."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from math import inf

from batsched_py.model.job import ENDED, WAITING, Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.processors.sets import NO_PROCESSORS
from batsched_py.workload.machine_description import Outage, Partition


class Outages:
    """The outages of a machine: they take processors away, and forbid jobs that would meet them."""

    def __init__(self, outages: tuple[Outage, ...]) -> None:
        self._outages = outages
        self._changes = sorted({time for each in outages for time in (each.begin, each.end)})
        self._changes.reverse()
        self._planned = sorted((each for each in outages if each.planned), key=lambda o: o.begin)
        self._out = NO_PROCESSORS

    @property
    def next_change(self) -> float:
        """When the next outage begins or ends (seconds), inf if none does."""
        return self._changes[-1] if self._changes else inf

    def update(self, now: float, machine: Machine) -> None:
        """Make processors unavailable, or available again, by the outages of ``now`` (seconds)."""
        if self.next_change > now:
            return
        while self.next_change <= now:
            self._changes.pop()
        out = NO_PROCESSORS
        for outage in self._outages:
            if outage.begin <= now < outage.end:
                out |= outage.processors
        before, self._out = self._out, out
        if back := before - out:
            machine.set_available(back, available=True)
        if gone := out - before:
            machine.set_available(gone, available=False)

    def find_conflicts(
        self, now: float, job: Job, partition: Partition, waking: float = 0.0
    ) -> list[Outage]:
        """Return the planned outages that a job would run into if it started ``now`` (seconds).

        It begins to run ``waking`` seconds later.
        """
        if job.estimate == inf or not self._planned:
            return []
        self._planned = [each for each in self._planned if each.end > now]
        end = now + waking + job.estimate
        return [
            each
            for each in self._planned
            if each.begin < end and each.processors & partition.processors
        ]

    def find_next_planned(self, time: float, partition: Partition) -> float:
        """Return when the first planned outage of a partition from ``time`` on begins, or inf."""
        return next(
            (
                each.begin
                for each in self._planned
                if each.begin >= time and each.processors & partition.processors
            ),
            inf,
        )


class Admission:
    """The jobs that limits of users and outages allow to start, in submission order.

    A user has at most as many jobs, or processors, in this queue or running as the partition allows
    to run. A job that would run into a planned outage waits for its end, unless enough processors
    stay available; then it starts only on these.
    """

    def __init__(self, outages: Outages, partitions: tuple[Partition, ...]) -> None:
        self.queue = WaitingQueue()
        """The jobs that the policy sees."""
        self.held: dict[int, tuple[Job, str]] = {}
        """The jobs that are held back, by number, each with the reason."""
        self._outages, self._partitions = outages, partitions
        self._leave: list[tuple[float, int, Job]] = []
        """A heap of the latest starts (seconds) of jobs that would run into an outage if later."""
        self._withheld: list[Job] = []
        """Jobs that the policy started where an outage is in the way, until the next pass."""
        self._come: list[tuple[float, int, Job]] = []
        """A heap of the ends (seconds) of the outages that jobs wait for."""
        self._users: dict[tuple[int, str], list[Job]] = defaultdict(list)
        """The jobs that count towards the limits, by partition and user."""
        self._over: dict[tuple[int, str], list[Job]] = defaultdict(list)
        """Jobs that wait until other jobs of their user end."""

    def may_change_by(self, now: float) -> bool:
        """Tell whether the queue may change by ``now`` even without new jobs."""
        return bool(
            self._over
            or self._withheld
            or (self._come and self._come[0][0] <= now)
            or (self._leave and self._leave[0][0] < now)
        )

    def update(self, now: float, new: list[Job]) -> None:
        """Add new jobs and jobs that are no longer held back, and remove jobs that now are.

        Call it when there are new jobs, and whenever :meth:`may_change_by` is true.
        """
        self._let_back()
        returned = [job for key in [*self._over] for job in self._within_limits(key)]
        while self._come and self._come[0][0] <= now:
            returned.append(heappop(self._come)[2])
        for job in self._leaving(now):
            if job in self.queue and not self._may_enter(job, now):
                self.queue.remove(job)
        for job in returned:
            if self._may_enter(job, now):
                self.queue.insert(job)
        for job in new:
            if self._is_within_limits(job) and self._may_enter(job, now):
                self.queue.add(job)

    def _may_enter(self, job: Job, now: float) -> bool:
        """Tell whether outages leave enough processors for a job to start now; if not, hold it."""
        self.held.pop(job.number, None)
        if job.state is not WAITING:
            return False
        partition = self._partitions[job.partition]
        outages = self._outages.find_conflicts(now, job, partition)
        left = partition.processors
        for outage in outages:
            left -= outage.processors
        if outages and job.size > left.size:
            heappush(self._come, (min(each.end for each in outages), job.number, job))
            self._hold(job, outages[0])
            return False
        if (begin := self._outages.find_next_planned(now + job.estimate, partition)) < inf:
            heappush(self._leave, (begin - job.estimate, job.number, job))
        return True

    def _hold(self, job: Job, outage: Outage) -> None:
        self.held[job.number] = job, f"it would run into an outage ({outage.reason})"

    def withhold(self, job: Job, outage: Outage) -> None:
        """Hold a job back until the next pass, since an outage would hit the free processors.

        The policy has started it.
        """
        self.queue.remove(job)
        self._hold(job, outage)
        self._withheld.append(job)

    def forget(self, job: Job) -> None:
        """Remove a job that was withdrawn."""
        self.queue.discard(job)
        self.held.pop(job.number, None)
        if job in (over := self._over.get((job.partition, job.user), [])):
            over.remove(job)

    def _let_back(self) -> None:
        """Put the withheld jobs back into the queue."""
        for job in self._withheld:
            self.held.pop(job.number, None)
            if job.state is WAITING:
                self.queue.insert(job)
        self._withheld = []

    def _leaving(self, now: float) -> list[Job]:
        """Return the jobs of the queue that would run into an outage if they started now."""
        jobs = []
        while self._leave and self._leave[0][0] < now:
            job = heappop(self._leave)[2]
            if job.state is WAITING:
                jobs.append(job)
        return jobs

    def _is_within_limits(self, job: Job) -> bool:
        """Tell whether the limits of its user allow a job; if not, hold it."""
        rules = self._partitions[job.partition]
        if not rules.limits_users:
            return True
        key = job.partition, job.user
        if job in self._users[key]:  # it was bound and comes back
            return True
        if not self._over.get(key) and self._has_room(job, key):
            self._users[key].append(job)
            return True
        self._over[key].append(job)
        self.held[job.number] = job, "its user already runs as much as the partition allows"
        return False

    def _has_room(self, job: Job, key: tuple[int, str]) -> bool:
        rules = self._partitions[job.partition]
        there = self._users[key] = [each for each in self._users[key] if each.state is not ENDED]
        most_jobs, most = rules.max_running_jobs_per_user, rules.max_processors_per_user
        if most_jobs is not None and len(there) >= most_jobs:
            return False
        return most is None or sum(each.size for each in there) + job.size <= most

    def _within_limits(self, key: tuple[int, str]) -> list[Job]:
        """Return the held jobs of a user that the limits now allow, in submission order."""
        waiting, come = self._over[key], []
        while waiting and self._has_room(waiting[0], key):
            job = waiting.pop(0)
            self._users[key].append(job)
            come.append(job)
        if not waiting:
            del self._over[key]
        return come
