"""EASY backfilling on a grid: the head has a reservation on one site, or on all together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from batsched_py.model.decisions import Decision, Start
from batsched_py.model.job import Job
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import Order, RankedJobs, find_place
from batsched_py.model.site import Site
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.schedulers.backfilling import Backfilling
from batsched_py.schedulers.easy import walk_releases
from batsched_py.schedulers.grid.placed import Placed, Reserved
from batsched_py.schedulers.grid.room import GridRules, Room
from batsched_py.schedulers.permission import PermittedJobs


class GridBackfilling(Backfilling):
    """EASY backfilling on a grid or on one of its sites, with jobs placed by ``rules``.

    A head that cannot start has a reservation: on the site that has room for it first, or, if it
    may be spread and enough processors are free earlier in all sites together, on all of them. With
    ``reserves`` false no job has one: whatever fits starts, in the order of the queue. ``homes``
    are the home sites of users.
    """

    def __init__(
        self, rules: GridRules, order: Order, homes: Sequence[Site], *, reserves: bool, strict: bool
    ) -> None:
        super().__init__(self._reserve, order)
        self._now = 0.0
        self._rules, self._homes, self._reserves = rules, homes, reserves
        self._strict = strict
        """Whether a head never starts later than it was promised to, if no job is late."""
        self._reserved: Reserved | None = None
        """The reservation of the head, as of the last pass."""
        self.nb_spread = 0
        """Jobs that were spread over several sites."""

    def try_now(self, job: Job, now: float, machine: Site) -> Start | None:
        """Return the start of ``job`` without regard to reservations, None if it does not fit."""
        placed = self._room(now, machine).place(job) if machine.free else None
        return self._started(placed) if placed else None

    def _room(self, now: float, machine: Site, reserved: Reserved | None = None) -> Room:
        return Room(self._rules, machine.sites, self._homes, now, reserved)

    def _started(self, placed: Placed) -> Start:
        self.nb_spread += len(placed.parts) > 1
        return placed.start()

    def schedule(self, now: float, queue: WaitingQueue, machine: Site) -> Iterator[Decision]:
        """Start the head while it fits somewhere, then backfill behind it."""
        self._now = now
        return super().schedule(now, queue, machine)

    def _start(self, head: Job, now: float, machine: Site) -> Start | None:
        sleeps = self._reserves and machine.sleepers is not None
        if sleeps and self._room(now, machine).must_wait(head):
            return None
        return self.try_now(head, now, machine)

    def _reserve(self, head: Job, machine: Site) -> tuple[float, int]:
        if not self._strict:
            self.shadow_time = inf  # what was promised before does not bind
        self._reserved = self._promise(head, machine) if self._reserves else None
        if self._reserved is None:
            return inf, 0
        return self._reserved.horizon, self._reserved.extra

    def _promise(self, head: Job, machine: Site) -> Reserved | None:
        """Return the reservation of the head, None where it waits for a repair."""
        sites, width = machine.sites, head.size
        by_start = [self._on_site(head, site) for site in sites if width <= site.nb_available]
        on_site = min(by_start, key=lambda place: place[:2])[2] if by_start else None
        spreading = self._rules.spreading
        if spreading is None or not spreading.allows(width, sites):
            return on_site
        if on_site and width <= machine.free:  # it waits by choice, or for fewer fragments
            return on_site
        time, (free, coming) = self._now, self._rules.costs.outlook(machine)
        extra = free - width
        if extra < 0:
            time, extra = walk_releases(width, free, coming, self._rules.extra_nodes)
        elif self._rules.extra_nodes == "none":
            extra = 0
        return on_site if on_site and on_site.horizon <= time else Reserved(None, time, extra)

    def _on_site(self, head: Job, site: Site) -> tuple[float, float, Reserved]:
        """Return when the head can start on a site, its end there, and the reservation."""
        costs = self._rules.costs
        time, extra = walk_releases(head.size, *costs.outlook(site), self._rules.extra_nodes)
        lasts = head.lasts(*costs.compute(head, [site], self._homes))
        return time, time + lasts, Reserved(site, time, extra)

    def _next(
        self,
        ranked: RankedJobs,
        now: float,
        horizon: float,
        queue: WaitingQueue,
        machine: Site,
    ) -> Start | None:
        reserved = self._reserved
        if reserved:
            reserved.horizon = horizon  # -inf where no end is known
        if machine.sleepers is not None:  # the head may fit and wait all the same
            ranked = PermittedJobs(ranked, lambda job: job is not self.head)
        placed = self._room(now, machine, reserved).find_first(ranked)
        if placed is None:
            return None
        if reserved and placed.end > horizon:
            reserved.extra -= reserved.count_taken(placed.parts)
            self.extra_nodes = reserved.extra
        return self._started(placed)

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Site) -> WaitingReason:
        """Return the reason why ``job`` still waits after the pass at ``now``."""
        place, room = find_place(self.order.at(now, queue), job), self._room(now, machine)
        note, free, until = room.explain(job), machine.free, self.shadow_time
        site = self._reserved.site.name if self._reserved and self._reserved.site else ""
        if self.head is None or job is self.head:
            return WaitingReason("head", place, until=until, free=free, site=site, note=note)
        lasts = room.find_shortest_duration(job) if self._reserves else None
        if lasts is None:
            return WaitingReason("processors", place, free=free, note=note)
        head, extra = self.head.id, self.extra_nodes
        return WaitingReason("reservation", place, head, until, free, extra, site, lasts)
