"""Backfilling behind a reservation for the head of the queue: the base of EASY and its variants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from math import inf
from typing import TYPE_CHECKING

from batsched_py.errors import InvariantError
from batsched_py.model.decisions import Decision, Start
from batsched_py.model.job import Job
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import Order, RankedJobs, find_place, find_two_orders
from batsched_py.model.waiting_reason import WaitingReason, Why
from batsched_py.processors.sets import NO_PROCESSORS
from batsched_py.schedulers.permission import Permission, PermittedJobs
from batsched_py.units import LATE

if TYPE_CHECKING:
    from batsched_py.model.nodes import NodeRoom
    from batsched_py.model.site import Site

Reservation = Callable[[Job, "Site"], tuple[float, int]]
"""(head, machine) -> shadow time (seconds: by when later jobs must end) and extra nodes (how many
processors they may keep longer). It is called once a pass, if the head does not fit."""


class Backfilling(Permission):
    """Start jobs in ``order``; where the first does not fit, backfill in ``backfill_order``.

    A base class of policies such as :class:`Easy`. An order is a name, or a :class:`FixedOrder` or
    :class:`ClockOrder`; ``backfill_order`` is by default the same. ``reservation`` is a function of
    the first job and the machine. It returns when later jobs must have ended (seconds), and how
    many processors they may keep longer. :func:`shadow_time_and_extra_nodes` is EASY's. Raises
    :class:`UsageError` for unknown names.

    Example: EASY that prefers wide jobs.

        >>> policy = Backfilling(shadow_time_and_extra_nodes, FixedOrder(lambda job: -job.size))

    A subclass may override :meth:`may_start`, and have the methods of :class:`InformedScheduler`.
    """

    def __init__(
        self,
        reservation: Reservation,
        order: str | Order = "fcfs",
        backfill_order: str | Order | None = None,
    ) -> None:
        self.order, self.backfill_order = find_two_orders(order, backfill_order)
        self._reservation = reservation
        self.head: Job | None = None  # it has the reservation since the last pass
        self.shadow_time, self.extra_nodes = inf, 0
        self._unavailable = NO_PROCESSORS
        self._refused = 0, -1, inf  # the state in which no job could be backfilled on nodes
        self._most, self._is_through = inf, False  # jobs to backfill in this pass; whether they are

    def schedule(self, now: float, queue: WaitingQueue, machine: Site) -> Iterator[Decision]:
        """Start the head while it fits, then backfill behind it."""
        if queue.head is None:  # after many events: no job waits
            self.head = None
            return
        ranked = self.order.at(now, queue)
        if self._holds_back:
            ranked = self._permitted(now, ranked)
        overtaken = False
        while (head := ranked.head) and head.size <= machine.free:
            start = self._start(head, now, machine)
            if start is None:
                break
            overtaken = True  # another job may now be ahead of the one with the reservation
            yield start
        if not head:
            self.head, self.shadow_time = None, inf
            return
        shadow_time, self.extra_nodes = self._reservation(head, machine)
        if shadow_time > self.shadow_time and head is self.head and not overtaken:
            self._check_promise(head, shadow_time, now, machine)
        self.head, self.shadow_time, self._unavailable = head, shadow_time, machine.unavailable
        if not machine.free:
            return
        if self.backfill_order is not self.order:
            ranked = self._permitted(now, self.backfill_order.at(now, queue))
        # Where nothing is known of the ends, nothing ends in time: only extra nodes are safe. A
        # head that must wait for a repair is delayed by nobody.
        ends_known = shadow_time < inf or head.size > machine.nb_available
        horizon = shadow_time if ends_known else -inf
        left = self._most
        while left and machine.free and (start := self._next(ranked, now, horizon, queue, machine)):
            left -= 1
            yield start
        self._is_through = not left

    def _check_promise(self, head: Job, shadow_time: float, now: float, machine: Site) -> None:
        """Raise :class:`InvariantError` if the head's shadow time is now later than before.

        Only jobs that outlive their estimates may delay it, and that nobody woke what it needs.
        """
        promised, sleepers = self.shadow_time, machine.sleepers
        slip = 0.0 if sleepers is None else sleepers.longest_way_back + LATE
        delayed = shadow_time > promised + slip and promised > now
        if delayed and not machine.shared and machine.unavailable == self._unavailable:
            raise InvariantError(
                f"{type(self).__name__} delayed the head of the queue: job {head.id} was to start "
                f"by {promised}, now by {shadow_time}"
            )

    def _start(self, head: Job, now: float, machine: Site) -> Start | None:
        """Return the start of the first job, for which enough is free; None if it must wait."""
        sleeps = machine.sleepers is not None
        if sleeps and has_room_before(machine.begins(head.size), head.size, now, machine):
            return None
        return Start(head) if machine.has_room(head) else None

    def _next(
        self,
        ranked: RankedJobs,
        now: float,
        horizon: float,
        queue: WaitingQueue,
        machine: Site,
    ) -> Start | None:
        """Return the next start behind the head: of a job that ends by ``horizon`` (seconds) or
        needs but extra nodes, None if there is none.
        """
        if machine.sleepers is not None and machine.begins(machine.free) > now:
            head, extra, begins = self.head, self.extra_nodes, cache(machine.begins)
            ranked = PermittedJobs(  # the head waits, though it may fit
                ranked,
                lambda job: (
                    job is not head
                    and (job.size <= extra or begins(job.size) + job.estimate <= horizon)
                ),
            )
        if machine.nodes is not None:
            return self._next_on_nodes(ranked, now, queue, machine.nodes, machine)
        job = self._choose(ranked, now, horizon, machine)
        if job is None:
            return None
        begin = now if machine.sleepers is None else machine.begins(job.size)
        if begin + job.estimate > horizon:
            self.extra_nodes -= job.size
        return Start(job)

    def _next_on_nodes(
        self, ranked: RankedJobs, now: float, queue: WaitingQueue, nodes: NodeRoom, machine: Site
    ) -> Start | None:
        """Return the next start of a job that ends by the shadow time or needs no planned nodes.

        If none could start, and no nodes were freed since, only newer jobs can.
        """
        horizon = self.shadow_time if self.shadow_time < inf else -inf  # nothing ends in time

        def may_start(job: Job) -> bool:
            in_time = now + job.estimate <= horizon
            return job is not self.head and nodes.find(job, unplanned=not in_time)

        seen, nb_changes, by = self._refused
        is_same = nodes.nb_changes == nb_changes and horizon <= by and not self._holds_back
        job = None
        if not is_same or any(may_start(job) for job in queue.since(seen)):
            job = self._choose(PermittedJobs(ranked, may_start), now, inf, machine)
        if job is None:
            self._refused = queue.nb_arrived, nodes.nb_changes, horizon
            return None
        return Start(job, machine.choose_for(job))

    def _choose(self, ranked: RankedJobs, now: float, horizon: float, machine: Site) -> Job | None:
        """Return one of the jobs that may be backfilled: the first, if no subclass overrides it."""
        return ranked.first_to_backfill(now, machine.free, horizon, self.extra_nodes)

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Site) -> WaitingReason:
        """Return the reason why ``job`` still waits after the pass at ``now``."""
        if prohibition := self._find_prohibition(now, job):
            return prohibition
        ranked = self._permitted(now, self.order.at(now, queue))
        place, free = find_place(ranked, job), machine.free
        sleeps = machine.sleepers is not None and job.size <= free
        has_room, note = machine.has_room(job), ""
        if job.size <= free and not has_room:
            note = "no nodes have room for its cores, GPUs and memory"
        if self.head is None or job is self.head:
            note = note or ("waiting is sooner than waking processors" if sleeps else "")
            return WaitingReason("head", place, until=self.shadow_time, free=free, note=note)
        if has_room and self._is_through:
            note = f"the policy backfills at most {self._most} jobs now"
            return WaitingReason("limit", place, note=note)
        why: Why = "reservation" if has_room else "processors"
        lasts = machine.begins(job.size) - now + job.estimate if sleeps else None
        by, until, extra = self.head.id, self.shadow_time, self.extra_nodes
        return WaitingReason(why, place, by, until, free, extra, lasts=lasts, note=note)


def has_room_before(begin: float, size: int, now: float, site: Site) -> bool:
    """Return whether ``size`` processors are free and awake before ``begin``, if woken now.

    If they are, waiting for the ends of jobs is sooner than waking. Jobs that should have ended
    before ``now`` do not count, since nobody knows when they will. All times are in seconds.
    """
    if begin <= now:
        return False
    free, coming = site.outlook()
    return free + sum(nb for end, nb, *_ in coming if now - LATE <= end < begin) >= size
