"""EASY without extra nodes, which Streit's thesis calls conservative backfilling."""

from __future__ import annotations

from batsched_py.schedulers.easy import Easy


class ConservativeOfStreit(Easy):
    """Start only jobs that fit now and end before the head's shadow time.

    What Streit's thesis (2003, section 3.3) calls conservative backfilling: EASY without extra
    nodes. The usual meaning is ``conservative``.
    """

    def __init__(self, *, order: str = "fcfs", backfill_order: str | None = None) -> None:
        super().__init__(order=order, backfill_order=backfill_order, extra_nodes="none")
