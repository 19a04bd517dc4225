"""Metrics of users: sessions, activity and throughput.

Over all jobs of known users, rejected and withdrawn ones included, since a user submitted them too.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.results.job_table import Column, JobTable
from batsched_py.support.quotient import ratio
from batsched_py.units import HOUR, MINUTE, WEEK

ARRIVAL_GAP = HOUR
"""Between submissions of one session at most this (Zakay's method Arrival), seconds."""
THINK_GAP = 20 * MINUTE
"""Between an end and the next submission of one session at most this (Shmueli), seconds."""


def sessions_per_user(table: JobTable) -> float:
    """Sessions by user; a new one begins more than 60 min after the last submission.

    Unit: sessions. Source: Zakay, PhD thesis, chapter 2 (Arrival).
    """
    jobs = _by_user(table)
    return ratio(float(_arrival(jobs).sum()), float(jobs.first.sum()))


def jobs_per_session_arrival_60(table: JobTable) -> float:
    """Jobs by session; a new one begins more than 60 min after the last submission.

    Unit: jobs. Source: Zakay, PhD thesis, chapter 2 (Arrival).
    """
    jobs = _by_user(table)
    return ratio(len(jobs.first), float(_arrival(jobs).sum()))


def jobs_per_session_think_20(table: JobTable) -> float:
    """Session length: jobs by session; a new one begins > 20 min after the last job's end.

    The last job is the user's previous one in order of submission; a rejected one ends at once, a
    withdrawn one at its withdrawal.

    Unit: jobs. Source: Shmueli and Feitelson 2009.
    """
    jobs = _by_user(table)
    opens = jobs.first.copy()
    opens[1:] |= jobs.submit[1:] - jobs.end[:-1] > THINK_GAP
    return ratio(len(opens), float(opens.sum()))


def mean_session_length_arrival_60(table: JobTable) -> float:
    """Mean time from the first to the last submission of a session (60 min between them).

    Unit: s. Source: Zakay, PhD thesis, chapter 2 (Arrival).
    """
    jobs = _by_user(table)
    return _mean_span(jobs.submit, _arrival(jobs))


def mean_activity_length(table: JobTable) -> float:
    """Mean over users of the time from the first to the last submission.

    Unit: s. Source: Zakay, PhD thesis.
    """
    jobs = _by_user(table)
    return _mean_span(jobs.submit, jobs.first)


def active_weeks_per_user(table: JobTable) -> float:
    """Weeks in which a user submits, mean over users; 7 days each from the first submission.

    Unit: weeks. Source: Zakay, PhD thesis, chapter 5.
    """
    jobs = _by_user(table)
    week = np.floor((jobs.submit - table.submit.min()) / WEEK)
    new = jobs.first.copy()
    new[1:] |= np.diff(week) > 0
    return ratio(float(new.sum()), float(jobs.first.sum()))


def throughput_per_user(table: JobTable) -> float:
    """Jobs of all users over the time that they are there, first submission to last end, summed.

    The mean of each user's ratio would be another number, which diverges where users leave soon.

    Unit: jobs/h. Source: Zakay, PhD thesis, chapter 6.
    """
    jobs = _by_user(table)
    if not len(jobs.first):
        return float("nan")
    begins = np.flatnonzero(jobs.first)
    there = np.maximum.reduceat(jobs.end, begins) - jobs.submit[begins]
    return ratio(len(jobs.first), float(there.sum()) / HOUR)


def jobs_by_hour_of_week(table: JobTable, time_of_week: float = 0.0) -> NDArray[np.int64]:
    """Return the submissions in each hour of the week, Monday 0:00 first; shape (168,).

    ``time_of_week`` is the local time at 0 s, in seconds from Monday 0:00.
    Source: Zakay, PhD thesis.
    """
    hours = np.floor((table.submit + time_of_week) / HOUR).astype(np.int64) % 168
    return np.bincount(hours, minlength=168)


class _ByUser(msgspec.Struct):
    """Jobs of known users, user by user, each in order of submission; columns of shape (n,)."""

    submit: Column
    end: Column
    first: NDArray[np.bool_]
    """Whether it is the first job of its user."""


def _by_user(table: JobTable) -> _ByUser:
    # Kept with the table, since most metrics of this module need it.
    kept: _ByUser | None = table.__dict__.get("_by_user")
    if kept is None:
        number = table.user_number
        order = np.lexsort((table.submit, number))
        order = order[np.searchsorted(number[order], 0) :]
        submit, left = table.submit[order], table.left[order]
        first = np.diff(number[order], prepend=-1) > 0
        kept = _ByUser(submit, np.where(np.isnan(left), submit, left), first)
        table.__dict__["_by_user"] = kept
    return kept


def _arrival(jobs: _ByUser) -> NDArray[np.bool_]:
    opens = jobs.first.copy()
    opens[1:] |= np.diff(jobs.submit) > ARRIVAL_GAP
    return opens


def _mean_span(submit: Column, opens: NDArray[np.bool_]) -> float:
    """Return the mean time from the first to the last submission of the groups so opened."""
    begins = np.flatnonzero(opens)
    lasts = np.append(begins[1:], len(submit)) - 1
    return ratio(float((submit[lasts] - submit[begins]).sum()) if len(begins) else 0, len(begins))
