"""Holds jobs back from a policy while limits of users or planned outages forbid their start."""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf

from batsched_py.model.job import WAITING, Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.processors.sets import NO_PROCESSORS
from batsched_py.schedulers.job_limits import JobLimits
from batsched_py.workload.machine_description import MachineDescription, Outage, Partition


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
        later = (each for each in self._planned if each.begin >= time)
        return next((each.begin for each in later if each.processors & partition.processors), inf)


class Admission:
    """The jobs that limits and outages allow to start, in submission order.

    A policy sees the oldest waiting jobs that have room within the limits, see :class:`JobLimits`.
    A job that would run into a planned outage waits for its end, unless enough processors stay
    available; then it starts only on these.
    """

    def __init__(self, outages: Outages, described: MachineDescription, nb_queues: int) -> None:
        self.queues = [WaitingQueue() for _ in range(nb_queues)]
        """The jobs that a policy sees: of each partition, or of all."""
        self._held: dict[int, str] = {}
        """The reasons of jobs that wait for outages, by number."""
        self.limits = JobLimits(described)
        self._outages, self._partitions = outages, described.partitions
        self._leave: list[tuple[float, int, Job]] = []
        """A heap of the latest starts (seconds) of jobs that would run into an outage if later."""
        self._withheld: list[Job] = []
        """Jobs that the policy started where an outage is in the way, until the next pass."""
        self._come: list[tuple[float, int, Job]] = []
        """A heap of the ends (seconds) of the outages that jobs wait for."""

    def queue_of(self, job: Job) -> WaitingQueue:
        """Return the queue in which a job is, or would be."""
        return self.queues[job.partition if len(self.queues) > 1 else 0]

    def find_reason(self, job: Job) -> str | None:
        """Return why a job is held back, None if it is not."""
        return self._held.get(job.number) or self.limits.explain(job)

    def update(self, now: float, new: list[Job]) -> None:
        """Add new jobs and jobs that are no longer held back, and remove jobs that now are."""
        comes = self._come and self._come[0][0] <= now
        leaves = self._leave and self._leave[0][0] < now
        if not (new or comes or leaves or self._withheld or self.limits.changed):
            return
        for job in self._withheld:
            self._held.pop(job.number, None)
            if job.state is WAITING and self.limits.shows(job):
                self.queue_of(job).add(job)
        self._withheld = []
        returned = self.limits.show_more()
        while self._come and self._come[0][0] <= now:
            returned.append(heappop(self._come)[2])
        leaving = []
        while self._leave and self._leave[0][0] < now:
            leaving.append(heappop(self._leave)[2])
        for job in leaving:
            if job in self.queue_of(job) and not self._may_enter(job, now):
                self.queue_of(job).remove(job)
        for job in returned:
            self._enter(job, now)
        for job in new:
            self.limits.add(job)
            self._enter(job, now)

    def _enter(self, job: Job, now: float) -> None:
        """Put a job into its queue if limits and outages allow it."""
        self._held.pop(job.number, None)
        queue = self.queue_of(job)
        if self.limits.shows(job) and job not in queue and self._may_enter(job, now):
            queue.add(job)

    def _may_enter(self, job: Job, now: float) -> bool:
        """Tell whether outages leave enough processors for a job to start now; if not, hold it."""
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
        self._held[job.number] = f"it would run into an outage ({outage.reason})"

    def withhold(self, job: Job, outage: Outage) -> None:
        """Hold a job back until the next pass, since an outage would hit the free processors.

        The policy has started it.
        """
        self.queue_of(job).remove(job)
        self._hold(job, outage)
        self._withheld.append(job)

    def start(self, job: Job) -> list[Job]:
        """Remove a job that starts; return the jobs that leave, since it takes their room."""
        self.queue_of(job).remove(job)
        hidden = [other for other in self.limits.start(job) if other in self.queue_of(other)]
        for other in hidden:
            self.queue_of(other).remove(other)
        return hidden

    def forget(self, job: Job) -> None:
        """Remove a job that was withdrawn or rejected."""
        self.queue_of(job).discard(job)
        self._held.pop(job.number, None)
        self.limits.remove(job)
