"""Plans of backfilling: which jobs start now if each in turn is planned as early as it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil, floor, inf, nextafter

import msgspec
import numpy as np

from batsched_py.model.compiled.switch import placement
from batsched_py.model.nodes import Seconds
from batsched_py.model.site import Site
from batsched_py.model.timeline import MANY, Timeline

COMPILED_PAYS = 80
"""The number of jobs from which compiled code plans. With fewer jobs Python is as fast, since it
skips the jobs behind the last one that may start."""
BEYOND = 1 << 40
"""Processors that count as free after the planning window, where no job is planned."""


class Grid(msgspec.Struct, frozen=True):
    """The time steps of a plan: multiples of ``resolution`` s (0: any time), for ``window`` s.

    What begins within a step begins with it, and what ends within one ends with it. A job starts
    within the window or is not planned. (Durations are rounded as if each job started in the
    present step: so a later job may get a step more than it needs, as in Slurm.)
    """

    resolution: float = 60.0
    window: float = inf

    def begin(self, now: float) -> float:
        """Return the time (seconds) at which the step of ``now`` begins."""
        return floor(now / self.resolution) * self.resolution if self.resolution else now

    def end(self, now: float) -> float:
        """Return the end of the planning window at ``now``, in seconds."""
        return self.begin(now + self.window) if self.window < inf else inf

    def release(self, end: float, now: float) -> float:
        """Return when a plan frees the processors of a job that is expected to end at ``end``."""
        step = self.resolution
        if not step or end == inf:
            return max(end, nextafter(now, inf))
        return max(ceil(end / step) * step, self.begin(now) + step)

    def round_ready(self, times: Seconds, now: float) -> Seconds:
        """Return when nodes that are ready at ``times`` (-inf: now) are so in a plan (seconds)."""
        step = self.resolution
        ends = np.maximum(np.ceil(times / step) * step if step else times, self.release(now, now))
        return np.where(times == -inf, self.begin(now), ends)

    def round_durations(self, estimates: Sequence[float], now: float) -> list[float]:
        """Return how long jobs of these estimates occupy processors (seconds), in whole steps."""
        step = self.resolution
        if not step:
            return list(estimates)
        past = now - self.begin(now)
        if len(estimates) >= MANY:
            steps = np.ceil((past + np.array(estimates)) / step)
            durations: list[float] = (np.maximum(steps, 1) * step).tolist()
            return durations
        return [
            (ceil((past + estimate) / step) or 1) * step if estimate < inf else inf
            for estimate in estimates
        ]

    def make_timeline(self, site: Site, now: float) -> Timeline:
        """Return the free processors of a site over time; all jobs fit after the window."""
        free, last, step = site.free, self.end(now), self.resolution
        line = Timeline(free, self.begin(now))
        times, numbers = line.times, line.free
        soon = self.release(now, now)
        for end, size, _, _ in site.expected_releases():
            if end >= last:
                break
            if step:
                end = ceil(end / step) * step
            if end < soon:
                end = soon
            if end >= last:
                break
            free += size
            if end == times[-1]:
                numbers[-1] = free
            else:
                times.append(end)
                numbers.append(free)
        if last < inf:
            times.append(last)
            numbers.append(BEYOND)
        return line


def find_starting(
    line: Timeline, sizes: list[int], durations: list[float], reserved: int = 0
) -> Iterable[int]:
    """Give the places of the jobs that start now if the first ``reserved`` (0: all) are planned.

    The other jobs start now if that delays no plan, and are not planned if they cannot.
    """
    nb = len(sizes)
    if nb >= COMPILED_PAYS and not 0 < reserved < nb:
        chosen = placement.find_starting(line, np.array(sizes), np.array(durations))
        places: list[int] = chosen.tolist()
        return places
    begin, free = line.times[0], line.free[0]

    def fits_now(job: int) -> bool:
        return line.least_free(begin, begin + durations[job]) >= sizes[job]

    def starts() -> Iterator[float]:
        for job in range(nb):
            planned = not 0 < reserved <= job
            yield line.place(sizes[job], durations[job]) if planned or fits_now(job) else inf

    may = [job for job, size in enumerate(sizes) if size <= free]
    return find_starting_now(begin, starts(), may, durations, fits_now)


def find_starting_now(
    begin: float,
    starts: Iterator[float],
    may: list[int],
    durations: Sequence[float],
    fits_now: Callable[[int], bool],
) -> Iterator[int]:
    """Give the places of the jobs whose planned start is ``begin``, and plan no more than needed.

    ``starts`` plans the next job at each step, until no further job can start.
    ``may`` are the places of the jobs that might start, ascending. ``fits_now`` says whether a job
    still fits beside the plan so far; it is asked about the last of them, and again only if
    something is planned from before it would have ended.
    """
    end = inf
    for job, start in enumerate(starts):
        if start == begin:
            yield job
        if start <= end:
            while may and may[-1] > job and not fits_now(may[-1]):
                may.pop()
            end = begin + durations[may[-1]] if may else inf
        if not may or may[-1] <= job:
            return
