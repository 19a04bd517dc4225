"""Backfilling behind a reservation for the head of the queue, in any two orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from batsched_py.errors import InvariantError
from batsched_py.model.decisions import Decision, Start
from batsched_py.model.explanation import Held
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import Order
from batsched_py.support.option_values import one_of

EXTRA_NODES = ("first", "instant", "none")


class Backfilling:
    """Start jobs in one order; where the first does not fit, backfill behind it in another.

    What a later job must respect is decided by :meth:`_reservation`, which some policies that
    are built on this one replace; here it is EASY's. ``extra_nodes`` is explained there.
    """

    def __init__(
        self, order: Order, backfill_order: Order | None = None, extra_nodes: str = "first"
    ) -> None:
        self.order = order
        self.backfill_order = backfill_order or order
        self._extra_nodes = one_of("extra_nodes", extra_nodes, EXTRA_NODES)
        self.head: Job | None = None
        """The job that has the reservation since the last pass."""
        self.shadow_time = inf
        self.extra = 0
        self._unavailable = 0

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Start the head while it fits, then backfill behind it."""
        ranked = self.order.at(now, queue)
        overtaken = False
        while (head := ranked.head) and head.size <= machine.free:
            overtaken = True  # whoever had the reservation until now, somebody may be before him
            yield Start(head)
        if not head:
            self.head = None
            return
        shadow_time, extra = self._reservation(head, now, machine)
        if not overtaken:
            self._check_promise(head, shadow_time, now, machine.unavailable)
        self.head, self._unavailable = head, machine.unavailable
        self.shadow_time, self.extra = shadow_time, extra
        if not machine.free:
            return
        # Where nothing is known of the ends, nothing ends in time: only extra nodes are safe. A
        # head that must wait for a repair is delayed by nobody.
        horizon = shadow_time
        if shadow_time == inf and head.size <= machine.nb_available:
            horizon = -inf
        if self.backfill_order is not self.order:
            ranked = self.backfill_order.at(now, queue)
        while job := ranked.first_to_backfill(now, machine.free, horizon, self.extra):
            if now + job.estimate > horizon:
                self.extra -= job.size
            yield Start(job)

    def _reservation(self, head: Job, now: float, machine: Machine) -> tuple[float, int]:
        """Return by when later jobs must end, and the processors that they may keep longer."""
        shadow_time, extra = machine.reservation(head.size, self._extra_nodes == "instant")
        return shadow_time, 0 if self._extra_nodes == "none" else extra

    def _check_promise(self, head: Job, shadow_time: float, now: float, unavailable: int) -> None:
        """Raise :class:`InvariantError` if backfilling has delayed the head's reservation.

        Jobs that run beyond their estimate (possible without a kill limit) do delay it: then
        the shadow time is in the past, and the promise starts anew. So it does when processors
        fail or come back.
        """
        same = head is self.head and unavailable == self._unavailable
        if same and shadow_time > self.shadow_time > now:
            raise InvariantError(
                f"{type(self).__name__} delayed the head of the queue: job {head.id} was to start "
                f"by {self.shadow_time}, now by {shadow_time}"
            )

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Machine) -> Held:
        """Say what holds ``job``, which still waits after the pass at ``now``."""
        place = place_in(self.order.at(now, queue), job)
        head = self.head
        if head is None or job is head:
            return Held("head", place, until=self.shadow_time, free=machine.free)
        return Held(
            "processors" if job.size > machine.free else "reservation", place, by=head.id,
            until=self.shadow_time, free=machine.free, extra=self.extra,
        )  # fmt: skip


def place_in(ranked: Iterable[Job], job: Job) -> int:
    """Return the place of ``job`` in an order, 1 for the first."""
    for place, other in enumerate(ranked, 1):
        if other is job:
            return place
    raise InvariantError(f"job {job.id} does not wait")
