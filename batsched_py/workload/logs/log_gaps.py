"""Finds gaps in a log: times without submissions or running jobs, or few jobs in the beginning."""

from __future__ import annotations

from math import log as ln

import msgspec
import numpy as np

from batsched_py.units import DAY, HOUR, WEEK
from batsched_py.workload.logs.recorded_schedule import RecordedSchedule
from batsched_py.workload.logs.swf import Column, SwfLog

CHANCE = 0.01
"""How likely a whole log has one such gap by chance, if users came at the rate of the hour."""
LONGEST_WEEKEND = 3 * DAY


class Gap(msgspec.Struct, frozen=True):
    """A stretch of time without submissions or running jobs, in seconds of the log."""

    begin: float
    end: float
    expected: float
    """Hours of users' activity that the hours of the week let expect in it."""
    waited: int = 0
    """How many jobs waited for an hour or more when it ended."""

    @property
    def length(self) -> float:
        """The length of the gap in seconds."""
        return self.end - self.begin


class Rhythm:
    """The activity of users in each hour of the week.

    A user is active in an hour if a job is submitted then; jobs are not a measure, as they come in
    bursts. The rate of each of the 168 hours (of the week of second 0) is the log's mean.
    """

    def __init__(self, log: SwfLog) -> None:
        submit = log.column("submit_time")
        hour = np.floor(submit / HOUR)
        order = np.lexsort((log.column("user"), hour))
        hour, user = hour[order], log.column("user")[order]
        differs = np.append(True, (np.diff(hour) != 0) | (np.diff(user) != 0))
        weeks = max(1.0, float(np.ptp(submit)) / WEEK)
        active = np.bincount((hour[differs] % 168).astype(int), minlength=168)
        self._until_hour = np.append(0.0, np.cumsum(active)) / weeks
        most = int(differs.sum())
        self.threshold = ln(most / CHANCE)
        """A gap that expects more than this is beyond chance: exp(-threshold) x gaps = CHANCE."""

    def expected(self, begin: Column, end: Column) -> Column:
        """Return the expected hours of users' activity in each stretch of time."""
        return self._until(end) - self._until(begin)

    def _until(self, times: Column) -> Column:
        weeks, rest = np.divmod(times, WEEK)
        of_week: Column = np.interp(rest, np.arange(169) * HOUR, self._until_hour)
        result: Column = weeks * self._until_hour[-1] + of_week
        return result


def find_gaps_in_submission(log: SwfLog, rhythm: Rhythm) -> list[Gap]:
    """Return the gaps in submission that the rhythm does not explain, the longest first."""
    submit = log.column("submit_time")
    expected = rhythm.expected(submit[:-1], submit[1:])
    rows = np.flatnonzero(expected > rhythm.threshold)
    gaps = [Gap(float(submit[i]), float(submit[i + 1]), float(expected[i])) for i in rows]
    return sorted(gaps, key=lambda gap: -gap.length)


def find_gaps_in_running(schedule: RecordedSchedule, rhythm: Rhythm) -> list[Gap]:
    """Return the times of over an hour without running jobs though jobs waited, longest first.

    Either jobs waited for an hour or more when the gap ended (schedulers start jobs within minutes
    on a free machine), or nothing was submitted for longer than the rhythm explains.
    """
    begin, end = schedule.idle(HOUR).T
    waited = schedule.waited_before(end, HOUR)
    expected = rhythm.expected(begin, end)
    rows = np.flatnonzero((waited > 0) | (expected > rhythm.threshold))
    gaps = [Gap(float(begin[i]), float(end[i]), float(expected[i]), int(waited[i])) for i in rows]
    return sorted(gaps, key=lambda gap: -gap.length)


def count_thin_beginning(submit: Column, week: float) -> int:
    """Return the number of jobs in a thin beginning of the log, 0 if there is none.

    Logs hold what ended after recording began, so some begin with a few jobs from days before; the
    archive cuts them off (``job<=14`` in KTH's). The beginning lasts as long as jobs come at less
    than half the rate of an ordinary week (``week`` jobs): up to the job where half that rate is
    furthest ahead of the jobs that came. A gap up to a long weekend does not count.
    """
    ahead = (submit - submit[0]) * (week / 2 / WEEK) - np.arange(len(submit))
    nb = int(ahead.argmax())
    return nb if submit[nb] - submit[0] > LONGEST_WEEKEND else 0
