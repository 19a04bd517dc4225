"""A plan on nodes that jobs share: which jobs start now, and which nodes are kept for others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from batsched_py.model.decisions import Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.nodes import Mask, NodeRoom, Nodes, Placed, assign, can_assign
from batsched_py.model.ready_times import Seconds
from batsched_py.schedulers.multifactor.backfill_plan import Grid, find_starting_now
from batsched_py.workload.node_shares import Demand

Kind = int
"""The identity of a demand: a partition has one object for equal demands."""


class NodePlan:
    """A plan of starts on ``nodes`` of which jobs hold parts, in partitions that may overlap.

    A job that starts now holds its shares. A job that is planned for later reserves its nodes
    whole, as in Slurm. Between reservations, a node has gaps, into which other jobs may be planned.
    """

    def __init__(self, nodes: Nodes, machine: Machine, grid: Grid, now: float) -> None:
        self._nodes, self._machine, self._grid, self._now = nodes, machine, grid, now
        self._begin, self._end = grid.begin(now), grid.end(now)
        nb = len(nodes.out)
        self._node = np.arange(nb)
        """The node of each gap. The first gap of node i is gap i."""
        self._from, self._until = np.full(nb, self._begin), np.full(nb, inf)
        """When each gap begins and ends (seconds)."""
        self._gap_of = np.zeros(nb, np.intp)
        self._ready: dict[Kind, Seconds] = {}
        self._refused: dict[Kind, float] = {}
        """The shortest duration with which jobs of a kind cannot start now."""

    def find_starts(self, jobs: Sequence[Job], reserved: int) -> Iterator[Start]:
        """Give the decisions to start ``jobs`` now, and plan no more of them than needed.

        The first ``reserved`` jobs (0: all) of each partition are planned. Later ones start now if
        that delays no plan.
        """
        views, has_room = self._machine.partitions, dict[Kind, bool]()
        may = []
        for at, job in enumerate(jobs):
            kind = id(job.demand)
            has = has_room.get(kind)
            if has is None:
                has = has_room[kind] = self._room_of(job).has_room(_demand_of(job))
            if has:
                may.append(at)
        if not may:
            return
        jobs = jobs[: may[-1] + 1]  # no job behind these starts
        durations = self._grid.round_durations([job.estimate for job in jobs], self._now)
        chosen: list[Placed] = []

        def starts() -> Iterator[float]:
            for start, placed in self._place_all(jobs, durations, reserved):
                chosen.append(placed)
                yield start

        def fits_now(at: int) -> bool:
            return self._fits_now(jobs[at], durations[at])

        for at in find_starting_now(self._begin, starts(), may, durations, fits_now):
            free = views[jobs[at].partition].free_processors
            yield Start(jobs[at], self._nodes.choose(jobs[at], chosen[at], free))
            self._ready.clear()

    def find_planned_start(self, job: Job, jobs: Sequence[Job], reserved: int) -> float:
        """Return the planned start (seconds) of ``job``, one of ``jobs``; inf if it has no plan.

        Jobs before it that are planned for now have not started: they reserve their nodes whole.
        """
        durations = self._grid.round_durations([each.estimate for each in jobs], self._now)
        planned = self._place_all(jobs, durations, reserved, reserve_now=True)
        return next(start for each, (start, _) in zip(jobs, planned, strict=False) if each is job)

    def _place_all(
        self,
        jobs: Sequence[Job],
        durations: Sequence[float],
        reserved: int,
        *,
        reserve_now: bool = False,
    ) -> Iterator[tuple[float, Placed]]:
        """Give the start of each job, inf if it is not planned, and its nodes.

        A job is planned only when its turn is requested.
        """
        planned: Counter[int] = Counter()
        for job, duration in zip(jobs, durations, strict=True):
            planned[job.partition] += 1
            if 0 < reserved < planned[job.partition] and not self._fits_now(job, duration):
                yield inf, []
            else:
                yield self._place(job, duration, reserve_now=reserve_now)

    def _find_ready(self, job: Job) -> Seconds:
        """Return when each node can hold each share of a job, in steps of the plan (seconds)."""
        kind = id(job.demand)
        if kind not in self._ready:
            room, demand = self._room_of(job), _demand_of(job)
            self._ready[kind] = np.full((len(demand.shares), len(self._nodes.out)), inf)
            times = self._grid.round_ready(room.ready.find(demand), self._now)
            self._ready[kind][:, room.numbers] = times
        return self._ready[kind]

    def _fits_now(self, job: Job, duration: float) -> bool:
        """Return whether a job has room now, on nodes that no reservation needs before its end."""
        kind = id(job.demand)
        if duration >= self._refused.get(kind, inf):
            return False
        unreserved = self._until[: len(self._gap_of)] >= self._begin + duration
        fit: list[Mask] = [unreserved & (ready == self._begin) for ready in self._find_ready(job)]
        if can_assign(_demand_of(job).shares, fit, self._nodes.free):
            return True
        self._refused[kind] = duration
        return False

    def _place(self, job: Job, duration: float, *, reserve_now: bool) -> tuple[float, Placed]:
        """Return the earliest start of a job, and its nodes, which are reserved if it is later."""
        shares = _demand_of(job).shares
        begins = np.maximum(self._from, self._find_ready(job)[:, self._node])
        begins[(begins + duration > self._until) | (begins >= self._end)] = inf
        nb = sum(share.nodes for share in shares)
        times = np.sort(begins, axis=None)[nb - 1 :].tolist() if nb > 1 else [float(begins.min())]
        last = -inf
        for start in times:
            if start == inf:
                break
            if start == last:
                continue
            last = start
            lasts = start + duration <= self._until
            fit: list[Mask] = []
            for row in begins:
                fit.append(np.zeros(len(self._gap_of), np.bool_))
                fit[-1][self._node[lasts & (row <= start)]] = True
            placed = assign(shares, fit, self._nodes.free)
            if placed is not None:
                if start > self._begin or reserve_now:
                    (gaps,) = (lasts & (self._from <= start)).nonzero()
                    self._gap_of[self._node[gaps]] = gaps
                    self._reserve(self._gap_of[[node for node, _ in placed]], start, duration)
                return start, placed
        return inf, []

    def _reserve(self, gaps: NDArray[np.intp], start: float, duration: float) -> None:
        """Split gaps around a reservation."""
        end = start + duration
        if start == end:
            return
        before, self._until[gaps] = self._until[gaps], start
        (rest,) = ((before > end) & (end < self._end)).nonzero()
        if len(rest):
            self._node = np.concatenate((self._node, self._node[gaps[rest]]))
            self._from = np.concatenate((self._from, np.full(len(rest), end)))
            self._until = np.concatenate((self._until, before[rest]))

    def _room_of(self, job: Job) -> NodeRoom:
        room = self._machine.partitions[job.partition].nodes
        assert room is not None
        return room


def _demand_of(job: Job) -> Demand:
    assert job.demand is not None
    return job.demand
