"""dynP with bounds, its first version: the mean estimate of the waiting jobs chooses the order."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from batsched_py.model.decisions import Decision
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.options.option_values import number
from batsched_py.schedulers.dynp.order_switching import KEYS, OrderSwitching
from batsched_py.schedulers.planning.planner import Admission, Begins, LimitRules, Planner


class DynpBounds(OrderSwitching):
    """Plan with SJF, FCFS or LJF, chosen by the mean estimate of the waiting jobs.

    The order is SJF for a mean up to ``lower``, FCFS up to ``upper``, and LJF above. If no job
    waits, the order stays. This is the first version of dynP.

    Source: A. Streit's thesis, 2003, section 4.2, equation 4.1.

    Args:
        lower: Longest mean estimate for SJF, in seconds. Allowed: a number, at least 0.
        upper: Longest mean estimate for FCFS, in seconds (null: never LJF). Allowed: a number, at
            least ``lower``.
    """

    def __init__(
        self,
        *,
        lower: float = 7200.0,
        upper: float | None = 9000.0,
        limits: LimitRules | None = None,
        begins: Begins | None = None,
        admission: Admission = "against_full_plan",
    ) -> None:
        super().__init__(Planner(limits=limits, begins=begins, admission=admission))
        self._lower = number("lower", lower, 0)
        self._upper = inf if upper is None else number("upper", upper, self._lower)

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Choose the order, plan, and start the jobs that are planned for now."""
        planner = self.planner
        yield from planner.admit_reservations(now, queue, machine, KEYS[self.active])
        if waiting := planner.find_movable(queue):
            old, average = self.active, sum(job.estimate for job in waiting) / len(waiting)
            self.active = "fcfs" if average <= self._upper else "ljf"
            if average <= self._lower:
                self.active = "sjf"
            self.counts.count_step(None, old, self.active)
        yield from self.plan_in_active_order(now, queue, machine)
