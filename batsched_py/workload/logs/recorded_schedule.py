"""The schedule that a log recorded: the processors in use at each instant."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.support.step_functions import Intervals
from batsched_py.workload.logs.swf import Column, SwfLog


class RecordedSchedule(msgspec.Struct, frozen=True, eq=False):
    """The recorded starts and ends of the jobs that ran, and the processors in use over time.

    These are the jobs whose wait, run time and processors are known and whose run time is not 0.
    ``submit`` and ``begin`` have shape (jobs,), each in ascending order, so that the two do not
    belong together; ``used`` are the processors in use, by jobs in the order of the log.
    """

    submit: Column
    begin: Column
    used: Intervals
    row: NDArray[np.intp]
    """Of the jobs of ``used`` in the log."""

    @property
    def is_known(self) -> bool:
        """Whether all times of any job are known."""
        return len(self.begin) > 0

    def means(self, edges: Column) -> list[float | None]:
        """Return the mean number of processors in use between neighbouring ``edges``, ascending.

        None where there is no time in between, and if nothing is known.
        """
        means = self.used.means(edges).tolist()
        return [mean if self.is_known and mean == mean else None for mean in means]

    def peak(self) -> tuple[float, float]:
        """Return the largest number of processors in use, and its first time (seconds)."""
        at = int(self.used.levels.argmax())
        return float(self.used.levels[at]), float(self.used.instants[at])

    def seconds_above(self, processors: float) -> float:
        """Return the seconds in which more than ``processors`` processors were in use."""
        above = self.used.levels[:-1] > processors
        return float(np.diff(self.used.instants)[above].sum())

    def idle(self, longer_than: float) -> Column:
        """Return the long times without running jobs: begins and ends, shape (n, 2)."""
        times, is_idle = self.used.instants, self.used.levels[:-1] == 0
        rows = np.flatnonzero(is_idle & (np.diff(times) > longer_than))
        return np.column_stack([times[rows], times[rows + 1]])

    def waited_before(self, ends: Column, at_least: float) -> Column:
        """Return the number of jobs that had waited ``at_least`` seconds when each idle time ended.

        Nothing began in an idle time. So a job that came that long before its end, and had not
        begun, waited.
        """
        came = np.searchsorted(self.submit, ends - at_least, side="right")
        result: Column = came - np.searchsorted(self.begin, ends, side="left").astype(float)
        return result


def recorded_schedule(log: SwfLog) -> RecordedSchedule:
    """Return the schedule of a log; unknown allocated processors are taken from the request."""
    allocated, wait, run = map(log.column, ("allocated_processors", "wait_time", "run_time"))
    size = np.where(allocated > 0, allocated, log.column("requested_processors"))
    submit = log.column("submit_time")
    end = submit + wait + run
    known = (wait >= 0) & (run > 0) & (size > 0)
    begin = submit[known] + wait[known]
    used = Intervals(begin, end[known], size[known])
    return RecordedSchedule(submit[known], np.sort(begin), used, np.flatnonzero(known))
