"""Several sites under one scheduler: local processing, job sharing, jobs spread over sites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import msgspec

from batsched_py.model.decisions import Decision, Reject, Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import find_order
from batsched_py.model.site import Site
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.options.option_values import boolean, number, one_of, whole_number
from batsched_py.schedulers.easy import check_extra_nodes
from batsched_py.schedulers.grid.costs import Costs
from batsched_py.schedulers.grid.grid_backfilling import GridBackfilling
from batsched_py.schedulers.grid.placed import make_selection
from batsched_py.schedulers.grid.room import GridRules
from batsched_py.schedulers.grid.spreading import Spreading
from batsched_py.workload.grid_sites import GridSites

SCENARIOS = ("local", "sharing", "multi_site")


class Grid:
    """A grid of sites: jobs stay at home, run on any one site, or are spread over several.

    ``scenario``: ``local``, each site has a queue of its own users' jobs; ``sharing``, one queue,
    and a job runs on one site, which ``selection`` chooses of those that have room (``best_fit``,
    ``biggest_free``, ``equal_util``, ``random`` with ``seed``, ``earliest_end``); ``multi_site``,
    a job that fits on no site is spread over several and runs ``1 + overhead`` times as long.
    ``reservation`` is ``easy`` for the first job that cannot start, or ``none``: whatever fits
    starts, in the order ``order``. ``lower_bound``, ``bound`` and ``fragments`` say which jobs are
    spread (see :class:`Spreading`); ``adaptive``: only those that end earlier then than on one
    site. ``extra_nodes`` is as in :func:`~batsched_py.schedulers.easy.easy_reservation`, on each
    site and on all. A job away from home runs ``transfer`` seconds longer, and as long as its
    ``data`` (bytes) take at ``bandwidth`` (bytes/s); on a slower site it runs longer.

    Source: A. Streit's thesis, 2003, chapters 6 and 7. It leaves two points open: without
    ``booked_overhead`` running jobs are expected to end as if nothing made them longer, and with
    ``try_on_submission`` a new job is tried before the queue, whatever is reserved.
    """

    def __init__(
        self,
        *,
        scenario: str = "sharing",
        selection: str = "best_fit",
        reservation: str | None = None,
        overhead: float = 0.0,
        adaptive: bool = False,
        lower_bound: int = 0,
        bound: str = "above",
        fragments: str = "unlimited",
        booked_overhead: bool = True,
        try_on_submission: bool = False,
        transfer: float = 0.0,
        bandwidth: float | None = None,
        order: str = "fcfs",
        extra_nodes: str = "first",
        seed: int = 0,
    ) -> None:
        spreads = one_of("scenario", scenario, SCENARIOS) == "multi_site"
        default = "none" if spreads else "easy"
        reserves = one_of("reservation", reservation or default, ("easy", "none")) == "easy"
        costs = Costs(
            number("overhead", overhead, 0, 1e6),
            number("transfer", transfer, 0, 1e9),
            inf if bandwidth is None else number("bandwidth", bandwidth, 1),
            boolean("booked_overhead", booked_overhead),
        )
        spreading = Spreading(lower_bound, bound, fragments)
        self._rules = GridRules(
            make_selection(selection, whole_number("seed", seed, 0)),
            costs,
            spreading if spreads else None,
            boolean("adaptive", adaptive),
            check_extra_nodes(extra_nodes),
        )
        self._local = scenario == "local"
        self._tries = boolean("try_on_submission", try_on_submission)
        self._reserves, self._order = reserves, find_order(order)
        self._queues: list[_SiteQueue] = []
        """One per site in local processing, else one for all."""
        self._seen = 0

    def dilates(self, sites: GridSites) -> bool:
        """Tell whether jobs may run longer on some of ``sites`` than recorded."""
        costs = self._rules.costs
        spread = costs.overhead > 0 and self._rules.spreading is not None
        return spread or costs.depends_on_job or any(site.speed != 1 for site in sites)

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Reject jobs that can never run, then do a pass on the grid, or on each site if local."""
        if not self._queues:
            self._begin(queue, machine)
        news = queue.since(self._seen)
        self._seen = queue.nb_arrived
        for job in news:
            part = self._part_of(job)
            if self._never_runs(job, machine.sites):
                yield Reject(job)
                continue
            if self._local:
                part.queue.append(job)
            if self._tries and (start := part.backfilling.try_now(job, now, part.site)):
                yield from self._carry_out([start], part)
        for part in self._queues:
            yield from self._carry_out(part.backfilling.schedule(now, part.queue, part.site), part)

    def _carry_out(self, decisions: Iterable[Decision], part: _SiteQueue) -> Iterator[Decision]:
        """Give the decisions; a job that starts leaves the queue of its site, if it has one."""
        for decision in decisions:
            yield decision
            if self._local and isinstance(decision, Start):
                part.queue.remove(decision.job)

    def _begin(self, queue: WaitingQueue, machine: Machine) -> None:
        """Make the queues of the sites, which are unknown before the first pass."""
        homes = machine.sites
        same_speed = all(site.speed == 1 for site in homes)
        costs = msgspec.structs.replace(self._rules.costs, same_speed=same_speed)
        self._rules = rules = msgspec.structs.replace(self._rules, costs=costs)
        # A job that waits by choice or for fewer fragments, ends that are not expected, and jobs
        # that pass the queue may all delay the head.
        strict = not self._tries and (
            rules.spreading is None
            or (rules.spreading.unlimited and costs.booked_overhead and not rules.adaptive)
        )
        for site in homes if self._local else [machine]:
            backfilling = GridBackfilling(
                rules, self._order, homes, reserves=self._reserves, strict=strict
            )
            waiting = WaitingQueue() if self._local else queue
            self._queues.append(_SiteQueue(site, backfilling, waiting))

    def _part_of(self, job: Job) -> _SiteQueue:
        return self._queues[job.home if self._local else 0]

    def _never_runs(self, job: Job, sites: Sequence[Site]) -> bool:
        """Tell whether a job is too wide for its sites, or would have too many fragments."""
        spreading = self._rules.spreading
        if spreading is not None:
            return spreading.never_fits(job.size, sites)
        home = sites[job.home].nb_processors
        return job.size > (home if self._local else max(site.nb_processors for site in sites))

    def held(self, job: Job, now: float, queue: WaitingQueue, machine: Machine) -> WaitingReason:
        """Return the reason why ``job`` still waits after the pass at ``now``."""
        part = self._part_of(job)
        return part.backfilling.held(job, now, part.queue, part.site)

    def statistics(self) -> Mapping[str, Any]:
        """Return how many jobs were spread over several sites."""
        return {"multi_site_jobs": sum(part.backfilling.nb_spread for part in self._queues)}


class _SiteQueue(NamedTuple):
    """A site, its discipline, and the jobs that wait for it."""

    site: Site
    backfilling: GridBackfilling
    queue: WaitingQueue
