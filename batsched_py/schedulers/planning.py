"""Planning-based scheduling: at every event, plan when each waiting job will start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf, nextafter
from typing import Any

from batsched_py.errors import UsageError, parameter
from batsched_py.model.decisions import CallMeLater, Decision, Reject, Start
from batsched_py.model.explanation import Held
from batsched_py.model.job import Job, JobState
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import fixed_key
from batsched_py.model.timeline import Timeline
from batsched_py.schedulers.start_limits import Limits
from batsched_py.support.option_values import boolean, one_of

Plan = list[tuple[Job, float]]
"""Waiting jobs with their planned starts (seconds, inf = never), in the order of placement."""

ADMISSION = ("against_full_plan", "against_running_and_reserved")


class Planner:
    """Makes plans: running jobs first, then advance reservations, then the waiting jobs in order.

    A job with the field ``reserved_start`` or ``reserved_end`` (seconds, absolute) is a request
    for an advance reservation: it is admitted if its processors are free in the whole interval,
    and rejected otherwise; once admitted it never moves. All others are placed one by one as
    early as they fit, which may be before those already placed: implicit backfilling.

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
        self._full_admission = one_of("admission", admission, ADMISSION) == ADMISSION[0]
        self._reserved: dict[int, float] = {}  # start by the job's number
        self._seen = 0  # jobs below this number were looked at
        self._nb_processors = 0
        self.plan: Plan = []
        """The plan that is carried out."""

    def arrivals(
        self, now: float, queue: WaitingQueue, machine: Machine, order: Iterable[Job]
    ) -> Iterator[Decision]:
        """Admit or reject the reservations among the new jobs; ``order`` is the active one."""
        for job in queue.since(self._seen):
            self._seen = job.number + 1
            if job.estimate == inf:
                raise UsageError(
                    f"job {job.id} has no walltime: planning needs one, or "
                    f"{parameter('walltime')} exact"
                )
            start = _reserved_start(job)
            if start is not None:
                waiting = [other for other in order if other.number < job.number]
                if self._admits(job, start, self.base(now, queue, machine), waiting):
                    self._reserved[job.number] = start
                else:
                    yield Reject(job)

    def _admits(self, job: Job, start: float, line: Timeline, waiting: list[Job]) -> bool:
        end = start + job.estimate
        # Batsim's clock may be some microseconds behind the submission.
        if start < min(line.times[0], job.submit_time):
            return False
        if self._limits and self._limits.next_allowed(job, start, self._nb_processors) > start:
            return False
        if self._full_admission:
            self.place(line, self.movable(waiting))
        return line.least_free(max(start, line.times[0]), end) >= job.size

    def movable(self, jobs: Iterable[Job]) -> list[Job]:
        """Return the jobs that are no reservations."""
        reserved = self._reserved
        return [job for job in jobs if job.number not in reserved] if reserved else list(jobs)

    def base(self, now: float, queue: WaitingQueue, machine: Machine) -> Timeline:
        """Return what running jobs and reservations leave free."""
        self._nb_processors = machine.nb_processors
        line = machine.timeline(now)
        for job in queue if self._reserved else ():
            start = self._reserved.get(job.number)
            if start is not None:
                start = max(start, now)
                line.occupy(start, start + job.estimate, job.size)
        return line

    def place(self, line: Timeline, jobs: list[Job]) -> list[float]:
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

    def planned(self, line: Timeline, order: Iterable[Job]) -> Plan:
        """Return the plan of the jobs in ``order`` that are no reservations, in ``line``."""
        jobs = self.movable(order)
        return list(zip(jobs, self.place(line, jobs), strict=True))

    def carry_out(
        self, now: float, queue: WaitingQueue, machine: Machine, plan: Plan
    ) -> Iterator[Decision]:
        """Start what is planned for ``now``, and ask for a call where no event will come."""
        self.plan = plan
        reserved = self._reserved
        due = [job for job in queue if reserved.get(job.number, inf) <= now] if reserved else ()
        for job in due:
            if job.size <= machine.free:
                del self._reserved[job.number]
                yield Start(job)
        for job, start in plan:
            if start == now:
                if job.size <= machine.free:  # else it waits for the end of a job of no length
                    yield Start(job)
            elif start == inf and not machine.unavailable:
                yield Reject(job)  # the limits of the site never allow it
        if self._limits is not None or self._reserved or machine.unavailable:
            yield from self._wake_ups(now, machine, plan)

    def _wake_ups(self, now: float, machine: Machine, plan: Plan) -> Iterator[Decision]:
        """Reservations and limits begin and end without an event of the simulator."""
        soon = nextafter(now, inf)  # behind jobs that outlive their estimates: they have ends
        starts = [start for _, start in plan if soon < start < inf]
        starts += [start for start in self._reserved.values() if start > now]
        due = min(starts, default=inf)
        if due < inf and all(job.expected_end != due for job in machine.releases()):
            yield CallMeLater(due)

    def held(self, job: Job, now: float, machine: Machine, note: str) -> Held:
        """Say what holds ``job``, which still waits."""
        if job.number in self._reserved:
            start = self._reserved[job.number]
            return Held("plan", until=start, free=machine.free, note="an advance reservation")
        waiting = [entry for entry in self.plan if entry[0].state is JobState.WAITING]
        starts = {other.number: (place, start) for place, (other, start) in enumerate(waiting, 1)}
        place, start = starts.get(job.number, (None, inf))
        if self._limits and (rule := self._limits.why(job, now, machine.nb_processors)):
            return Held("limit", place, until=start, free=machine.free, note=f"the rule {rule}")
        return Held("plan", place, until=start, free=machine.free, note=note)


class Planning:
    """Plan all waiting jobs anew at each event, in one order; backfilling is implicit.

    ``order`` is ``fcfs``, ``sjf``, ``ljf`` or another one that does not change with the clock.
    ``backfilling=false`` never places a job before those placed already. ``limits`` are rules of
    the site for when jobs may start, see docs/policies.md, ``begins`` the weekday and time of day
    at time 0 for them. ``admission`` says what an advance reservation must not displace:
    ``against_full_plan`` (the literal reading), or ``against_running_and_reserved``.

    Source: A. Streit's thesis, 2003, sections 3.1-3.3.
    """

    def __init__(
        self,
        *,
        order: str = "fcfs",
        backfilling: bool = True,
        limits: list[dict[str, Any]] | None = None,
        begins: str = "mon 00:00",
        admission: str = "against_full_plan",
    ) -> None:
        self._order = order
        self._key = fixed_key(order)
        self._planner = Planner(
            backfilling=backfilling, limits=limits, begins=begins, admission=admission
        )
        self._replans = 0

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Plan, and start what is planned for now."""
        planner = self._planner
        ranked = queue.ranked(self._key)
        yield from planner.arrivals(now, queue, machine, ranked)
        self._replans += 1
        plan = planner.planned(planner.base(now, queue, machine), ranked)
        yield from planner.carry_out(now, queue, machine, plan)

    def statistics(self) -> dict[str, Any]:
        """Return the number of plans made."""
        return {"replans": self._replans}

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Machine) -> Held:
        """Say what holds ``job``, which still waits after the pass at ``now``."""
        return self._planner.held(job, now, machine, f"planned in the order {self._order}")


def _reserved_start(job: Job) -> float | None:
    """Return when the reservation that a job asks for begins, None if it asks for none.

    Raises :class:`UsageError` for what is no time, and for both a start and an end.
    """
    asked = {
        name: job.extra[name] for name in ("reserved_start", "reserved_end") if name in job.extra
    }
    for name, time in asked.items():
        if isinstance(time, bool) or not isinstance(time, float | int):
            raise UsageError(f"job {job.id}: {name} is {time!r}, expected a time in seconds")
    if len(asked) > 1:
        raise UsageError(f"job {job.id} has reserved_start and reserved_end: give one of them")
    if "reserved_end" in asked:
        return float(asked["reserved_end"]) - job.estimate
    return float(asked["reserved_start"]) if asked else None
