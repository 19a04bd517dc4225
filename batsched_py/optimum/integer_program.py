"""The integer program that finds the best plan of a scheduling step; HiGHS solves it.

x[c, p] is the number of jobs of class c (equal width and duration) that start at time point p:

- minimise sum w p x[c, p], which differs from the numerator of ARTwW by a constant;
- sum over p of x[c, p] = the number of jobs in c;
- for each point t: sum of w x[c, p] over t - d < p <= t is at most what is free at t.

Streit 2003, section 4.6, has every second as a point and the lower bound t - d <= p, which counts
a job that ends at t. Here the points are only those at which a job of a plan that cannot be moved
forward may start: what is free rises there, or a job ends there, so each is such a rise plus
durations of some jobs. That loses no optimum.
"""

from __future__ import annotations

from math import inf
from typing import Any

import msgspec
import numpy as np

from batsched_py.errors import UsageError, parameter
from batsched_py.optimum.scheduling_step import Instance

MOST_ENTRIES = 10_000_000
"""The most entries of a matrix that is tried: HiGHS needs some hundred bytes for each."""
TOO_LARGE = (
    "the step at {0:g} with {1} jobs is too large for the solver: take a larger "
    + parameter("scale")
)


class Relaxed(msgspec.Struct, frozen=True):
    """A solution with fractions of jobs: its value, which is a lower bound, and reduced costs."""

    value: float
    x: Any
    reduced_costs: Any


class Solved(msgspec.Struct, frozen=True):
    """The result of the solver: x (None without a solution), a lower bound, and if it finished."""

    x: Any
    bound: float
    finished: bool


class _Class(msgspec.Struct, frozen=True):
    """Jobs alike in width and duration: places in the instance, and points they may start at."""

    width: int
    duration: float
    members: list[int]
    starts: Any


class Program:
    """The integer program for ``instance``, all of whose jobs end by ``horizon``.

    Raises :class:`UsageError` if it is too large.
    """

    def __init__(self, instance: Instance, horizon: float) -> None:
        self._points, self._free = _points(instance, horizon)
        self._classes = _classes(instance, self._points, self._free, horizon)
        self._counts = np.array([len(kind.members) for kind in self._classes], dtype=float)
        sizes = [len(kind.starts) for kind in self._classes]
        self._most = np.repeat(self._counts, sizes)
        self._costs = np.concatenate(
            [kind.width * self._points[kind.starts] for kind in self._classes]
        )
        self._matrix = self._make_matrix(instance)

    def _make_matrix(self, instance: Instance) -> Any:
        """Return the constraints: one row for each point, then one for each class."""
        from scipy.sparse import coo_array

        ends = [
            np.searchsorted(self._points, self._points[kind.starts] + kind.duration)
            for kind in self._classes
        ]
        spans = [end - kind.starts for end, kind in zip(ends, self._classes, strict=True)]
        if sum(int(span.sum()) for span in spans) > MOST_ENTRIES:
            raise UsageError(TOO_LARGE.format(instance.now, len(instance.jobs)))
        rows, columns, values, column = [], [], [], 0
        for number, (kind, span) in enumerate(zip(self._classes, spans, strict=True)):
            variables = np.arange(column, column + len(kind.starts))
            column += len(variables)
            first = np.repeat(np.cumsum(span) - span, span)
            rows.append(np.repeat(kind.starts, span) + np.arange(span.sum()) - first)
            rows.append(np.full(len(variables), len(self._points) + number))
            columns += [np.repeat(variables, span), variables]
            values += [np.full(span.sum(), float(kind.width)), np.ones(len(variables))]
        return coo_array(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
            shape=(len(self._points) + len(self._classes), column),
        ).tocsc()

    def relax(self, seconds: float) -> Relaxed | None:
        """Solve with fractions of jobs allowed; None if ``seconds`` do not suffice."""
        from scipy.optimize import linprog

        nb = len(self._points)
        rows = self._matrix.tocsr()
        result = linprog(
            self._costs,
            A_ub=rows[:nb],
            b_ub=self._free,
            A_eq=rows[nb:],
            b_eq=self._counts,
            bounds=np.column_stack((np.zeros_like(self._most), self._most)),
            method="highs-ds",
            options=_time_limit(seconds),
        )
        if result.status != 0:
            return None
        return Relaxed(float(result.fun), result.x, result.lower.marginals)

    def solve(
        self, relaxed: Relaxed | None, upper_bound: float, seconds: float, mip_rel_gap: float
    ) -> Solved:
        """Solve with whole jobs; ``upper_bound`` is the value of a known plan.

        What would cost more than ``upper_bound`` by its reduced costs is left out of the program.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        columns = np.arange(len(self._costs))
        bound = 0.0  # nobody starts before now
        if relaxed is not None:
            bound = relaxed.value
            slack = upper_bound - bound + 1e-6 * (1 + abs(upper_bound))
            columns = np.flatnonzero(relaxed.reduced_costs <= slack)
        least = np.concatenate((np.full(len(self._points), -inf), self._counts))
        most = np.concatenate((self._free, self._counts))
        result = milp(
            self._costs[columns],
            integrality=np.ones(len(columns)),
            bounds=Bounds(0, self._most[columns]),
            constraints=LinearConstraint(self._matrix[:, columns], least, most),
            options={"mip_rel_gap": mip_rel_gap, **_time_limit(seconds)},
        )
        solution = None
        if result.x is not None:
            solution = np.zeros(len(self._costs))
            solution[columns] = np.round(result.x)
        if result.mip_dual_bound is not None:
            bound = max(bound, min(result.mip_dual_bound, upper_bound))
        return Solved(solution, bound, result.status == 0)

    def read_starts(self, x: Any) -> list[float]:
        """Return a start for each job from a solution; the middle one where a class is split.

        Of a class the first members get the first starts.
        """
        starts = [inf] * int(self._counts.sum())
        column = 0
        for kind in self._classes:
            reached = np.cumsum(x[column : column + len(kind.starts)])
            column += len(kind.starts)
            for rank, member in enumerate(kind.members):
                at = min(int(np.searchsorted(reached, rank + 0.5)), len(reached) - 1)
                starts[member] = float(self._points[kind.starts[at]])
        return starts


def _time_limit(seconds: float) -> dict[str, float]:
    return {"time_limit": max(seconds, 0.01)} if seconds < inf else {}


def _points(instance: Instance, horizon: float) -> tuple[Any, Any]:
    """Return the points in time, ascending, and the free processors from each on (at least 0)."""
    times = [max(time, instance.now) for time, _ in instance.history]
    points = np.unique([time for time in times if time < horizon])
    for job in sorted(instance.jobs, key=lambda job: -job.duration):  # many are beyond then
        later = points + job.duration
        points = np.union1d(points, later[later < horizon])
        if len(points) * len(instance.jobs) > MOST_ENTRIES:
            raise UsageError(TOO_LARGE.format(instance.now, len(instance.jobs)))
    at = np.searchsorted(times, points, side="right") - 1
    free = np.array([float(processors) for _, processors in instance.history])
    return points, np.maximum(free[at], 0)


def _classes(instance: Instance, points: Any, free: Any, horizon: float) -> list[_Class]:
    alike: dict[tuple[int, float], list[int]] = {}
    for at, job in enumerate(instance.jobs):
        alike.setdefault((job.width, job.duration), []).append(at)
    return [
        _Class(width, duration, members, _possible_starts(points, free, width, duration, horizon))
        for (width, duration), members in alike.items()
    ]


def _possible_starts(points: Any, free: Any, width: int, duration: float, horizon: float) -> Any:
    """Return the points at which a job could start if it were alone, and end by ``horizon``."""
    blocked = np.concatenate(([0], np.cumsum(free < width)))
    ends = points + duration
    alone = blocked[np.searchsorted(points, ends)] == blocked[:-1]
    return np.flatnonzero(alone & (ends <= horizon))
