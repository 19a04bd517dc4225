"""A slow twin of the grid: several sites, one queue, every waiting job tried at every event.

Nothing of batsched_py is used. Sites have one speed; times are seconds. At each instant ends are
handled first, then submissions, then one pass over the queue, in order of submission. (A job of
no length ends at the instant of its start, which is then gone through once more.) A job runs for
its run time even where that is longer than its estimate; it is then expected to end in the past.

What the sources leave open, and is decided here:
- A job that could not even start on idle sites (too wide, or in too many fragments) is refused.
- Running jobs of the same expected end are walked by size: on a site, that of the part there.
- A head that could be spread but waits (adaptive, fragments) has its reservation on one site.
- A job is split in one way only: if the reservation forbids it the job waits.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from typing import Literal, NamedTuple


class GridJob(NamedTuple):
    """A job; ``home`` is the index of a site, used in scenario ``local`` only."""

    id: str
    submit: float
    size: int
    run_time: float
    estimate: float
    home: int = 0


@dataclass(frozen=True)
class Options:
    """How jobs are placed.

    ``overhead`` is the part of its run time and estimate by which a job is longer if it is spread.
    Jobs wider than ``lower_bound`` ("above"; "from": or as wide) may be spread, as may those wider
    than the largest site, in at most ``fragment_limit(width)`` parts. If ``adaptive`` only where
    that ends before one site would. ``booked_overhead``: is it part of the expected ends?
    """

    scenario: Literal["local", "sharing", "multi_site"] = "multi_site"
    selection: Literal["best_fit", "biggest_free", "equal_util"] = "best_fit"
    reservation: Literal["easy", "none"] = "easy"
    overhead: float = 0.0
    lower_bound: int = 0
    bound_reading: Literal["above", "from"] = "above"
    fragment_limit: Callable[[int], int] | None = None
    adaptive: bool = False
    booked_overhead: bool = True
    extra_nodes: Literal["first", "instant", "none"] = "first"


Fragments = tuple[tuple[int, int], ...]
"""Pairs of a site's index and a number of its processors."""


class Placed(NamedTuple):
    """Where and when a job ran."""

    start: float
    end: float
    fragments: Fragments


def schedule(
    jobs: Sequence[GridJob], sites: Sequence[int], options: Options
) -> dict[str, Placed | None]:
    """Return where and when each job ran, None where it was refused."""
    if options.scenario != "local":
        return _Grid(sites, options).run(jobs)
    placed: dict[str, Placed | None] = {}
    for site, size in enumerate(sites):  # each a grid of its own: one site, no other to go to
        at_home = [job for job in jobs if job.home == site]
        for name, job in _Grid([size], options).run(at_home).items():
            placed[name] = job and job._replace(fragments=((site, job.fragments[0][1]),))
    return placed


class _Nodes:
    """The nodes of a site, or of all sites together (the pool)."""

    def __init__(self, size: int) -> None:
        self.size = self.free = size
        self.running: list[tuple[float, int, int]] = []  # (expected end, nodes, job), sorted

    def take(self, expected_end: float, nodes: int, job: int) -> None:
        self.free -= nodes
        insort(self.running, (expected_end, nodes, job))

    def give_back(self, expected_end: float, nodes: int, job: int) -> None:
        self.free += nodes
        self.running.remove((expected_end, nodes, job))

    def earliest(self, nodes: int, now: float, extra: str = "first") -> tuple[float, int]:
        """Return when so many nodes are expected to be free, and how many more then are.

        The more are those up to the running job that lets the nodes suffice (``extra`` is
        "first"), of all jobs that are expected to end with that one ("instant"), or "none".
        """
        time, free, left = now, self.free, list(self.running)
        last = None
        while free < nodes and left:
            last, given_back, _ = left.pop(0)
            time, free = last, free + given_back
        if free < nodes:
            return inf, 0
        if extra == "instant":
            free += sum(given_back for expected_end, given_back, _ in left if expected_end == last)
        return time, 0 if extra == "none" else free - nodes


@dataclass
class _Reservation:
    """What the head of the queue holds: nodes of a site, or of the pool (None)."""

    site: int | None
    shadow_time: float
    extra: int

    def allows(self, end: float, fragments: Fragments) -> bool:
        return end <= self.shadow_time or self.nodes(fragments) <= self.extra

    def charge(self, end: float, fragments: Fragments) -> None:
        if end > self.shadow_time:
            self.extra -= self.nodes(fragments)

    def nodes(self, fragments: Fragments) -> int:
        return sum(nodes for site, nodes in fragments if self.site in (None, site))


class _Grid:
    def __init__(self, sites: Sequence[int], options: Options) -> None:
        self.options = options
        self.sites = [_Nodes(size) for size in sites]
        self.pool = _Nodes(sum(sites))
        self.largest = max(sites)
        self.queue: list[int] = []
        self.ends: list[tuple[float, int, float]] = []  # (end, job, expected end)
        self.now = 0.0

    def run(self, jobs: Sequence[GridJob]) -> dict[str, Placed | None]:
        """Go from event to event."""
        self.jobs = sorted(jobs, key=lambda job: job.submit)  # equal dates: in the given order
        self.placed: dict[str, Placed | None] = {}
        arrived = 0
        while self.ends or arrived < len(self.jobs):
            next_end = self.ends[0][0] if self.ends else inf
            next_submit = self.jobs[arrived].submit if arrived < len(self.jobs) else inf
            self.now = min(next_end, next_submit)
            while self.ends and self.ends[0][0] == self.now:
                _, number, expected_end = heappop(self.ends)
                self.end(number, expected_end)
            while arrived < len(self.jobs) and self.jobs[arrived].submit == self.now:
                if self.can_ever_run(self.jobs[arrived]):
                    self.queue.append(arrived)
                else:
                    self.placed[self.jobs[arrived].id] = None
                arrived += 1
            self.schedule_pass()
        assert not self.queue, "jobs wait for ever"
        return self.placed

    # The queue -----------------------------------------------------------------------------------

    def schedule_pass(self) -> None:
        reservation: _Reservation | None = None
        for number in list(self.queue):
            fragments = self.place(self.jobs[number], reservation)
            if fragments is not None:
                if reservation is not None:
                    reservation.charge(self.end_of(self.jobs[number], fragments), fragments)
                self.start(number, fragments)
            elif reservation is None and self.options.reservation == "easy":
                reservation = self.reserve(self.jobs[number])

    def reserve(self, head: GridJob) -> _Reservation:
        """Return the earliest shadow time; ties: the lowest index of a site, then the pool."""
        places: list[tuple[int | None, _Nodes]] = list(enumerate(self.sites))
        if self.may_be_split(head) and (self.pool.free < head.size or head.size > self.largest):
            places.append((None, self.pool))
        return min(
            (
                _Reservation(site, *nodes.earliest(head.size, self.now, self.options.extra_nodes))
                for site, nodes in places
                if nodes.size >= head.size
            ),
            key=lambda reservation: reservation.shadow_time,
        )

    def start(self, number: int, fragments: Fragments) -> None:
        job = self.jobs[number]
        spread = len(fragments) > 1
        end = self.now + job.run_time * (1 + self.options.overhead if spread else 1)
        self.placed[job.id] = Placed(self.now, end, fragments)
        self.queue.remove(number)
        booked = self.options.booked_overhead or not spread
        expected_end = self.end_of(job, fragments) if booked else self.now + job.estimate
        heappush(self.ends, (end, number, expected_end))
        self.pool.take(expected_end, job.size, number)
        for site, nodes in fragments:
            self.sites[site].take(expected_end, nodes, number)

    def end(self, number: int, expected_end: float) -> None:
        job = self.jobs[number]
        placed = self.placed[job.id]
        assert placed is not None
        self.pool.give_back(expected_end, job.size, number)
        for site, nodes in placed.fragments:
            self.sites[site].give_back(expected_end, nodes, number)

    def end_of(self, job: GridJob, fragments: Fragments) -> float:
        """Return when a job would end by its estimate if it started now."""
        spread = len(fragments) > 1
        return self.now + job.estimate * (1 + self.options.overhead if spread else 1)

    # Places --------------------------------------------------------------------------------------

    def place(self, job: GridJob, reservation: _Reservation | None) -> Fragments | None:
        """Return where a job starts now, None where it waits."""
        if job.size > self.pool.free:
            return None
        alone: list[Fragments] = [
            ((site, job.size),) for site, nodes in enumerate(self.sites) if nodes.free >= job.size
        ]
        if reservation is not None:
            end = self.now + job.estimate
            alone = [fragments for fragments in alone if reservation.allows(end, fragments)]
        if alone:
            return min(alone, key=lambda fragments: (self.rank(fragments[0][0]), fragments))
        if not self.may_be_split(job):
            return None
        fragments = self.split(job, [nodes.free for nodes in self.sites])
        if len(fragments) > self.limit(job) or self.waits_for_one_site(job):
            return None
        if reservation and not reservation.allows(self.end_of(job, fragments), fragments):
            return None
        return fragments

    def rank(self, site: int) -> float:
        """Return the number that is smallest at the site to select."""
        nodes = self.sites[site]
        if self.options.selection == "best_fit":
            return nodes.free  # the job takes the same from each
        if self.options.selection == "biggest_free":
            return -nodes.free
        return (nodes.size - nodes.free) / nodes.size

    def may_be_split(self, job: GridJob) -> bool:
        if self.options.scenario != "multi_site":
            return False
        lowest = self.options.lower_bound + (self.options.bound_reading == "above")
        return job.size >= lowest or job.size > self.largest

    def limit(self, job: GridJob) -> float:
        return self.options.fragment_limit(job.size) if self.options.fragment_limit else inf

    def split(self, job: GridJob, free: Sequence[int]) -> Fragments:
        """Take all free nodes of the site with most (ties: lowest index), and so on."""
        fragments, missing = [], job.size
        for site in sorted(range(len(free)), key=lambda site: (-free[site], site)):
            if missing:
                fragments.append((site, min(missing, free[site])))
                missing -= fragments[-1][1]
        return tuple(fragments)

    def waits_for_one_site(self, job: GridJob) -> bool:
        """Return whether an adaptive grid waits, as one site is not expected to end later."""
        if not self.options.adaptive or job.size > self.largest:
            return False
        fits = [nodes for nodes in self.sites if nodes.size >= job.size]
        free_at = min(nodes.earliest(job.size, self.now)[0] for nodes in fits)
        single = max(free_at, self.now) + job.estimate
        return not self.now + job.estimate * (1 + self.options.overhead) < single

    def can_ever_run(self, job: GridJob) -> bool:
        if job.size <= self.largest:
            return True
        if self.options.scenario != "multi_site" or job.size > self.pool.size:
            return False
        return len(self.split(job, [nodes.size for nodes in self.sites])) <= self.limit(job)
