"""Backfilling that may delay the head of the queue, within limits."""

from __future__ import annotations

from math import inf

from batsched_py.model.job import Job
from batsched_py.model.queue.orders import find_two_orders
from batsched_py.model.site import Site
from batsched_py.options.option_values import number
from batsched_py.schedulers.backfilling import Backfilling
from batsched_py.schedulers.easy import shadow_time_and_extra_nodes


class Slack(Backfilling):
    """Backfilling that may delay the head of the queue, but not beyond a slack.

    When a job becomes the head, its deadline is set: the shadow time of that moment plus
    ``slack`` times its estimate. A later job starts if it fits now and the head can still start
    by its deadline: the job ends by then, or takes only processors that the head will leave free
    then. ``slack=0`` never delays a head.

    Source: D. Talby and D. Feitelson, IPPS 1999, in the reduced form of Streit's thesis (2003,
    section 3.3), where only the head has a reservation.
    """

    def __init__(
        self, *, slack: float = 0.5, order: str = "fcfs", backfill_order: str | None = None
    ) -> None:
        orders = find_two_orders(order, backfill_order)
        super().__init__(Deadline(number("slack", slack, 0)), *orders)


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
