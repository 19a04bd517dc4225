"""A scheduling step: waiting jobs, free processors over time, plans and their values.

Times are seconds; the free processors are half-open steps: a job that ends at t frees its
processors at t, so another may start on them at t.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, inf, isfinite, sqrt

import msgspec
import numpy as np

from batsched_py.errors import InvariantError, UsageError
from batsched_py.model.timeline import Timeline
from batsched_py.units import MINUTE

_TINY = 1e-9  # of a cell, for times that are not whole in binary


class PlannedJob(msgspec.Struct, frozen=True):
    """A waiting job in a plan; ``duration`` is its estimate in seconds."""

    id: str
    submit: float
    width: int
    duration: float


Plan = tuple[tuple[PlannedJob, float], ...]
"""Jobs and their planned starts in seconds."""


class Instance(msgspec.Struct, frozen=True):
    """A scheduling step: the waiting jobs at ``now``, and the free processors from then on.

    ``history`` are (time, free processors), increasing in time; the first begins at or before
    ``now`` and the last lasts for ever. Raises :class:`UsageError` for jobs that no plan can
    hold, :class:`InvariantError` for a history that makes no sense.
    """

    now: float
    history: tuple[tuple[float, int], ...]
    jobs: tuple[PlannedJob, ...]

    def __post_init__(self) -> None:
        times = [time for time, _ in self.history]
        if not times or times[0] > self.now or sorted(set(times)) != times:
            raise InvariantError(f"machine history at {self.now}: {self.history[:3]} ...")
        for job in self.jobs:
            if not isfinite(job.duration) or job.duration < 0:
                raise UsageError(
                    f"job {job.id} has no estimate of its run time, so it cannot be planned"
                )
            if job.width > self.history[-1][1]:
                raise UsageError(
                    f"job {job.id} needs {job.width} processors, but of those in use some are "
                    "never given back by the estimates"
                )


def place_in_order(instance: Instance, jobs: Iterable[PlannedJob]) -> Plan:
    """Return a plan of the jobs in order, each at the earliest time that moves no earlier job."""
    timeline = _timeline_of(instance)
    return tuple((job, timeline.place(job.width, job.duration)) for job in jobs)


def sum_weighted_responses(plan: Plan) -> float:
    """Return sum w (start - submit + d) over a plan, in processor-seconds.

    The numerator of ARTwW (Streit 2003, eq. 3.3), which the integer program minimises.
    """
    return sum(job.width * (start - job.submit + job.duration) for job, start in plan)


def compute_artww(plan: Plan) -> float:
    """Return the average response time weighted by width, in seconds (Streit 2003, eq. 3.3)."""
    return sum_weighted_responses(plan) / sum(job.width for job, _ in plan)


def find_last_end(plan: Plan) -> float:
    """Return when the last job of a plan ends by its estimate (seconds); -inf without jobs."""
    return max((start + job.duration for job, start in plan), default=-inf)


def compute_quality(best: Plan, other: Plan) -> float:
    """Return ARTwW of ``best`` / ARTwW of ``other`` (eq. 4.8); 1 if both are equally good.

    More than 1 is possible if ``best`` was found on a scaled time axis.
    """
    of_other = sum_weighted_responses(other)
    return sum_weighted_responses(best) / of_other if of_other else 1.0


def compute_loss(best: Plan, other: Plan) -> float:
    """Return the loss of ``other`` against ``best`` in per cent: 100 (1 - quality)."""
    return 100 * (1 - compute_quality(best, other))


def choose_scale(
    makespan: float, accumulated_run_time: float, memory_mb: float = 2000, x: float = 0.001
) -> float:
    """Return the length (seconds, whole minutes) of a cell of the time grid for a memory limit.

    sqrt(makespan * accumulated run time * x / memory), rounded up (Streit 2003, eq. 4.7), both
    in seconds. ``x`` is the memory of one entry in MB: the thesis prints 0.0001, its Table 4.4
    comes out with 0.001.
    """
    seconds = sqrt(makespan * accumulated_run_time * x / memory_mb)
    return MINUTE * max(1, ceil(seconds / MINUTE))


def count_from_now(instance: Instance) -> Instance:
    """Return the step with its times counted from ``now``."""
    now = instance.now
    return Instance(
        0.0,
        tuple((time - now, free) for time, free in instance.history),
        tuple(msgspec.structs.replace(job, submit=job.submit - now) for job in instance.jobs),
    )


def round_to_grid(instance: Instance, seconds: float) -> Instance:
    """Return the step with times in cells of a grid, each ``seconds`` long.

    Durations are rounded up to full cells (at least one), and a cell has as many processors as
    are free all through it, so that a plan on the grid is a plan on the exact scale too.
    """
    times = [(time - instance.now) / seconds for time, _ in instance.history]
    begins = [max(0, floor(time + _TINY)) for time in times]
    ends = [max(0, ceil(time - _TINY)) for time in times[1:]]
    free = np.full(begins[-1] + 2, np.iinfo(np.int64).max)
    for begin, end, (_, processors) in zip(begins, [*ends, None], instance.history, strict=True):
        part = free[begin:end]
        np.minimum(part, processors, out=part)
    changes = [0, *(np.flatnonzero(np.diff(free)) + 1)]
    return Instance(
        0.0,
        tuple((float(cell), int(free[cell])) for cell in changes),
        tuple(
            msgspec.structs.replace(
                job,
                submit=(job.submit - instance.now) / seconds,
                duration=max(1, ceil(job.duration / seconds - _TINY)),
            )
            for job in instance.jobs
        ),
    )


def _timeline_of(instance: Instance) -> Timeline:
    """Return the machine history as a timeline that begins at the instance's ``now``."""
    line = Timeline(instance.history[0][1], instance.now)
    for time, processors in instance.history[1:]:
        if time <= instance.now:
            line.free[-1] = processors
        else:
            line.times.append(time)
            line.free.append(processors)
    return line
