"""Making plans: when each waiting job will start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf, nextafter
from typing import Any

from batsched_py.model.decisions import CallMeLater, Decision, Reject, Start
from batsched_py.model.job import Job, JobState
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.timeline import Timeline, check_estimate
from batsched_py.model.waiting_reason import WaitingReason, Why
from batsched_py.schedulers.planning.advance_reservations import (
    AdvanceReservations,
    requested_start,
)
from batsched_py.schedulers.planning.start_limits import Limits
from batsched_py.support.option_values import boolean, one_of

Plan = list[tuple[Job, float]]
"""Waiting jobs with their planned starts (seconds, inf = never), in the order of placement."""


class Planner:
    """Makes plans: running jobs first, then advance reservations, then the waiting jobs in order.

    The jobs are placed one by one as early as they fit, which may be before those already placed:
    implicit backfilling.

    Source: A. Streit's thesis, 2003, sections 3.1.2 and 3.3.
    """

    def __init__(
        self,
        *,
        backfilling: bool = True,
        limits: list[dict[str, Any]] | None = None,
        begins: str = "mon 00:00",
        admission: str = "against_full_plan",
    ) -> None:
        self._backfilling = boolean("backfilling", backfilling)
        rules = Limits([] if limits is None else limits, begins)
        self._limits = None if limits is None else rules
        one_of("admission", admission, ("against_full_plan", "against_running_and_reserved"))
        self._full_admission = admission == "against_full_plan"
        self._reservations = AdvanceReservations()
        self.movable = self._reservations.movable
        self._seen = 0  # jobs below this number were looked at
        self._nb_processors = 0
        self.plan: Plan = []  # which is carried out

    def arrivals(
        self, now: float, queue: WaitingQueue, machine: Machine, order: Iterable[Job]
    ) -> Iterator[Decision]:
        """Admit or reject the reservations among the new jobs; ``order`` is the active one."""
        for job in queue.since(self._seen):
            self._seen = job.number + 1
            check_estimate(job, "planning needs")
            start = requested_start(job)
            if start is not None:
                if self._admits(job, start, self.base(now, queue, machine), order):
                    self._reservations.starts[job.number] = start
                else:
                    yield Reject(job)

    def _admits(self, job: Job, start: float, line: Timeline, order: Iterable[Job]) -> bool:
        begin, nb_processors = line.times[0], self._nb_processors
        if start < min(begin, job.submit_time):  # Batsim's clock may be some microseconds behind
            return False
        if self._limits and self._limits.next_allowed(job, start, nb_processors) > start:
            return False
        if self._full_admission:
            self._place(line, self.movable(other for other in order if other.number < job.number))
        return line.least_free(max(start, begin), start + job.estimate) >= job.size

    def base(self, now: float, queue: WaitingQueue, machine: Machine) -> Timeline:
        """Return what running jobs and reservations leave free."""
        self._nb_processors = machine.nb_processors
        line = machine.timeline(now)
        self._reservations.occupy(line, queue, now)
        return line

    def planned(self, line: Timeline, order: Iterable[Job]) -> Plan:
        """Return the plan of the jobs in ``order`` that are no reservations, in ``line``."""
        jobs = self.movable(order)
        return list(zip(jobs, self._place(line, jobs), strict=True))

    def _place(self, line: Timeline, jobs: list[Job]) -> list[float]:
        """Place the jobs in order into ``line`` and return their starts."""
        if self._limits is None and self._backfilling:
            place = line.place
            return [place(job.size, job.estimate) for job in jobs]
        starts = []
        after = -inf
        for job in jobs:
            start = line.earliest(job.size, job.estimate, after)
            while self._limits is not None and start < inf:
                allowed = self._limits.next_allowed(job, start, self._nb_processors)
                if allowed == start:
                    break
                start = line.earliest(job.size, job.estimate, allowed)
            if start < inf:
                line.occupy(start, start + job.estimate, job.size)
                if not self._backfilling:
                    after = start
            starts.append(start)
        return starts

    def carry_out(
        self, now: float, queue: WaitingQueue, machine: Machine, plan: Plan
    ) -> Iterator[Decision]:
        """Start what is planned for ``now``, and ask for a call where no event will come."""
        self.plan = plan
        for job in self._reservations.due(queue, now):
            if job.size <= machine.free:
                del self._reservations.starts[job.number]
                yield Start(job)
        for job, start in plan:
            if start == now:
                if job.size <= machine.free:  # else it waits for the end of a job of no length
                    yield Start(job)
            elif start == inf and not machine.unavailable:
                yield Reject(job)  # the limits of the site never allow it
        if self._limits is not None or self._reservations.starts or machine.unavailable:
            yield from self._wake_ups(now, machine, plan)

    def _wake_ups(self, now: float, machine: Machine, plan: Plan) -> Iterator[Decision]:
        """Reservations and limits begin and end without an event of the simulator."""
        soon = nextafter(now, inf)  # behind jobs that outlive their estimates: they have ends
        starts = [start for _, start in plan if soon < start < inf]
        starts += [start for start in self._reservations.starts.values() if start > now]
        due = min(starts, default=inf)
        if due < inf and all(job.expected_end != due for job in machine.releases()):
            yield CallMeLater(due)

    def held(self, job: Job, now: float, machine: Machine, note: str) -> WaitingReason:
        """Say what holds ``job``, which still waits."""
        reserved = self._reservations.starts.get(job.number)
        if reserved is not None:
            note = "an advance reservation"
            return WaitingReason("plan", until=reserved, free=machine.free, note=note)
        waiting = (entry for entry in self.plan if entry[0].state is JobState.WAITING)
        places = {other: (place, start) for place, (other, start) in enumerate(waiting, 1)}
        place, start = places.get(job, (None, inf))
        rule = self._limits.why(job, now, machine.nb_processors) if self._limits else ""
        why: Why = "limit" if rule else "plan"
        note = f"the rule {rule}" if rule else note
        return WaitingReason(why, place, until=start, free=machine.free, note=note)
