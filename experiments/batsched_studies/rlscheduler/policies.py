"""The rules of RLScheduler: a first job that is chosen once, and orders with a wrong wait."""

from __future__ import annotations

from collections.abc import Iterator
from math import nextafter

import numpy as np

from batsched_py.model.decisions import Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.policy import Scheduler
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.job_arrays import Floats, JobArrays
from batsched_py.model.queue.orders import ClockOrder, Order, find_order
from batsched_py.schedulers.easy import Easy, shadow_time_and_extra_nodes
from batsched_py.schedulers.list_scheduling import ListScheduling

CHOICES = ("published", "waits until now", "anew at events", "anew at instants")
"""How the first job is chosen: with faults, with the right sign, without commitment."""
COMMITTED, NOW, ANEW, AT_INSTANTS = CHOICES
NO_START = -1
"""The start time of a waiting job in RLScheduler."""


def _wfp3(end: float, jobs: JobArrays) -> Floats:
    """Return the priorities of jobs whose waits last until ``end``."""
    return ((end - jobs.submit_time) / jobs.estimate) ** 3 * jobs.size


def _unicep(end: float, jobs: JobArrays) -> Floats:
    area: Floats = np.log2(jobs.size + 1e-15) * jobs.estimate
    return (end - jobs.submit_time + 1e-15) / area


# The orders wfp3 and unicep differ for a job of SDSC-SP2 with an estimate of -1 s: they use 1e-9 s.
HEURISTICS: dict[str, Order] = {
    "FCFS": find_order("fcfs"),
    "WFP3": ClockOrder(_wfp3),
    "UNICEP": ClockOrder(_unicep),
    "SJF": find_order("sjf"),
    "F1": find_order("f1"),
}
"""The orders of the heuristics, by the names of their columns."""
FAULTY = {
    "WFP3": ClockOrder(lambda now, jobs: _wfp3(NO_START, jobs)),
    "UNICEP": ClockOrder(lambda now, jobs: _unicep(NO_START, jobs)),
}
"""The orders with the sign of RLScheduler."""


class CommittedHead:
    """Choose the first job of ``order`` and start no other until it fits, but for backfilling.

    A job that ends before the shadow time may start meanwhile, in submission order. The shadow time
    is that of the moment of the choice, and there are no extra nodes.
    """

    def __init__(self, order: Order, *, backfills: bool) -> None:
        self._order, self._backfills = order, backfills
        self._head: Job | None = None
        self._horizon = 0.0

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Start]:
        """Start the chosen job and choose the next one while it fits, then backfill."""
        while self._head is None or self._head.size <= machine.free:
            if self._head is not None:
                yield Start(self._head)
            self._head = head = self._order.at(now, queue).head
            if head is None:
                return
            if head.size > machine.free:
                shadow_time, _ = shadow_time_and_extra_nodes(head, machine)
                self._horizon = nextafter(shadow_time, 0)  # jobs must end before, not at it
        while self._backfills:
            job = queue.first_to_backfill(now, machine.free, self._horizon, 0)
            if job is None:
                return
            yield Start(job)


def make_policy(heuristic: str, choice: str, *, backfills: bool) -> Scheduler:
    """Return a policy: one of :data:`HEURISTICS` with one of :data:`CHOICES`."""
    order = HEURISTICS[heuristic]
    if choice == COMMITTED:
        order = FAULTY.get(heuristic, order)
    if choice in (COMMITTED, NOW):
        return CommittedHead(order, backfills=backfills)
    if backfills:
        return Easy(order=order, backfill_order="fcfs")  # type: ignore[arg-type]  # not by name
    return ListScheduling(order=order)  # type: ignore[arg-type]
