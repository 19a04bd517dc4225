"""Cuts jobs in columns into sessions, for all users at once."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError
from batsched_users.measures.job_columns import Column, JobColumns, Rows
from batsched_users.sessions.delimitation import Delimitation


class SessionRows(msgspec.Struct, frozen=True):
    """The m sessions of all users, user by user in order of submission, as ranges of rows."""

    rows: Rows
    """Rows of the jobs of known users in the columns, session by session; shape (k,)."""
    bounds: Rows
    """Session i has ``rows[bounds[i]:bounds[i + 1]]``; shape (m + 1,)."""
    user: NDArray[np.int64]
    """Number of the user of each session, shape (m,)."""

    @property
    def nb_jobs(self) -> Rows:
        """Number of jobs of each session, at least 1; shape (m,)."""
        return np.diff(self.bounds)

    def spans(self, columns: JobColumns) -> tuple[Column, Column]:
        """Return the first and the last submission of each session in seconds, shape (m,) each."""
        submit = columns.submit[self.rows]
        return submit[self.bounds[:-1]], submit[self.bounds[1:] - 1]


BY_ARRIVAL = Delimitation("arrival", 60, ">")
"""A session ends when a user submits nothing for more than an hour (Zakay, chapter 4)."""


def cut_sessions(columns: JobColumns, delimitation: Delimitation = BY_ARRIVAL) -> SessionRows:
    """Cut jobs in columns into sessions, all users at once.

    The result is that of :func:`batsched_users.sessions.delimitation.partition`. Raises
    :class:`UsageError` for methods other than ``arrival``, which columns do not support.
    """
    if delimitation.method != "arrival":
        raise UsageError(
            f"sessions by {delimitation}: expected arrival:MINUTES for columns of jobs"
        )
    rows = columns.user_order()
    user, submit = columns.user[rows], columns.submit[rows]
    gap, threshold = np.diff(submit), delimitation.seconds
    cut = gap > threshold if delimitation.boundary == ">" else gap >= threshold
    cuts = np.flatnonzero((np.diff(user) != 0) | cut) + 1
    bounds = np.concatenate(([0], cuts, [len(rows)])) if len(rows) else np.zeros(1, dtype=np.intp)
    return SessionRows(rows, bounds.astype(np.intp), user[bounds[:-1]])
