"""Several sites under one scheduler: local processing, job sharing, jobs spread over sites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Literal, NamedTuple

import msgspec

from batsched_py.model.decisions import Decision, Reject, Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import OrderName, find_order
from batsched_py.model.site import Site
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.options.option_values import boolean, number, one_of, whole_number
from batsched_py.schedulers.easy import ExtraNodes, check_extra_nodes
from batsched_py.schedulers.grid.costs import Costs
from batsched_py.schedulers.grid.grid_backfilling import GridBackfilling
from batsched_py.schedulers.grid.placed import make_selection
from batsched_py.schedulers.grid.room import GridRules
from batsched_py.schedulers.grid.spreading import Spreading
from batsched_py.workload.grid_sites import GridSites

Scenario = Literal["local", "sharing", "multi_site"]


class Grid:
    """Run several grid sites: jobs stay at home, run on any one site, or are spread over several.

    A job runs longer by ``overhead`` if it is spread, by ``transfer`` and the time for its field
    ``data`` (bytes) if it runs away from home, and on a slower site. Jobs that can never run are
    rejected.

    Source: A. Streit's thesis, 2003, chapters 6 and 7.

    Args:
        scenario: Where jobs may run. ``local``: each site has its own queue and jobs; ``sharing``:
            one queue, a job on any one site; ``multi_site``: jobs that fit on no site are spread.
        selection: Which site a job gets, of those with room: the one with the fewest free
            processors (``best_fit``), the most, the largest free share, or the earliest end of the
            job. Allowed: one of best_fit, biggest_free, equal_util, earliest_end, random.
        reservation: Reservation for the first waiting job: EASY's, or none (null: ``none`` in
            ``multi_site``, else ``easy``).
        overhead: Fraction by which a spread job runs longer; 0.3 is 30 %. Allowed: a number from 0
            to 1000000.
        adaptive: Whether a job is spread only if it ends earlier than on one site.
        lower_bound: Number of processors from which jobs may be spread; see ``bound``. Allowed: a
            whole number, at least 0.
        bound: Whether only jobs wider than ``lower_bound`` are spread (``above``), or also jobs as
            wide (``from``).
        fragments: Most parts of a spread job, by its width. ``limited`` is the table 1-32:1,
            33-64:1, 65-128:2, 129-512:8. Allowed: unlimited, limited, or a table such as
            1-64:1,65-512:8.
        booked_overhead: Whether the expected ends of running jobs include what makes them longer.
        try_on_submission: Whether a new job is tried at once, before the queue and any reservation.
        transfer: Seconds that a job away from home runs longer. Allowed: a number from 0 to
            1e9.
        bandwidth: Bytes per second at which the data of a job away from home arrive (null: at
            once). Allowed: a number, at least 1.
        seed: Seed of ``selection=random``. Allowed: a whole number, at least 0.
    """

    def __init__(
        self,
        *,
        scenario: Scenario = "sharing",
        selection: str = "best_fit",
        reservation: Literal["easy", "none"] | None = None,
        overhead: float = 0.0,
        adaptive: bool = False,
        lower_bound: int = 0,
        bound: Literal["above", "from"] = "above",
        fragments: str = "unlimited",
        booked_overhead: bool = True,
        try_on_submission: bool = False,
        transfer: float = 0.0,
        bandwidth: float | None = None,
        order: OrderName = "fcfs",
        extra_nodes: ExtraNodes = "first",
        seed: int = 0,
    ) -> None:
        spreads = one_of("scenario", scenario, Scenario) == "multi_site"
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
                part.queue.add(job)
            if self._tries and (start := part.backfilling.try_now(job, now, part.site)):
                yield from self._carry_out([start], part)
        for part in self._queues:
            yield from self._carry_out(part.backfilling.schedule(now, part.queue, part.site), part)

    def job_withdrawn(self, now: float, job: Job) -> None:
        """Remove a withdrawn job from the queue of its site."""
        if self._local and self._queues:
            self._part_of(job).queue.discard(job)

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
