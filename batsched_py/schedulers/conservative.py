"""Conservative backfilling: every waiting job has a reservation, and none ever moves back."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from batsched_py.model.compiled.switch import placement
from batsched_py.model.decisions import CallMeLater, Decision, Start
from batsched_py.model.job import Job, JobState
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.job_arrays import JobArrays, JobRows, ValuesByNumber
from batsched_py.model.queue.orders import FixedOrderName, find_fixed_key
from batsched_py.model.timeline import Timeline, check_estimate
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.schedulers.permission import Permission
from batsched_py.units import LATE, LATEST_TIME

if TYPE_CHECKING:
    from batsched_py.model.compiled.switch import Line


class Conservative(Permission):
    """Give every job a reservation, and let a job overtake others only if it delays none of them.

    A job gets a reservation when it is submitted: the earliest start that delays no earlier
    reservation. When a job ends or is withdrawn, the schedule is compressed: each reservation, in
    the order ``order``, is made anew as early as it fits. A reservation never moves back, unless
    jobs outlive their estimates, processors fail, or processors must be woken for a job: the plan
    counts sleepers as ready. Each job needs a walltime or an estimate.

    Source: A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001, section 2.
    """

    needs_estimates = True

    def __init__(self, *, order: FixedOrderName = "fcfs") -> None:
        self._key = find_fixed_key(order)
        self._line: Line = Timeline(0, 0.0)
        self._starts = ValuesByNumber(inf)  # reservations, inf: none
        self._running: list[Job] = []
        self._broken = True  # no promise holds before the first pass
        self._has_room = False  # a job has left a reservation to the others
        self._are_late = False  # jobs will begin and end later than was planned
        self._seen = self._nb_ended = 0

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Update the reservations, and start the jobs whose reservation begins by now."""
        self._has_room |= self._take_ends_into_account(now, machine)
        was_broken, self._broken = self._broken, _breaks_promises(now, machine)
        if self._broken or was_broken:
            self._begin_anew(now, queue, machine)
        else:
            self._update(now, queue)
        if not queue:
            return
        columns = queue.view(JobArrays)
        starts = self._starts[columns.number]
        left = columns.number[(starts < inf) & ~columns.waiting]  # some may have come back
        if len(left) and not np.isin(left, columns.number[columns.waiting]).all():
            self._begin_anew(now, queue, machine)  # some wait for an outage
            starts = self._starts[columns.number]
        first = float(starts.min())
        while first <= now:
            # a job that came back into the queue has a row of its own where it was
            due = (columns.waiting & (self._starts[columns.number] <= now)).nonzero()[0]
            yield from self._start_due(now, [columns.jobs[row] for row in due], machine)
            again = self._has_room or self._are_late  # others may take the places of some
            if self._are_late:
                self._postpone(now, queue, machine)
            if self._has_room:
                self._update(now, queue)
            first = float(self._starts[columns.number].min())
            if not again:
                break
        yield from self._wake_up(now, first)

    def job_withdrawn(self, now: float, job: Job) -> None:
        """Leave the reservation of a withdrawn job to the others."""
        self._take_back(now, job)

    def _start_due(self, now: float, due: list[Job], machine: Machine) -> Iterator[Decision]:
        """Start the jobs whose reservation begins by ``now``, as far as they fit."""
        for job in sorted(due, key=lambda job: (self._key(job), job.number)):
            if not self.may_start(now, job):
                self._take_back(now, job)
            elif job.state is JobState.WAITING and job.size <= machine.free:
                start = float(self._starts[job.number])
                self._starts[job.number] = inf
                self._running.append(job)
                yield Start(job)
                if job.state is JobState.WAITING:  # it may not start before an outage
                    self._running.pop()
                    self._broken = True
                elif job.start_time > now:  # its processors are woken
                    self._are_late = True
                elif start < now:  # Batsim's clock has six decimals
                    self._line.occupy(start + job.estimate, job.expected_end, job.size)

    def _wake_up(self, now: float, due: float) -> Iterator[Decision]:
        """Ask for a call at ``due``, the first reservation, if no job is expected to end then."""
        if self._broken or not now < due <= LATEST_TIME:
            return
        if all(job.expected_end != due for job in self._running):
            yield CallMeLater(due)

    def _take_ends_into_account(self, now: float, machine: Machine) -> bool:
        """Release the rest of the time of jobs that ended early; return whether any job ended."""
        if machine.nb_ended == self._nb_ended:
            return False
        self._nb_ended = machine.nb_ended
        self._line.advance(now)
        running = []
        for job in self._running:
            if job.state is JobState.RUNNING:
                running.append(job)
            else:
                self._line.release(now, job.expected_end, job.size)
        ended = len(running) < len(self._running)
        self._running = running
        return ended

    def _begin_anew(self, now: float, queue: WaitingQueue, machine: Machine) -> None:
        self._line = Timeline.of(machine, now)
        self._starts.clear()
        self._seen, self._has_room = 0, False
        self._running = list(machine.releases())
        self._reserve_for_new_jobs(now, queue)

    def _postpone(self, now: float, queue: WaitingQueue, machine: Machine) -> None:
        """Make all reservations anew in the order of their starts, since jobs begin late.

        Each moves back at most as much as these do.
        """
        self._are_late = False
        starts = {job: float(self._starts[job.number]) for job in queue}
        jobs = [job for job in sorted(starts, key=starts.__getitem__) if starts[job] < inf]
        self._line = Timeline.of(machine, now)
        self._starts.clear()
        if jobs:
            self._place(JobRows.of(jobs))

    def _update(self, now: float, queue: WaitingQueue) -> None:
        """Compress the schedule if there is room, and add the jobs without a reservation."""
        if self._holds_back:
            for job in queue:
                if not self.may_start(now, job):
                    self._take_back(now, job)
        if self._has_room and queue:
            rows = queue.view(JobArrays).in_order(self._key)
            starts = self._starts[rows.number]
            self._place(rows.select(((starts > now) & (starts < inf)).nonzero()[0]))
        self._has_room = False
        self._reserve_for_new_jobs(now, queue)

    def _take_back(self, now: float, job: Job) -> None:
        """Free the reservation of a job, if it has one."""
        start = float(self._starts[job.number])
        if start < inf:
            self._line.advance(now)
            self._line.release(start, start + job.estimate, job.size)
            self._starts[job.number] = inf
            self._has_room = True

    def _reserve_for_new_jobs(self, now: float, queue: WaitingQueue) -> None:
        news = queue.since(self._seen)
        self._seen = queue.nb_arrived
        for job in news:
            check_estimate(job, "reservations need")
        if self._holds_back:
            without = (job for job in queue if self._starts[job.number] == inf)
            news = [job for job in without if self.may_start(now, job)]
        if news:
            self._line.advance(now)
            self._place(JobRows.of(news))

    def _place(self, jobs: JobRows) -> None:
        """Take the jobs' reservations back, where they have any, and make them anew."""
        number = jobs.number
        arrays = jobs.size, jobs.estimate, self._starts[number]
        self._line, self._starts[number] = placement.replace_all(self._line, *arrays)

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Machine) -> WaitingReason:
        """Return the reason why ``job`` still waits after the pass at ``now``."""
        if prohibition := self._find_prohibition(now, job):
            return prohibition
        start = float(self._starts[job.number])
        place = 1 + int((self._starts[queue.view(JobArrays).number] < start).sum())
        return WaitingReason(
            "plan", place, until=start, free=machine.free, note="its own reservation"
        )


def _breaks_promises(now: float, machine: Machine) -> bool:
    """Tell whether reservations may break: outages, shared processors, or a late job."""
    releases = machine.expected_releases()
    late = bool(releases) and releases[0][0] < now - LATE
    return late or machine.shared or bool(machine.unavailable)
