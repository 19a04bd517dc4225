"""Time-of-day dynP: the hour and the day of the week choose the order."""

from __future__ import annotations

from collections.abc import Iterator

from batsched_py.model.decisions import Decision
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.schedulers.dynp.order_switching import KEYS, OrderSwitching
from batsched_py.schedulers.planning.planner import Admission, Begins, LimitRules, Planner
from batsched_py.schedulers.planning.week_windows import Windows


class DynpClock(OrderSwitching):
    """Plan with LJF at weekends, FCFS in prime time, and SJF at other times of weekdays.

    Prime time is Monday to Friday from ``prime_from`` to ``prime_to``. The order changes at the
    next event, not by itself.

    Source: A. Streit's thesis, 2003, sections 4.2 (the variant) and 3.1.1 (prime time, as at NASA
    Ames).

    Args:
        prime_from: Begin of prime time. Allowed: a time of day, such as 06:00.
        prime_to: End of prime time. Allowed: a time of day, such as 20:00.
    """

    def __init__(
        self,
        *,
        prime_from: str = "06:00",
        prime_to: str = "20:00",
        limits: LimitRules | None = None,
        begins: Begins | None = None,
        admission: Admission = "against_full_plan",
    ) -> None:
        super().__init__(Planner(limits=limits, begins=begins, admission=admission))
        self._weekend = Windows("sat,sun", "00:00", "24:00", "weekend")
        self._prime = Windows("mon-fri", prime_from, prime_to, "prime_from, prime_to")

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Choose the order, plan, and start the jobs that are planned for now."""
        planner, old = self.planner, self.active
        second = planner.find_clock(machine).time_of_week(now)
        self.active = "fcfs" if self._prime.seconds_left(second) else "sjf"
        if self._weekend.seconds_left(second):
            self.active = "ljf"
        yield from planner.admit_reservations(now, queue, machine, KEYS[self.active])
        if planner.count_movable(queue):
            self.counts.count_step(None, old, self.active)
        yield from self.plan_in_active_order(now, queue, machine)
