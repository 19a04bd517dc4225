"""EASY whose shadow time is fixed when the head is chosen."""

from __future__ import annotations

from math import inf

from batsched_py.model.job import Job
from batsched_py.model.queue.orders import BackfillOrder, OrderName
from batsched_py.model.site import Site
from batsched_py.processors.sets import NO_PROCESSORS
from batsched_py.schedulers.backfilling import Backfilling
from batsched_py.schedulers.easy import shadow_time_and_extra_nodes


class EasyFixed(Backfilling):
    """EASY that computes the shadow time once per first job, and uses no extra nodes.

    An early end does not move the reservation, so fewer jobs are backfilled; none if the first job
    is late. This is the rule of batsched's ``easy_bf_fast``.
    """

    packs_nodes = True

    def __init__(
        self, *, order: OrderName = "fcfs", backfill_order: BackfillOrder | None = None
    ) -> None:
        super().__init__(FixedShadowTime(), order, backfill_order)


class FixedShadowTime:
    """EASY's shadow time when a job becomes the head, until processors fail or come back."""

    def __init__(self) -> None:
        self._head: Job | None = None
        self._shadow_time = inf
        self._unavailable = NO_PROCESSORS

    def __call__(self, head: Job, machine: Site) -> tuple[float, int]:
        """Return the shadow time (seconds), and no extra nodes."""
        kept = head is self._head and machine.unavailable == self._unavailable
        if not kept or self._shadow_time == inf:
            self._shadow_time, _ = shadow_time_and_extra_nodes(head, machine, "none")
        self._head, self._unavailable = head, machine.unavailable
        return self._shadow_time, 0
