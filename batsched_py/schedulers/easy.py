"""EASY backfilling, as in the textbook."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from batsched_py.decisions import Decision, Start
from batsched_py.errors import InvariantError, UsageError
from batsched_py.jobs import Job
from batsched_py.machine import Machine
from batsched_py.waiting import WaitingQueue


class Easy:
    """EASY backfilling: later jobs may overtake if they do not delay the head of the queue.

    Shadow time and extra nodes (:meth:`Machine.reservation`) are computed anew at every pass. A
    later job starts if it fits now and either ends by the shadow time or uses only extra nodes,
    which it then takes away.

    Sources: D. Lifka, "The ANL/IBM SP scheduling system", 1995; A. Mu'alem and D. Feitelson,
    IEEE TPDS 12(6), 2001.

    ``extra_nodes`` settles what the sources leave open, jobs that are expected to end together at
    the shadow time: ``first`` counts them up to the first that lets the head fit (the results of
    Madon et al. 2024 need it), ``instant`` counts all of them (those of Gaussier et al. 2015).
    """

    def __init__(self, *, extra_nodes: str = "first") -> None:
        if extra_nodes not in ("first", "instant"):
            raise UsageError(f"extra_nodes={extra_nodes}: expected first or instant")
        self._whole_instant = extra_nodes == "instant"
        self._head: Job | None = None
        self._promise = inf
        self._unavailable = 0

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Start the head while it fits, then backfill behind it."""
        while (head := queue.head) and head.size <= machine.free:
            yield Start(head)
        if not head:
            return
        shadow_time, extra = machine.reservation(head.size, self._whole_instant)
        self._check_promise(head, shadow_time, now, machine.unavailable)
        # Where nothing is known of the ends, nothing ends in time: only extra nodes are safe.
        horizon = shadow_time if shadow_time < inf else -inf
        last = head
        while job := queue.first_to_backfill(last, now, machine.free, horizon, extra):
            if now + job.estimate > horizon:
                extra -= job.size
            yield Start(job)
            last = job

    def _check_promise(self, head: Job, shadow_time: float, now: float, unavailable: int) -> None:
        """Raise :class:`InvariantError` if backfilling has delayed the head's reservation.

        Jobs that run beyond their estimate (possible without a kill limit) do delay it: then
        the shadow time is in the past, and the promise starts anew. So it does when processors
        fail or come back.
        """
        same = head is self._head and unavailable == self._unavailable
        if same and shadow_time > self._promise > now:
            raise InvariantError(
                f"EASY delayed the head of the queue: job {head.id} was to start by "
                f"{self._promise}, now by {shadow_time}"
            )
        self._head, self._promise, self._unavailable = head, shadow_time, unavailable
