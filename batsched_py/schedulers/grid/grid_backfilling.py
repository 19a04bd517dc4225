"""EASY backfilling on a grid: the reservation is one on a site, or on the processors of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from batsched_py.model.decisions import Decision, Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine, Site
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import Order, RankedJobs, place_in
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.schedulers.backfilling import Backfilling
from batsched_py.schedulers.easy import walk_releases
from batsched_py.schedulers.grid.placed import GridRules, Placed, Reserved
from batsched_py.schedulers.grid.room import Room


class GridBackfilling(Backfilling):
    """Jobs in the order of the queue, each where ``rules`` place it, on a machine or a site of it.

    A head that cannot start has a reservation: of the site where it ends first, or, if it may be
    spread and enough processors are free earlier in all sites together, of these. With
    ``reserves`` false nobody has one: whatever fits starts, in the order of the queue. ``homes``
    are the sites at which users live.
    """

    def __init__(
        self, rules: GridRules, order: Order, homes: Sequence[Site], *, reserves: bool, strict: bool
    ) -> None:
        super().__init__(self._reserve, order)
        self._now = 0.0
        self._rules, self._homes, self._reserves = rules, homes, reserves
        self._strict = strict
        """Whether a head never starts later than it was promised to."""
        self._site: Site | None = None
        """Where the head has its reservation; None: on all sites together."""
        self.nb_spread = 0
        """Jobs that were spread over several sites."""

    def try_now(self, job: Job, now: float, machine: Site) -> Start | None:
        """Return the start of a job that nothing holds back, None if it does not fit."""
        placed = self._room(now, machine).place(job) if machine.free else None
        return self._started(placed) if placed else None

    def _room(self, now: float, machine: Site, reserved: Reserved | None = None) -> Room:
        return Room(self._rules, _sites(machine), self._homes, now, reserved)

    def _started(self, placed: Placed) -> Start:
        self.nb_spread += len(placed.parts) > 1
        return placed.start()

    def schedule(self, now: float, queue: WaitingQueue, machine: Site) -> Iterator[Decision]:
        """Start the head while it fits somewhere, then backfill behind it."""
        self._now = now
        return super().schedule(now, queue, machine)

    def _start(self, head: Job, now: float, machine: Site) -> Start | None:
        return self.try_now(head, now, machine)

    def _reserve(self, head: Job, machine: Site) -> tuple[float, int]:
        if not self._strict:
            self.shadow_time = inf  # what was promised before does not bind
        if not self._reserves:
            return inf, 0
        costs, sites, width = self._rules.costs, _sites(machine), head.size
        walks = [walk_releases(width, site.free, costs.releases(site)) for site in sites]
        ends = [
            shadow_time + head.lasts(*costs.of(head, [site], self._homes))
            for (shadow_time, _), site in zip(walks, sites, strict=True)
        ]
        at = ends.index(min(ends))
        spreading = self._rules.spreading
        too_wide = walks[at][0] == inf  # for each site
        if spreading and (too_wide or width > machine.free) and spreading.allows(width, sites):
            pooled = (
                self._now,
                machine.free - width,
            )  # it waits since it would be in too many fragments
            if width > machine.free:
                pooled = walk_releases(width, machine.free, costs.releases(machine))
            if pooled[0] < walks[at][0]:
                self._site = None
                return pooled
        self._site = sites[at]
        return walks[at]

    def _next(self, ranked: RankedJobs, now: float, horizon: float, machine: Site) -> Start | None:
        reserved = Reserved(self._site, horizon, self.extra_nodes) if self._reserves else None
        placed = self._room(now, machine, reserved).first(ranked) if machine.free else None
        if placed is None:
            return None
        if reserved and placed.end > horizon:
            self.extra_nodes -= reserved.held_by(placed.parts)
        return self._started(placed)

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Site) -> WaitingReason:
        """Say what holds ``job``, which still waits after the pass at ``now``."""
        place, room = place_in(self.order.at(now, queue), job), self._room(now, machine)
        note, free = room.why_not(job), machine.free
        if self.head is None or job is self.head:
            return WaitingReason("head", place, until=self.shadow_time, free=free, note=note)
        if not self._reserves or not room.has_room(job):
            return WaitingReason("processors", place, free=free, note=note)
        until, extra = self.shadow_time, self.extra_nodes
        return WaitingReason("reservation", place, self.head.id, until, free, extra)


def _sites(machine: Site) -> Sequence[Site]:
    return machine.sites if isinstance(machine, Machine) else (machine,)
