"""Waiting jobs of a log: how long they waited, which ones users withdrew, and when users acted.

An *event* is one user's withdrawals with gaps of up to 60 s. A job that starts leaves the exposure,
as a censored observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import InputError
from batsched_py.units import DAY, HOUR, MINUTE
from batsched_py.workload.logs.clock import find_clock
from batsched_py.workload.logs.swf import SwfLog
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.patience import WeekClock
from batsched_users.behaviour.withdrawal_habits import ABSENCES, AGES, EVENING, MORNING
from batsched_users.measures.job_columns import Column, Rows

EVENT_GAP = MINUTE
"""Longest gap between withdrawals of an event, seconds."""
_SILENCE = 30 * DAY
"""A log that goes on for longer after its last withdrawal has stopped to record them."""
_INTERACTIVE = 0
"""The queue of interactive jobs, by the definition of the format."""


class WaitingJobs(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The jobs of a log that waited, as columns of shape (n,), in order of submission."""

    user: NDArray[np.int64]
    submit: Column
    """Seconds."""
    wait: Column
    """Seconds to the start or to the withdrawal."""
    run_time: Column
    """Seconds; 0 for withdrawn jobs."""
    size: Column
    request: Column
    """Requested seconds, nan if unknown."""
    withdrawn: NDArray[np.bool_]
    """Whether the user withdrew the job."""
    censored: NDArray[np.bool_]
    """Whether it left the queue in another way than by start or withdrawal."""
    calendar: Calendar

    @property
    def left(self) -> Column:
        """When each job left the queue, seconds."""
        return self.submit + self.wait

    def select(self, rows: NDArray[np.bool_]) -> WaitingJobs:
        """Return the jobs in these rows."""
        names = (name for name in self.__struct_fields__ if name != "calendar")
        return msgspec.structs.replace(self, **{name: getattr(self, name)[rows] for name in names})


def find_waiting_jobs(log: SwfLog, *, after_own_end: float | None = None) -> WaitingJobs:
    """Return the jobs of a log whose waits are known, without interactive ones.

    Other jobs without run time are left out. A log that records no withdrawal in its last 30 days
    or more is cut at its last one. Withdrawals at most ``after_own_end`` seconds after the end of a
    job of the same user (None: no limit) count as censored: programs may have made them. Raises
    :class:`InputError` for a log without withdrawn jobs or without users.
    """
    run, wait, user = map(log.column, ("run_time", "wait_time", "user"))
    withdrawn = log.withdrawn
    used = (wait >= 0) & (user >= 0) & (withdrawn | (run > 0))
    used &= log.column("queue") != _INTERACTIVE
    submit = log.column("submit_time")
    if not (used & withdrawn).any():
        raise InputError(f"{log.path}: no withdrawn job with a known wait, so nothing to learn")
    last = (submit + wait)[used & withdrawn].max()
    if submit[used].max() > last + _SILENCE:
        used &= submit <= last
        wait = np.minimum(wait, np.maximum(last - submit, 0.0))
    request = log.column("requested_time")
    start, zone, _ = find_clock(log)
    jobs = WaitingJobs(
        user=user.astype(np.int64),
        submit=submit,
        wait=wait,
        run_time=np.where(withdrawn, 0.0, run),
        size=log.sizes,
        request=np.where(request > 0, request, np.nan),
        withdrawn=withdrawn,
        censored=np.zeros(len(log), dtype=np.bool_),
        calendar=Calendar.of_clock(start, zone),
    ).select(used)
    if after_own_end is None:
        return jobs
    own = jobs.withdrawn & (_since_own_end(jobs) <= after_own_end)
    return msgspec.structs.replace(jobs, withdrawn=jobs.withdrawn & ~own, censored=own)


def _since_own_end(jobs: WaitingJobs) -> Column:
    """Return the seconds since the last end of a job of the same user, when each job left."""
    ended = ~jobs.withdrawn
    end = (jobs.left + jobs.run_time)[ended]
    order = np.lexsort((end, jobs.user[ended]))
    ends, users = end[order], jobs.user[ended][order]
    scale = 1 + max(ends.max(initial=0.0), jobs.left.max(initial=0.0))
    place = np.searchsorted(users * scale + ends, jobs.user * scale + jobs.left, "right") - 1
    known = (place >= 0) & (users[place] == jobs.user) if len(ends) else jobs.left < 0
    return np.where(known, jobs.left - ends[place] if len(ends) else inf, inf)


# Measures ----------------------------------------------------------------------------------------


def estimate_share_withdrawn(jobs: WaitingJobs, ages: Sequence[float]) -> list[float]:
    """Return the share of jobs withdrawn by each age (seconds), if none started before.

    This is the estimate of Kaplan and Meier: a start censors.
    """
    order = np.lexsort((~jobs.withdrawn, jobs.wait))
    wait, withdrawn = jobs.wait[order], jobs.withdrawn[order]
    at_risk = np.arange(len(wait), 0, -1)
    left = np.concatenate([[1.0], np.cumprod(1 - withdrawn / at_risk)])
    return [float(1 - left[np.searchsorted(wait, age, side="right")]) for age in ages]


def measure_by_age(jobs: WaitingJobs) -> tuple[NDArray[np.int64], Column]:
    """Return the withdrawn jobs and the hours of waiting jobs, by age in the steps of AGES."""
    edges = np.array([*AGES, inf])
    counts = np.histogram(jobs.wait[jobs.withdrawn], edges)[0]
    hours = [
        float((np.minimum(jobs.wait, high) - low).clip(0).sum()) / HOUR
        for low, high in pairwise(edges.tolist())
    ]
    return counts, np.array(hours)


def find_events(jobs: WaitingJobs) -> list[Rows]:
    """Return the rows of the withdrawn jobs of each event, in order of users and times."""
    rows = np.flatnonzero(jobs.withdrawn)
    rows = rows[np.lexsort((jobs.left[rows], jobs.user[rows]))]
    new_user = np.diff(jobs.user[rows]) != 0
    gaps = np.diff(jobs.left[rows]) > EVENT_GAP
    return np.split(rows, np.flatnonzero(new_user | gaps) + 1)


def measure_by_absence(jobs: WaitingJobs) -> tuple[NDArray[np.int64], Column]:
    """Return the events and the hours of users with waiting jobs, each of shape (8, 2, 2).

    The axes are the time since the user's last visible act in the steps of ABSENCES, day or night,
    and day of the week or weekend. A visible act is a submission, or the end of a job that ran.
    """
    presence = _Presences.of(jobs)
    hours = np.zeros((len(ABSENCES), 2, 2))
    # Clocks that run only at some times show how long these last.
    clocks = [
        [WeekClock.of_times(jobs.calendar, night=night, weekend=end) for end in (False, True)]
        for night in (False, True)
    ]
    for step, (low, high) in enumerate(pairwise([*ABSENCES, inf])):
        begin = np.maximum(presence.begin, presence.acted + low)
        end = np.minimum(presence.end, presence.acted + high)
        some = end > begin
        for night in (0, 1):
            for weekend in (0, 1):
                read = clocks[night][weekend].read_all
                hours[step, night, weekend] = (read(end[some]) - read(begin[some])).sum() / HOUR
    counts = np.zeros(hours.shape, dtype=np.int64)
    firsts = np.array([event[0] for event in find_events(jobs)], dtype=np.intp)
    times, users = jobs.left[firsts], jobs.user[firsts]
    steps = np.searchsorted(ABSENCES, presence.since_act(users, times), side="right") - 1
    for step, time in zip(steps.tolist(), times.tolist(), strict=True):
        weekend = jobs.calendar.weekday(time) > 4
        night = not MORNING <= jobs.calendar.time_of_day(time) < EVENING
        counts[step, int(night), int(weekend)] += 1
    return counts, hours


class _Presences(msgspec.Struct, frozen=True, eq=False):
    """Spans of time in which a user has waiting jobs and does nothing, and all visible acts."""

    begin: Column
    end: Column
    acted: Column
    """Last visible act before each span."""
    acts: Column
    """A number for user and time of each act, ascending."""
    scale: float

    @classmethod
    def of(cls, jobs: WaitingJobs) -> _Presences:
        ran = ~(jobs.withdrawn | jobs.censored)
        ends = (jobs.left + jobs.run_time)[ran]
        nb, nb_ran = len(jobs.submit), int(ran.sum())
        time = np.concatenate([jobs.submit, jobs.left, ends])
        user = np.concatenate([jobs.user, jobs.user, jobs.user[ran]])
        change = np.concatenate([np.ones(nb), -np.ones(nb), np.zeros(nb_ran)])
        is_act = np.concatenate([np.ones(nb, bool), np.zeros(nb, bool), np.ones(nb_ran, bool)])
        kind = np.concatenate([np.ones(nb), np.full(nb, 2), np.zeros(nb_ran)])  # ends come first
        order = np.lexsort((kind, time, user))
        time, user, is_act = time[order], user[order], is_act[order]
        waiting = np.cumsum(change[order])  # 0 after the last event of each user
        last = time[np.maximum.accumulate(np.where(is_act, np.arange(len(time)), 0))]
        waits = (waiting[:-1] > 0) & (user[:-1] == user[1:])
        scale = 1 + float(time.max())
        acts = user[is_act] * scale + time[is_act]
        return cls(time[:-1][waits], time[1:][waits], last[:-1][waits], acts, scale)

    def since_act(self, users: NDArray[np.int64], times: Column) -> Column:
        """Return the seconds since the last visible act of each user at a time, shape (n,)."""
        keys = users * self.scale + times
        return keys - self.acts[np.searchsorted(self.acts, keys, side="right") - 1]


def find_rows_by_user(jobs: WaitingJobs) -> dict[int, Rows]:
    """Return the rows of each user's jobs, in order of submission."""
    order = np.lexsort((np.arange(len(jobs.user)), jobs.user))
    users, begins = np.unique(jobs.user[order], return_index=True)
    return dict(zip(users.tolist(), np.split(order, begins[1:]), strict=True))


def find_waiting_rows(jobs: WaitingJobs, rows: Rows, event: Rows) -> Rows:
    """Return the jobs that waited when an event began, of the ``rows`` of its user."""
    time = jobs.left[event[0]]
    leaves = (jobs.left[rows] == time) & jobs.withdrawn[rows]
    waiting: Rows = rows[(jobs.submit[rows] <= time) & ((jobs.left[rows] > time) | leaves)]
    return waiting
