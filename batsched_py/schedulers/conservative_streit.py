"""EASY without extra nodes, which Streit's thesis calls conservative backfilling."""

from __future__ import annotations

from batsched_py.model.queue.orders import BackfillOrder, OrderName
from batsched_py.schedulers.easy import Easy


class ConservativeOfStreit(Easy):
    """EASY without extra nodes: a later job starts only if it ends before the first job can start.

    Streit's thesis (2003, section 3.3) calls this rule conservative backfilling. The policy
    ``conservative`` is what others call by that name.
    """

    def __init__(
        self, *, order: OrderName = "fcfs", backfill_order: BackfillOrder | None = None
    ) -> None:
        super().__init__(order=order, backfill_order=backfill_order, extra_nodes="none")
