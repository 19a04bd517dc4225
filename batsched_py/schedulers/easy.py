"""EASY backfilling, as in the textbook, and its relatives with another reservation."""

from __future__ import annotations

from math import inf

from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue.orders import order as order_named
from batsched_py.schedulers.backfilling import Backfilling
from batsched_py.support.option_values import number


class Easy(Backfilling):
    """EASY backfilling: later jobs may overtake if they do not delay the head of the queue.

    Shadow time and extra nodes (:meth:`Machine.reservation`) are computed anew at every pass. A
    later job starts if it fits now and either ends by the shadow time or uses only extra nodes,
    which it then takes away.

    Sources: D. Lifka, "The ANL/IBM SP scheduling system", 1995; A. Mu'alem and D. Feitelson,
    IEEE TPDS 12(6), 2001; ``backfill_order="sjf"`` is EASY-SJBF, D. Tsafrir et al., IEEE TPDS
    18(6), 2007.

    ``order`` is that of the queue, ``backfill_order`` that of the jobs behind its head (default:
    the same). ``extra_nodes`` settles what the sources leave open, jobs that are expected to end
    together at the shadow time: ``first`` counts them up to the first that lets the head fit (the
    results of Madon et al. 2024 need it), ``instant`` counts all of them (those of Gaussier et
    al. 2015); ``none`` uses no extra nodes.
    """

    def __init__(
        self, *, order: str = "fcfs", backfill_order: str | None = None, extra_nodes: str = "first"
    ) -> None:
        behind = None if backfill_order is None else order_named(backfill_order, "backfill_order")
        super().__init__(order_named(order), behind, extra_nodes)


class ConservativeOfStreit(Easy):
    """Start only jobs that fit now and end before the head's shadow time.

    What Streit's thesis (2003, section 3.3) calls conservative backfilling: EASY without extra
    nodes. The usual meaning is ``conservative``.
    """

    def __init__(self, *, order: str = "fcfs", backfill_order: str | None = None) -> None:
        super().__init__(order=order, backfill_order=backfill_order, extra_nodes="none")


class EasyFixed(Easy):
    """EASY whose shadow time is fixed when the head is chosen, without extra nodes.

    An early end does not move the reservation, so less is backfilled; if the head starts late
    nothing is. The rule of batsched's ``easy_bf_fast``.
    """

    def __init__(self, *, order: str = "fcfs", backfill_order: str | None = None) -> None:
        super().__init__(order=order, backfill_order=backfill_order, extra_nodes="none")

    def _reservation(self, head: Job, now: float, machine: Machine) -> tuple[float, int]:
        kept = head is self.head and machine.unavailable == self._unavailable
        if kept and self.shadow_time < inf:
            return self.shadow_time, 0
        return super()._reservation(head, now, machine)


class Slack(Easy):
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
        super().__init__(order=order, backfill_order=backfill_order)
        self._slack = number("slack", slack, 0)

    def _reservation(self, head: Job, now: float, machine: Machine) -> tuple[float, int]:
        shadow_time, extra = machine.reservation(head.size, True)
        if head is self.head:
            deadline = max(self.shadow_time, shadow_time)
        else:
            slack = self._slack * head.estimate if head.estimate < inf else 0.0
            deadline = shadow_time + slack
        return deadline, machine.free_at(deadline) - head.size if deadline < inf else extra
