"""Queues without reservations: FCFS, and other orders with front, first fit or best fit."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from batsched_py.model.decisions import Decision, Start
from batsched_py.model.explanation import Held
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import RankedJobs
from batsched_py.model.queue.orders import order as order_named
from batsched_py.schedulers.backfilling import place_in
from batsched_py.support.option_values import one_of

TAKE = ("front", "first_fit", "best_fit")


class ListScheduling:
    """Start jobs from a sorted queue, without reservations: SJF, LJF, FFIA, widest first, ...

    ``order`` names the order of the queue. ``take`` says which job starts: ``front``, only the
    first, and if it does not fit everybody waits; ``first_fit``, the first that fits; ``best_fit``,
    the one that leaves the fewest processors free, the first of equals. The latter two can starve
    wide jobs.

    Source: the queuing policies of A. Streit's thesis, 2003, section 3.2.
    """

    def __init__(self, *, order: str = "fcfs", take: str = "front") -> None:
        self._order = order_named(order)
        self._take = one_of("take", take, TAKE)

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Start jobs as long as one can be taken out."""
        ranked = self._order.at(now, queue)
        while job := self._next(ranked, machine.free):
            yield Start(job)

    def _next(self, ranked: RankedJobs, free: int) -> Job | None:
        if self._take == "front":
            head = ranked.head
            return head if head and head.size <= free else None
        if self._take == "first_fit":
            return ranked.first_to_backfill(0.0, free, inf, free)
        fitting = (job for job in ranked if job.size <= free)
        return max(fitting, key=lambda job: job.size, default=None)

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Machine) -> Held:
        """Say what holds ``job``, which still waits after the pass at ``now``."""
        ranked = self._order.at(now, queue)
        place = place_in(ranked, job)
        head = ranked.head
        if self._take == "front" and head is not None and job is not head:
            return Held("behind", place, by=head.id, free=machine.free)
        return Held("processors" if place > 1 else "head", place, free=machine.free)


class Filler(ListScheduling):
    """Start whatever fits, in queue order; wide jobs may starve."""

    def __init__(self, *, order: str = "fcfs") -> None:
        super().__init__(order=order, take="first_fit")


class Fcfs(ListScheduling):
    """First come, first served: jobs start in submission order, nobody overtakes."""

    def __init__(self) -> None:
        super().__init__()
