"""Finds the best plan of a step: by local search first, then by the integer program."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import ceil, inf

import msgspec

from batsched_py.optimum.integer_program import Program
from batsched_py.optimum.scheduling_step import (
    Instance,
    Plan,
    count_from_now,
    find_last_end,
    place_in_order,
    round_to_grid,
    sum_weighted_responses,
)

OPTIMAL, TIME_LIMIT = "optimal", "time limit"
_TINY = 1e-9


class Solution(msgspec.Struct, frozen=True):
    """The best plan that the solver found.

    ``value`` is its sum w (start - submit + d) in processor-seconds. ``status`` is ``optimal``
    (on the solver's time axis) or ``time limit``; ``gap`` is the share of the value by which the
    optimum of that axis may be less. ``seconds`` is how long it took.
    """

    plan: Plan
    value: float
    status: str
    gap: float
    seconds: float


def solve(
    instance: Instance,
    plans: Sequence[Plan],
    *,
    scale: float | None = None,
    time_limit: float = inf,
    mip_rel_gap: float = 0.0,
) -> Solution:
    """Return the plan with the least sum of w (start - submit + d) for the jobs of a step.

    ``plans`` are those of the policies; the last of their ends is the horizon. ``scale`` is the
    grid in seconds; with None time is exact, and the plan the optimum within the horizon. The
    order of starts on the grid is planned anew on the exact scale, each job as soon as possible,
    which moves no job back. ``time_limit`` is in seconds, a ``mip_rel_gap`` counts as optimal.
    Raises :class:`UsageError` for a program that is too large.
    """
    begin = time.perf_counter()
    if not instance.jobs:
        return Solution((), 0.0, OPTIMAL, 0.0, 0.0)
    search = _Search(instance, plans, scale, begin + time_limit)
    program = Program(search.work, search.horizon)
    relaxed = program.relax(search.seconds_left())
    if relaxed is not None:
        search.try_starts(program.read_starts(relaxed.x))
    search.improve()
    solved = program.solve(relaxed, search.value, search.seconds_left(), mip_rel_gap)
    if solved.x is not None:
        search.keep_starts(program.read_starts(solved.x))
    plan = search.exact_plan()
    return Solution(
        plan,
        sum_weighted_responses(plan),
        OPTIMAL if solved.finished else TIME_LIMIT,
        search.gap(solved.bound),
        time.perf_counter() - begin,
    )


class _Search:
    """The best starts so far on the solver's time axis; at first those of list orders.

    They are a bound that the solver needs, and the result if its time is over. All plans that are
    kept end by the horizon.
    """

    def __init__(
        self, instance: Instance, plans: Sequence[Plan], scale: float | None, deadline: float
    ) -> None:
        self.work = count_from_now(instance) if scale is None else round_to_grid(instance, scale)
        self.value = inf
        """Sum of w * start in units of the time axis."""
        self._instance = instance
        self._deadline = deadline
        self._starts: list[float] = []
        place = {job.id: number for number, job in enumerate(instance.jobs)}
        orders = [
            [place[job.id] for job, _ in sorted(plan, key=lambda planned: planned[1])]
            for plan in plans
        ]
        ends = [find_last_end(plan) - instance.now for plan in plans]
        if scale is not None:
            ends = [float(ceil(end / scale - _TINY)) for end in ends]
        ends += [find_last_end(self._placed(order)) for order in orders]
        self.horizon = max(ends)
        for order in orders:
            self._try_order(order)

    def seconds_left(self) -> float:
        return self._deadline - time.perf_counter()

    def try_starts(self, starts: list[float]) -> None:
        """Plan in the order of ``starts``, and keep the plan if it is better."""
        self._try_order(self._by_start(starts))

    def keep_starts(self, starts: list[float]) -> None:
        """Keep ``starts``, which are feasible, if they are better."""
        value = sum(job.width * start for job, start in zip(self.work.jobs, starts, strict=True))
        if value < self.value - _TINY * abs(self.value):
            self.value, self._starts = value, starts

    def improve(self) -> None:
        """Move single jobs in the order as long as it helps, in at most half of the time left."""
        until = self._deadline - self.seconds_left() / 2
        order = self._by_start(self._starts)
        moves = [(i, j) for i in range(len(order)) for j in range(len(order)) if i != j]
        last = None
        while True:
            for move in moves:
                if move == last or time.perf_counter() > until:
                    return
                other = order[:]
                other.insert(move[1], other.pop(move[0]))
                if self._try_order(other):
                    order, last = other, move
            if last is None:
                return

    def exact_plan(self) -> Plan:
        """Return the plan, on the exact time scale, in the order of the best starts."""
        jobs = self._instance.jobs
        return place_in_order(self._instance, [jobs[at] for at in self._by_start(self._starts)])

    def gap(self, bound: float) -> float:
        """Return the most that the best plan may be above the optimum, as a share of its value."""
        rest = sum(job.width * (job.duration - job.submit) for job in self.work.jobs)
        gap = (self.value - bound) / (self.value + rest) if self.value > bound else 0.0
        return gap if gap > _TINY else 0.0

    def _by_start(self, starts: list[float]) -> list[int]:
        """Return the jobs' places by start; of equals the shortest first.

        Smith's ratio w / (w d) is the largest for these.
        """
        jobs = self._instance.jobs
        return sorted(range(len(jobs)), key=lambda at: (starts[at], jobs[at].duration, at))

    def _try_order(self, order: list[int]) -> bool:
        plan = self._placed(order)
        value = sum(job.width * start for job, start in plan)
        if value >= self.value or find_last_end(plan) > self.horizon:
            return False
        starts = [0.0] * len(order)
        for at, (_, start) in zip(order, plan, strict=True):
            starts[at] = start
        self.value, self._starts = value, starts
        return True

    def _placed(self, order: list[int]) -> Plan:
        return place_in_order(self.work, [self.work.jobs[at] for at in order])
