"""The schedule that a log recorded: how many processors were in use at each instant."""

from __future__ import annotations

import msgspec
import numpy as np

from batsched_py.workload.swf import LARGEST_INTEGER, Column, SwfLog


class RecordedSchedule(msgspec.Struct, frozen=True, eq=False):
    """The jobs that ran, by when they began and ended, and the processors in use.

    These are the jobs whose wait, run time and processors are known and whose run time is not 0.
    ``submit``, ``begin`` (each in ascending order, so the two do not belong together) have shape
    (jobs,); ``times``, ``in_use`` shape (instants,): from ``times[i]`` to the next instant
    ``in_use[i]`` processors are in use, none before the first and after the last.
    """

    submit: Column
    begin: Column
    times: Column
    in_use: Column

    @property
    def is_known(self) -> bool:
        """Whether there is any job of which all is known."""
        return len(self.times) > 0

    def means(self, edges: Column) -> list[float | None]:
        """Return the mean number in use between neighbouring ``edges``, which ascend.

        None where there is no time in between, and if nothing is known.
        """
        spans = np.diff(edges)
        if not self.is_known:
            return [None] * len(spans)
        area = np.concatenate([[0.0], np.cumsum(self.in_use[:-1] * np.diff(self.times))])
        areas = np.diff(np.interp(edges, self.times, area))
        return [
            float(part / span) if span > 0 else None
            for part, span in zip(areas, spans, strict=True)
        ]

    def peak(self) -> tuple[float, float]:
        """Return the largest number in use, and when that was so for the first time."""
        at = int(self.in_use.argmax())
        return float(self.in_use[at]), float(self.times[at])

    def seconds_above(self, processors: float) -> float:
        """Return for how long more processors than these were in use."""
        return float(np.diff(self.times)[self.in_use[:-1] > processors].sum())

    def idle(self, longer_than: float) -> Column:
        """Return when nothing ran for longer than some time: begins and ends, shape (n, 2)."""
        rows = np.flatnonzero((self.in_use[:-1] == 0) & (np.diff(self.times) > longer_than))
        return np.column_stack([self.times[rows], self.times[rows + 1]])

    def waited_before(self, ends: Column, at_least: float) -> Column:
        """Return how many jobs waited for ``at_least`` seconds when each idle stretch ended.

        Nothing began in such a stretch: whoever came so long before its end and had not begun
        waited.
        """
        came = np.searchsorted(self.submit, ends - at_least, side="right")
        result: Column = came - np.searchsorted(self.begin, ends, side="left").astype(float)
        return result


def recorded_schedule(log: SwfLog) -> RecordedSchedule:
    """Return what ran when; processors are the allocated ones, the requested where unknown."""
    allocated, wait, run = map(log.column, ("allocated_processors", "wait_time", "run_time"))
    size = np.where(allocated > 0, allocated, log.column("requested_processors"))
    submit = log.column("submit_time")
    with np.errstate(over="ignore"):
        end = submit + wait + run
    known = (wait >= 0) & (run > 0) & (size > 0) & (end <= LARGEST_INTEGER)
    submit, size, end = submit[known], size[known], end[known]
    begin = submit + wait[known]
    times = np.concatenate([begin, end])
    order = np.argsort(times, kind="stable")
    times = times[order]
    in_use = np.cumsum(np.concatenate([size, -size])[order])
    is_last = np.append(np.diff(times) > 0, np.ones(min(1, len(times)), dtype=bool))
    return RecordedSchedule(submit, np.sort(begin), times[is_last], in_use[is_last])
