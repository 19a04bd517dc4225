"""EASY backfilling, and its reservation: shadow time and extra nodes of the queue's head."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import takewhile
from math import inf
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from batsched_py.model.job import Job
from batsched_py.model.queue.orders import BackfillOrder, OrderName
from batsched_py.options.option_values import one_of
from batsched_py.schedulers.backfilling import Backfilling, Reservation

if TYPE_CHECKING:
    from batsched_py.model.decisions import Decision
    from batsched_py.model.queue import WaitingQueue
    from batsched_py.model.site import Coming, Site


ExtraNodes = Annotated[
    Literal["first", "instant", "none"],
    Meta(
        title="Ends that give extra nodes: up to the one that lets the first job fit (``first``), "
        "all that end at that time (``instant``), or none (``none``)."
    ),
]
"""The type of a policy's option ``extra_nodes``, with its help."""
Backfill = Annotated[
    Literal["all", "one", "at_ends"],
    Meta(
        title="Jobs that a pass may backfill: all, one, or all but only after an end (``at_ends``)."
    ),
]
"""The type of the option ``backfill``, with its help."""


class Easy(Backfilling):
    """EASY backfilling: a later job may start first if it does not delay the first waiting job.

    The shadow time is when the first job can start, by the estimates of running jobs. A later job
    starts now if it fits, and either ends by the shadow time, or uses only extra nodes: processors
    that the first job leaves free. A subclass may hold jobs back, see :meth:`may_start`.

    The sources backfill in every pass, until nothing fits (``backfill="all"``). Simulators exist
    that backfill less: one job per pass (``"one"``), or only after an end (``"at_ends"``).

    Sources: D. Lifka, "The ANL/IBM SP scheduling system", 1995; A. Mu'alem and D. Feitelson, IEEE
    TPDS 12(6), 2001, section 2; EASY-SJBF: D. Tsafrir et al., IEEE TPDS 18(6), 2007.
    """

    packs_nodes = True

    def __init__(
        self,
        *,
        order: OrderName = "fcfs",
        backfill_order: BackfillOrder | None = None,
        extra_nodes: ExtraNodes = "first",
        backfill: Backfill = "all",
    ) -> None:
        super().__init__(easy_reservation(extra_nodes), order, backfill_order)
        self._backfill = one_of("backfill", backfill, Backfill)
        self._nb_ended = 0

    def schedule(self, now: float, queue: WaitingQueue, machine: Site) -> Iterator[Decision]:
        """Start the head while it fits, then backfill as many jobs as ``backfill`` allows."""
        has_ended, self._nb_ended = machine.nb_ended > self._nb_ended, machine.nb_ended
        self._most = {"all": inf, "one": 1, "at_ends": inf if has_ended else 0}[self._backfill]
        return super().schedule(now, queue, machine)


def easy_reservation(extra_nodes: str = "first") -> Reservation:
    """Return EASY's reservation rule with an interpretation of the extra nodes.

    The sources leave open which ending jobs count. ``first``: jobs up to the one whose end lets the
    head fit; ``instant``: all that end at that time; ``none``: there are no extra nodes.
    """
    return partial(shadow_time_and_extra_nodes, extra_nodes=check_extra_nodes(extra_nodes))


def check_extra_nodes(extra_nodes: str) -> str:
    """Return the value of the option ``extra_nodes``; raises :class:`UsageError` for others."""
    return one_of("extra_nodes", extra_nodes, ExtraNodes)


def shadow_time_and_extra_nodes(
    head: Job, machine: Site, extra_nodes: str = "first"
) -> tuple[float, int]:
    """Return the latest start (seconds) of ``head``, and the processors that it leaves free then.

    Running jobs end in the order of (expected end, size, submission) until ``head`` fits, and free
    processors that sleep come when they would be awake. If ends are unknown, or it is wider than
    the machine: inf and 0. Where jobs hold parts of nodes, extra are the nodes that are not planned
    for ``head``: they are not counted.
    """
    if machine.nodes is not None:
        return machine.nodes.plan(head, every_node=extra_nodes == "none"), 0
    if machine.sleepers is None:  # the usual case, at many events
        return walk_releases(head.size, machine.free, machine.expected_releases(), extra_nodes)
    return walk_releases(head.size, *machine.outlook(), extra_nodes)


def walk_releases(
    wanted: int, free: int, releases: Iterable[Coming], extra_nodes: str = "first"
) -> tuple[float, int]:
    """Return when ``wanted`` processors will be free (seconds), and how many others are then.

    It takes more than are free now. ``free`` and ``releases`` are as
    :meth:`~batsched_py.model.machine.Site.outlook` returns them.
    """
    coming = iter(releases)
    for release in coming:
        free += release[1]
        if free >= wanted:
            break
    else:
        return inf, 0
    shadow_time = release[0]
    if extra_nodes == "instant" and shadow_time < inf:  # unknown ends are no instant
        free += sum(size for _, size, _, _ in takewhile(lambda end: end[0] == shadow_time, coming))
    return shadow_time, 0 if extra_nodes == "none" else free - wanted
