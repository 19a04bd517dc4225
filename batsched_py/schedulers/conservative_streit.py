"""EASY without extra nodes, which Streit's thesis calls conservative backfilling."""

from __future__ import annotations

from batsched_py.schedulers.easy import Easy


class ConservativeOfStreit(Easy):
    """EASY without extra nodes: jobs behind the head must end before its shadow time.

    Streit's thesis (2003, section 3.3) calls it conservative backfilling. The usual meaning of that
    name is ``conservative``.
    """

    def __init__(self, *, order: str = "fcfs", backfill_order: str | None = None) -> None:
        super().__init__(order=order, backfill_order=backfill_order, extra_nodes="none")
