"""A plan on nodes that jobs share: which jobs start now, and which nodes are kept for others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from batsched_py.model.decisions import Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.nodes import Mask, NodeRoom, Nodes, Placed, Seconds, assign
from batsched_py.schedulers.multifactor.backfill_plan import Grid, find_starting_now
from batsched_py.workload.node_shares import Demand


class NodePlan:
    """A plan of ``jobs`` on ``nodes`` of which jobs hold parts, in partitions that may overlap.

    A job that starts now holds its shares. A job that is planned for later reserves its nodes
    whole, as in Slurm; other jobs may be planned in the gaps between reservations. The first
    ``reserved`` jobs (0: all) of each partition are planned. Later ones start now or not at all.
    """

    def __init__(
        self,
        nodes: Nodes,
        machine: Machine,
        grid: Grid,
        now: float,
        jobs: Sequence[Job],
        reserved: int,
    ) -> None:
        self._nodes, self._machine, self._grid, self._now = nodes, machine, grid, now
        self._jobs, self._reserved = jobs, reserved
        self._durations = grid.round_durations([job.estimate for job in jobs], now)
        self._begin, self._end = grid.begin(now), grid.end(now)
        nb = len(nodes.out)
        self._node = np.arange(nb)
        """The node of each gap. The first gap of node i is gap i."""
        self._from, self._until = np.full(nb, self._begin), np.full(nb, inf)
        """When each gap begins and ends (seconds)."""
        self._placed: dict[int, Placed] = {}
        """The nodes of each job that was planned, by its place among the jobs."""
        self._ready: dict[int, Seconds] = {}
        self._refused: dict[int, float] = {}
        """By demand: the shortest duration with which a job cannot start now."""
        self._hopeless: dict[int, float] = {}
        """The same for jobs that cannot start within the window."""

    def find_starts(self) -> Iterator[Start]:
        """Give the decisions to start jobs now, and plan no more of them than needed."""
        kinds = {id(job.demand): job for job in self._jobs}
        room = {kind for kind, job in kinds.items() if self._needs(job)[0].find(job)}
        may = [at for at, job in enumerate(self._jobs) if id(job.demand) in room]
        if not may:
            return
        starts = self._place_all()
        for at in find_starting_now(self._begin, starts, may, self._durations, self._fits_now):
            job, free = self._jobs[at], self._machine.free_processors
            yield Start(job, self._nodes.choose(job, self._placed[at], free))
            self._ready.clear()

    def find_planned_start(self, job: Job) -> float:
        """Return the planned start (seconds) of one of the jobs; inf if it has no plan.

        Jobs before it that are planned for now have not started: they reserve their nodes whole.
        """
        planned = zip(self._jobs, self._place_all(reserve_now=True), strict=False)
        return next(start for each, start in planned if each is job)

    def _place_all(self, *, reserve_now: bool = False) -> Iterator[float]:
        """Give the start of each job, inf if there is none.

        A job is planned only when its turn is requested.
        """
        planned: Counter[int] = Counter()
        for at, job in enumerate(self._jobs):
            planned[job.partition] += 1
            only_now = 0 < self._reserved < planned[job.partition]
            if only_now and not self._fits_now(at):
                yield inf
            else:
                yield self._place(at, reserve_now=reserve_now)

    def _needs(self, job: Job) -> tuple[NodeRoom, Demand]:
        room, demand = self._machine.partitions[job.partition].nodes, job.demand
        assert room is not None
        assert demand is not None
        return room, demand

    def _find_ready(self, job: Job) -> Seconds:
        """Return when each node can hold each share of a job, in steps of the plan (seconds)."""
        ready = self._ready.get(id(job.demand))  # equal demands are one object
        if ready is None:
            room, demand = self._needs(job)
            ready = np.full((len(demand.shares), len(self._nodes.out)), inf)
            ready[:, room.numbers] = self._grid.round_ready(room.ready.find(demand), self._now)
            self._ready[id(demand)] = ready
        return ready

    def _fits_now(self, at: int) -> bool:
        """Return whether a job has room now, on nodes that no reservation needs before its end."""
        job, duration = self._jobs[at], self._durations[at]
        if duration >= self._refused.get(id(job.demand), inf):
            return False
        unreserved = self._until[: len(self._nodes.out)] >= self._begin + duration
        fit: Mask = unreserved & (self._find_ready(job) == self._begin)
        fits = assign(self._needs(job)[1].shares, fit, self._nodes.free) is not None
        if not fits:
            self._refused[id(job.demand)] = duration
        return fits

    def _place(self, at: int, *, reserve_now: bool) -> float:
        """Return the earliest start of a job, inf if none; reserve its nodes if it is later."""
        job, duration = self._jobs[at], self._durations[at]
        if duration >= self._hopeless.get(id(job.demand), inf):
            return inf
        shares = self._needs(job)[1].shares
        begins = np.maximum(self._from, self._find_ready(job)[:, self._node])
        begins[(begins + duration > self._until) | (begins >= self._end)] = inf
        nb = sum(share.nodes for share in shares)
        times = np.sort(begins, axis=None)[nb - 1 :].tolist() if nb > 1 else [float(begins.min())]
        for start in dict.fromkeys(times):
            if start == inf:
                break
            lasts = start + duration <= self._until
            fit = np.zeros((len(shares), len(self._nodes.out)), np.bool_)
            for mask, row in zip(fit, begins, strict=True):
                mask[self._node[lasts & (row <= start)]] = True
            placed = assign(shares, fit, self._nodes.free)
            if placed is not None:
                if (start > self._begin or reserve_now) and duration > 0:
                    self._reserve([node for node, _ in placed], start, start + duration)
                self._placed[at] = placed
                return float(start)
        self._hopeless[id(job.demand)] = duration
        return inf

    def _reserve(self, nodes: list[int], start: float, end: float) -> None:
        """Split the gaps of nodes in which ``start`` is."""
        chosen = np.zeros(len(self._nodes.out), np.bool_)
        chosen[nodes] = True
        gaps = chosen[self._node] & (self._from <= start) & (start < self._until)
        parts = self._node[gaps], np.full(len(nodes), end), self._until[gaps]
        self._until[gaps] = start
        rows = self._node, self._from, self._until
        self._node, self._from, self._until = map(np.concatenate, zip(rows, parts, strict=True))
