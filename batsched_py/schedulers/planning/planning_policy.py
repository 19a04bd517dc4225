"""Planning-based scheduling: at every event, plan when each waiting job will start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from batsched_py.model.decisions import Decision
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import FixedOrderName, find_fixed_key
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.schedulers.planning.planner import Admission, Begins, LimitRules, Planner


class Planning:
    """Plan the start of every waiting job anew at each event, in one order.

    Each job is placed as early as it fits, so backfilling is implicit. Jobs may ask for an advance
    reservation. Each job needs a walltime or an estimate.

    Source: A. Streit's thesis, 2003, sections 3.1-3.3.

    Args:
        backfilling: Whether a job may be planned before jobs that come earlier in the order.
    """

    needs_estimates = True
    reads_reservations = True

    def __init__(
        self,
        *,
        order: FixedOrderName = "fcfs",
        backfilling: bool = True,
        limits: LimitRules | None = None,
        begins: Begins | None = None,
        admission: Admission = "against_full_plan",
    ) -> None:
        self._order = order
        self._key = find_fixed_key(order)
        self.planner = Planner(
            backfilling=backfilling, limits=limits, begins=begins, admission=admission
        )
        self._replans = 0

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Plan, and start the jobs that are planned for now."""
        planner = self.planner
        yield from planner.admit_reservations(now, queue, machine, self._key)
        self._replans += 1
        waiting = planner.sort_jobs(queue, self._key)
        plan = planner.make_plan(planner.make_base(now, queue, machine), waiting, now_only=True)
        yield from planner.carry_out(now, queue, machine, plan)

    def job_withdrawn(self, now: float, job: Job) -> None:
        """Free the advance reservation of a withdrawn job."""
        self.planner.forget(job)

    def statistics(self) -> dict[str, Any]:
        """Return the number of plans made."""
        return {"replans": self._replans}

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Machine) -> WaitingReason:
        """Return the reason why ``job`` still waits after the pass at ``now``."""
        return self.planner.held(job, now, machine, f"planned in the order {self._order}")
