"""Distributions over users and over the week, by hand."""

from __future__ import annotations

import msgspec
import numpy as np

from batsched_py.units import DAY, HOUR, WEEK
from batsched_users.behaviour.calendar import Calendar
from batsched_users.measures.job_columns import JobColumns
from batsched_users.measures.marginals import jobs_by_hour_of_week, measure_marginals
from helpers.drawn_sessions import job_columns


def jobs(rows: list[tuple[int, float, float, float]], at_origin: float = 0.0) -> JobColumns:
    """Columns from (user, submit, size, run time)."""
    user, submit, size, run_time = np.array(rows, dtype=float).reshape(-1, 4).T
    return job_columns(user, submit, Calendar(at_origin), size=size, run_time=run_time)


def test_users_by_hand() -> None:
    per_user = measure_marginals(
        jobs(
            [
                (5, 0, 2, 10),  # session 1 of user 5: 600 s
                (1, 100, 1, 50),  # the only job of user 1
                (5, 600, 1, np.nan),  # its work is unknown
                (-1, 700, 9, 9),  # nobody's
                (5, 600 + 2 * HOUR, 4, 5),  # session 2 of user 5: 0 s
            ]
        )
    )
    assert per_user.jobs.tolist() == [1, 3]
    assert per_user.sessions.tolist() == [1, 2]
    assert per_user.session_length.tolist() == [0, 300]
    assert per_user.work.tolist() == [40, 50]
    assert per_user.arrival.tolist() == [0, 100]
    assert per_user.departure.tolist() == [100, 600 + 2 * HOUR]
    assert per_user.activity.tolist() == [0, 600 + 2 * HOUR]


def test_no_jobs_no_users() -> None:
    per_user = measure_marginals(jobs([]))
    assert {len(column) for column in msgspec.structs.astuple(per_user)} == {0}


def test_hours_of_the_week_go_by_the_calendar() -> None:
    rows = [(1, 0.0, 1.0, 1.0), (1, HOUR - 1, 1, 1), (1, HOUR, 1, 1), (-1, 3 * WEEK, 1, 1)]
    counts = jobs_by_hour_of_week(jobs(rows, at_origin=6 * DAY + 23 * HOUR))  # Sunday 23:00
    assert len(counts) == 168
    assert counts[167] == 3
    assert counts[0] == 1
    assert counts.sum() == 4
