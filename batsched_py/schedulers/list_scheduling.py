"""Queues without reservations: any order, with front, first fit, best fit or next fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

from batsched_py.model.decisions import Decision, Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import Key, WaitingQueue
from batsched_py.model.queue.orders import (
    OrderName,
    RankedJobs,
    find_fixed_key,
    find_order,
    find_place,
)
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.options.option_values import one_of
from batsched_py.schedulers.permission import Permission


class ListScheduling(Permission):
    """Start jobs from a sorted queue, without reservations.

    All rules but ``take=front`` can starve wide jobs. ``order=narrowest`` with ``take=next_fit`` is
    NFIW (next fit, increasing width).

    Source: the queuing policies of A. Streit's thesis, 2003, section 3.2. It does not define next
    fit; the rule of that name for memory is used (D. E. Knuth, The Art of Computer Programming 1,
    2.5).

    Args:
        take: Which job starts next. ``front``: the first, and if it does not fit all jobs wait;
            ``first_fit``: the first that fits; ``best_fit``: the widest that fits; ``next_fit``:
            the first that fits behind the place of the last start. Allowed: one of front,
            first_fit, best_fit, next_fit.
    """

    def __init__(self, *, order: OrderName = "fcfs", take: str = "front") -> None:
        self._order = find_order(order)
        one_of("take", take, (*TAKE, "next_fit"))
        self._next_job: Take = NextFit(find_fixed_key(order)) if take == "next_fit" else TAKE[take]

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Start jobs by the rule ``take`` as long as one fits."""
        ranked = self._order.at(now, queue)
        if self._holds_back:
            ranked = self._permitted(now, ranked)
        while (job := self._next_job(ranked, machine.free)) and machine.has_room(job):
            yield Start(job)

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Machine) -> WaitingReason:
        """Return the reason why ``job`` still waits after the pass at ``now``."""
        if prohibition := self._find_prohibition(now, job):
            return prohibition
        ranked = self._permitted(now, self._order.at(now, queue))
        place = find_place(ranked, job)
        head = ranked.head
        if self._next_job is take_front and head is not None and job is not head:
            return WaitingReason("behind", place, by=head.id, free=machine.free)
        return WaitingReason("processors" if place > 1 else "head", place, free=machine.free)


def take_front(ranked: RankedJobs, free: int) -> Job | None:
    """Return the first job if it fits into ``free`` processors."""
    head = ranked.head
    return head if head and head.size <= free else None


def take_first_fit(ranked: RankedJobs, free: int) -> Job | None:
    """Return the first job that fits into ``free`` processors."""
    return ranked.first_to_backfill(0.0, free, inf, free)


def take_best_fit(ranked: RankedJobs, free: int) -> Job | None:
    """Return the widest job that fits into ``free`` processors, the first of equals."""
    widest = take_first_fit(ranked, free)
    if widest is None:  # after most events, and found at once
        return None
    for job in ranked:
        if widest.size < job.size <= free:
            widest = job
        if widest.size == free:
            break
    return widest


class NextFit:
    """Next fit: finds the first job that fits behind the last one taken, by ascending ``key``.

    The place of the last job is kept from pass to pass, even after it has left the queue.
    """

    def __init__(self, key: Key) -> None:
        self._key = key
        self._last = (-inf, -1)

    def __call__(self, ranked: RankedJobs, free: int) -> Job | None:
        """Return the next job that fits into ``free`` processors, and remember its place."""
        first = take_first_fit(ranked, free)
        if first is None:  # after most events, and found at once
            return None
        job = first
        if self._place(first) <= self._last:
            fitting = (job for job in ranked if job.size <= free)
            job = next((job for job in fitting if self._place(job) > self._last), first)
        self._last = self._place(job)
        return job

    def _place(self, job: Job) -> tuple[float, int]:
        return self._key(job), job.number


Take = Callable[[RankedJobs, int], Job | None]
"""(waiting jobs in order, free processors) -> the job that starts next, None if none."""
TAKE: dict[str, Take] = {
    "front": take_front,
    "first_fit": take_first_fit,
    "best_fit": take_best_fit,
}
