"""Queues without reservations: any order, with front, first fit or best fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

from batsched_py.model.decisions import Decision, Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import RankedJobs, order_named, place_in
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.support.option_values import one_of


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
        self._next_job = TAKE[one_of("take", take, TAKE)]

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Start jobs as long as one can be taken out."""
        ranked = self._order.at(now, queue)
        while job := self._next_job(ranked, machine.free):
            yield Start(job)

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Machine) -> WaitingReason:
        """Say what holds ``job``, which still waits after the pass at ``now``."""
        ranked = self._order.at(now, queue)
        place = place_in(ranked, job)
        head = ranked.head
        if self._next_job is front and head is not None and job is not head:
            return WaitingReason("behind", place, by=head.id, free=machine.free)
        return WaitingReason("processors" if place > 1 else "head", place, free=machine.free)


def front(ranked: RankedJobs, free: int) -> Job | None:
    """Return the first job if it fits into ``free`` processors."""
    head = ranked.head
    return head if head and head.size <= free else None


def first_fit(ranked: RankedJobs, free: int) -> Job | None:
    """Return the first job that fits."""
    return ranked.first_to_backfill(0.0, free, inf, free)


def best_fit(ranked: RankedJobs, free: int) -> Job | None:
    """Return the widest job that fits, the first of equals."""
    fitting = (job for job in ranked if job.size <= free)
    return max(fitting, key=lambda job: job.size, default=None)


TAKE: dict[str, Callable[[RankedJobs, int], Job | None]] = {
    "front": front,
    "first_fit": first_fit,
    "best_fit": best_fit,
}
