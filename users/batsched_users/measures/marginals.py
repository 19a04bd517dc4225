"""Distributions over the users of a workload, and of its jobs over the hours of the week.

Source: N. Zakay, PhD thesis, chapter 3 (what a resampled workload must share with its log).
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.units import HOUR, WEEK
from batsched_users.measures.job_columns import Column, JobColumns
from batsched_users.measures.session_columns import SessionRows, cut_sessions


class Marginals(msgspec.Struct, frozen=True):
    """Distributions over k users: jobs, sessions, work and times, each sorted, shape (k,).

    To compare workloads with different numbers of users, draw them against rank / k.
    """

    jobs: Column
    """Number of jobs."""
    sessions: Column
    """Number of sessions."""
    session_length: Column
    """Mean length of the sessions, from first to last submission, in seconds."""
    work: Column
    """Processor-seconds of all jobs of known size and run time."""
    arrival: Column
    """First submission, seconds."""
    departure: Column
    """Last submission, seconds."""
    activity: Column
    """From first to last submission, seconds."""


def measure_marginals(columns: JobColumns, sessions: SessionRows | None = None) -> Marginals:
    """Measure the distributions over the users; sessions are cut by ``arrival:60:>`` by default."""
    sessions = cut_sessions(columns) if sessions is None else sessions
    users, owner = np.unique(sessions.user, return_inverse=True)
    k = len(users)
    begin, end = sessions.spans(columns)
    work = np.nan_to_num(columns.size * columns.run_time)[sessions.rows]
    job_owner = np.repeat(owner, sessions.nb_jobs)
    nb_sessions = np.bincount(owner, minlength=k).astype(np.float64)
    first, last = _ends(owner, begin, end)
    return Marginals(
        jobs=np.sort(np.bincount(job_owner, minlength=k).astype(np.float64)),
        sessions=np.sort(nb_sessions),
        session_length=np.sort(np.bincount(owner, end - begin, minlength=k) / nb_sessions),
        work=np.sort(np.bincount(job_owner, work, minlength=k)),
        arrival=np.sort(first),
        departure=np.sort(last),
        activity=np.sort(last - first),
    )


def _ends(owner: NDArray[np.intp], begin: Column, end: Column) -> tuple[Column, Column]:
    """Return the first and last submission of each user; sessions are in order, user by user."""
    opens = np.diff(owner, prepend=-1) != 0
    closes = np.diff(owner, append=-1) != 0
    return begin[opens], end[closes]


def jobs_by_hour_of_week(columns: JobColumns) -> NDArray[np.int64]:
    """Return the number of jobs in each hour of the week from Monday 0:00, shape (168,)."""
    hours = (columns.submit + columns.calendar.at_origin) % WEEK // HOUR
    return np.bincount(hours.astype(np.int64), minlength=168)
