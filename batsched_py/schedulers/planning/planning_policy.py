"""Planning-based scheduling: at every event, plan when each waiting job will start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from batsched_py.model.decisions import Decision
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import find_fixed_key
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.schedulers.planning.planner import Planner


class Planning:
    """Planning: plan all waiting jobs anew at each event, in one order; backfilling is implicit.

    ``order`` is ``fcfs``, ``sjf``, ``ljf`` or another one that does not change with the clock.
    ``backfilling=false`` never places a job before those placed already. ``limits`` are rules of
    the site for when jobs may start, ``begins`` the weekday and time of day
    at time 0 for them. ``admission`` says what an advance reservation must not displace:
    ``against_full_plan`` (as the thesis says), or ``against_running_and_reserved``.

    Source: A. Streit's thesis, 2003, sections 3.1-3.3.
    """

    needs_estimates = True
    reads_reservations = True

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

    def statistics(self) -> dict[str, Any]:
        """Return the number of plans made."""
        return {"replans": self._replans}

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Machine) -> WaitingReason:
        """Return the reason why ``job`` still waits after the pass at ``now``."""
        return self.planner.held(job, now, machine, f"planned in the order {self._order}")
