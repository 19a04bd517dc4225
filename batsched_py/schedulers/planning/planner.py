"""The planner: it plans a start for each waiting job, and carries out the plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from math import inf, nextafter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from batsched_py.model.decisions import CallMeLater, Decision, Reject, Start
from batsched_py.model.job import Job, JobState
from batsched_py.model.machine import Machine
from batsched_py.model.queue import Key, WaitingQueue
from batsched_py.model.timeline import MANY, Timeline, check_estimate
from batsched_py.model.waiting_reason import WaitingReason, Why
from batsched_py.options.option_values import boolean, one_of
from batsched_py.schedulers.planning.advance_reservations import (
    AdvanceReservations,
    find_requested_start,
)
from batsched_py.schedulers.planning.plan import Plan, PlanOfRows
from batsched_py.schedulers.planning.start_limits import Limits
from batsched_py.schedulers.planning.week_windows import parse_begins
from batsched_py.units import LATEST_TIME

if TYPE_CHECKING:
    from batsched_py.model.queue.job_arrays import JobRows
    from batsched_py.workload.logs.clock import Clock


LimitRules = Annotated[
    list[dict[str, Any]],
    Meta(
        title="Rules that forbid some jobs to start at some times of the week (null: none).",
        description="a JSON list of objects with days, from, to, max_size, max_share, max_estimate",
    ),
]
"""The types of options of planning policies, with their help."""
Begins = Annotated[
    str,
    Meta(
        title="Weekday and time of day at second 0 (null: those of the log, mon 00:00 if unknown).",
        description="such as mon 00:00",
    ),
]
Admission = Annotated[
    Literal["against_full_plan", "against_running_and_reserved"],
    Meta(title="Jobs that a new advance reservation must not displace."),
]


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
        limits: LimitRules | None = None,
        begins: Begins | None = None,
        admission: Admission = "against_full_plan",
    ) -> None:
        self._backfilling = boolean("backfilling", backfilling)
        self._limits = None if limits is None else Limits(limits)
        self._clock = None if begins is None else parse_begins(begins)
        one_of("admission", admission, Admission)
        self._full_admission = admission == "against_full_plan"
        self._all_alike = self._backfilling and self._limits is None
        """Whether each job is placed as early as it fits, without other rules."""
        self._reservations = AdvanceReservations()
        self._seen = 0  # the number of arrivals handled so far
        self._nb_processors = 0
        self.plan = Plan([], [])  # which is carried out

    def admit_reservations(
        self, now: float, queue: WaitingQueue, machine: Machine, key: Key
    ) -> Iterator[Decision]:
        """Admit or reject the reservations of new jobs; ``key`` sorts jobs in the active order."""
        news = queue.since(self._seen)
        self._seen = queue.nb_arrived
        for job in news:
            check_estimate(job, "planning needs")
            start = find_requested_start(job)
            if start is not None:
                if self._admits(job, start, self.make_base(now, queue, machine), queue.ranked(key)):
                    self._reservations.starts[job.number] = start
                else:
                    yield Reject(job)

    def _admits(self, job: Job, start: float, line: Timeline, order: Iterable[Job]) -> bool:
        begin, nb_processors = line.times[0], self._nb_processors
        if start < min(begin, job.submit_time):  # Batsim's clock may be some microseconds behind
            return False
        if self._limits and self._limits.find_next_allowed(job, start, nb_processors) > start:
            return False
        if self._full_admission:
            before = self.find_movable(other for other in order if other.number < job.number)
            self._place_one_by_one(line, before)
        return line.least_free(max(start, begin), start + job.estimate) >= job.size

    def forget(self, job: Job) -> None:
        """Free the advance reservation of a job that was withdrawn, if it has one."""
        self._reservations.starts.pop(job.number, None)

    def find_clock(self, machine: Machine) -> Clock:
        """Return the clock of the option ``begins``, by default that of the machine."""
        return machine.clock if self._clock is None else self._clock

    def make_base(self, now: float, queue: WaitingQueue, machine: Machine) -> Timeline:
        """Return the timeline of the processors that running jobs and reservations leave free."""
        self._nb_processors = machine.nb_processors
        if self._limits is not None:
            self._limits.clock = self.find_clock(machine)
        line = Timeline.of(machine, now)
        self._reservations.occupy(line, queue, now)
        return line

    def find_movable(self, jobs: Iterable[Job]) -> list[Job]:
        """Return those of the ``jobs`` that have no reservation, so that a plan may move them."""
        return self._reservations.find_movable(jobs)

    def count_movable(self, queue: WaitingQueue) -> int:
        """Return how many waiting jobs have no reservation."""
        return len(self.find_movable(queue)) if self._reservations.starts else len(queue)

    def sort_jobs(self, queue: WaitingQueue, key: Key) -> list[Job] | JobRows:
        """Return the waiting jobs without a reservation by ascending ``key``; as arrays if many."""
        if len(queue) < MANY or not self._all_alike:
            return self.find_movable(queue.ranked(key))
        from batsched_py.model.queue.job_arrays import JobArrays

        rows = queue.view(JobArrays).in_order(key)
        reserved = self._reservations.starts
        if not reserved:
            return rows
        return rows.select([at for at, job in enumerate(rows.jobs()) if job.number not in reserved])

    def make_plan(
        self, line: Timeline, jobs: list[Job] | JobRows, *, now_only: bool = False
    ) -> Plan:
        """Return the plan of the jobs in their order, around the reservations in ``line``.

        ``line`` is a :meth:`make_base`, and stays unchanged. ``now_only``: the starts after now are
        planned only when they are needed.
        """
        if isinstance(jobs, list) and len(jobs) >= MANY and self._all_alike:
            from batsched_py.model.queue.job_arrays import JobRows

            jobs = JobRows.of(jobs)
        if not isinstance(jobs, list):
            from batsched_py.model.compiled.switch import placement

            arrays = line, jobs.size, jobs.estimate
            if now_only and self._decides_now_only(line, jobs.estimate.sum()):
                whole = partial(placement.place_all, *arrays)
                return PlanOfRows(jobs, whole, placement.find_starting(*arrays))
            return PlanOfRows(jobs, placement.place_all(*arrays))
        if not self._all_alike:
            return Plan(jobs, self._place_one_by_one(line.copy(), jobs))
        sizes, estimates = [job.size for job in jobs], [job.estimate for job in jobs]
        if now_only and self._decides_now_only(line, sum(estimates)):
            starting = line.copy().find_starting(sizes, estimates)
            return Plan(jobs, lambda: line.copy().place_all(sizes, estimates), starting)
        return Plan(jobs, line.copy().place_all(sizes, estimates))

    def make_plans_below(
        self, line: Timeline, orders: dict[str, list[Job] | JobRows], plan: Plan
    ) -> dict[str, Plan]:
        """Return plans of the same jobs as in ``plan`` in other ``orders``, by their names.

        A plan may be missing: its response times, weighted by processors, add up to more.
        """
        most = inf
        if isinstance(plan, PlanOfRows) and self._decides_now_only(line, plan.sum_estimates()):
            most = plan.sum_waits(line.times[0])
        plans = {}
        for name, jobs in orders.items():
            if most == inf or isinstance(jobs, list):
                plans[name] = self.make_plan(line, jobs)
                continue
            from batsched_py.model.compiled.switch import placement

            starts = placement.place_below(line, jobs.size, jobs.estimate, most)
            if starts is not None:
                plans[name] = PlanOfRows(jobs, starts)
        return plans

    def _decides_now_only(self, line: Timeline, total_estimate: float) -> bool:
        """Tell whether decisions need only the jobs that start now: no wake-ups, no rejections."""
        return (
            self._all_alike
            and not self._reservations.starts
            and line.free[-1] == self._nb_processors
            and line.times[-1] + total_estimate < inf
        )

    def _place_one_by_one(self, line: Timeline, jobs: list[Job]) -> list[float]:
        """Place the jobs in order into ``line`` and return their starts."""
        starts = []
        after = -inf
        for job in jobs:
            start = line.earliest(job.size, job.estimate, after)
            while self._limits is not None and start < inf:
                allowed = self._limits.find_next_allowed(job, start, self._nb_processors)
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
        """Start the jobs planned for ``now``, and ask for a call if the next start needs one."""
        self.plan = plan
        for job in self._reservations.find_due(queue, now):
            if job.size <= machine.free:
                del self._reservations.starts[job.number]
                yield Start(job)
        for job, start in plan.list_now_or_never(now):
            if start == now:
                if job.size <= machine.free:  # else it waits for the end of a zero-length job
                    yield Start(job)
            elif start == inf and not machine.unavailable:
                yield Reject(job)  # the limits of the site never allow it
        if self._limits is not None or self._reservations.starts or machine.unavailable:
            yield from self._wake_ups(now, machine, plan)

    def _wake_ups(self, now: float, machine: Machine, plan: Plan) -> Iterator[Decision]:
        """Ask for a call at the next planned start if no job is expected to end then."""
        soon = nextafter(now, inf)  # behind jobs that outlive their estimates: they have ends
        begins = [start for start in self._reservations.starts.values() if start > now]
        due = min(plan.find_next_start(soon), min(begins, default=inf))
        if due <= LATEST_TIME and all(job.expected_end != due for job in machine.releases()):
            yield CallMeLater(due)

    def held(self, job: Job, now: float, machine: Machine, note: str) -> WaitingReason:
        """Return the reason why ``job`` still waits, with ``note`` if it is only planned later."""
        reserved = self._reservations.starts.get(job.number)
        if reserved is not None:
            note = "an advance reservation"
            return WaitingReason("plan", until=reserved, free=machine.free, note=note)
        waiting = (entry for entry in self.plan if entry[0].state is JobState.WAITING)
        places = {other: (place, start) for place, (other, start) in enumerate(waiting, 1)}
        place, start = places.get(job, (None, inf))
        rule = self._limits.find_rule(job, now, machine.nb_processors) if self._limits else ""
        why: Why = "limit" if rule else "plan"
        note = f"the rule {rule}" if rule else note
        return WaitingReason(why, place, until=start, free=machine.free, note=note)
