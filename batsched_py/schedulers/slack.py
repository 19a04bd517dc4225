"""Backfilling that may delay the head of the queue, within limits."""

from __future__ import annotations

from math import inf

from batsched_py.model.job import Job
from batsched_py.model.queue.orders import BackfillOrder, OrderName
from batsched_py.model.site import Site
from batsched_py.options.option_values import number
from batsched_py.schedulers.backfilling import Backfilling
from batsched_py.schedulers.easy import shadow_time_and_extra_nodes


class Slack(Backfilling):
    """EASY backfilling that may delay the first waiting job, but only until a deadline.

    When a job becomes the first, its deadline is the shadow time of that moment plus ``slack``
    times its estimate. A later job starts if it fits, and the first job can still start by its
    deadline.

    Source: D. Talby and D. Feitelson, IPPS 1999, in the reduced form of Streit's thesis (2003,
    section 3.3), where only the first job has a reservation.

    Args:
        slack: Longest delay of the first job, as a multiple of its estimate; 0: no delay. Allowed:
            a number, at least 0.
    """

    def __init__(
        self,
        *,
        slack: float = 0.5,
        order: OrderName = "fcfs",
        backfill_order: BackfillOrder | None = None,
    ) -> None:
        super().__init__(Deadline(number("slack", slack, 0)), order, backfill_order)


class Deadline:
    """The reservation rule of :class:`Slack`: shadow time plus ``slack`` times the estimate."""

    def __init__(self, slack: float) -> None:
        self._slack = slack
        self._head: Job | None = None
        self._deadline = inf

    def __call__(self, head: Job, machine: Site) -> tuple[float, int]:
        """Return the deadline (seconds) and the processors that the head leaves free then."""
        shadow_time, extra_nodes = shadow_time_and_extra_nodes(head, machine, "instant")
        if head is self._head:
            self._deadline = max(self._deadline, shadow_time)
        else:
            slack = self._slack * head.estimate if head.estimate < inf else 0.0
            self._head, self._deadline = head, shadow_time + slack
        if self._deadline < inf:
            extra_nodes = machine.free_at(self._deadline) - head.size
        return self._deadline, extra_nodes
