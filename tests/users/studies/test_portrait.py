"""The numbers of a portrait, from logs and from files of simulations, and that they are drawn."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_users.behaviour.calendar import Calendar
from batsched_users.measures.job_columns import JobColumns, columns_of_workload
from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.studies import thresholds
from batsched_users.studies.portrait import (
    RESPONSES,
    bin_think_times,
    measure_portrait,
    measure_session_lengths,
)
from helpers.drawn_sessions import job, job_columns, log_of

UNKNOWN = Calendar(known=False)
Row = tuple[str, float, float]


def submissions(*rows: Row, calendar: Calendar = UNKNOWN) -> JobColumns:
    """Columns from user, submission and end (nan: never)."""
    users, submits, ends = zip(*rows, strict=True)
    return job_columns([ord(user) for user in users], submits, calendar, end=ends)


_Rows = st.lists(
    st.tuples(
        st.sampled_from("uv"),
        st.integers(0, 90_000),
        st.integers(0, 20_000) | st.sampled_from(RESPONSES.astype(int).tolist()),
    ),
    min_size=1,
    max_size=15,
)


@given(_Rows)
def test_numbers_are_those_of_slow_twins(rows: list[tuple[str, int, int]]) -> None:
    done = submissions(*((user, at, at + lasts) for user, at, lasts in rows))
    rule = Delimitation.parse("arrival:60:>")
    jobs = [job(str(i), at, at + lasts, user) for i, (user, at, lasts) in enumerate(rows)]
    expected = thresholds.measure_session_lengths(partition(jobs, rule), rule)
    assert measure_session_lengths(done).tolist() == sorted(expected.tolist())
    pairs: list[list[int]] = [[] for _ in RESPONSES]
    for user in "uv":
        jobs_of_user = sorted((at, lasts) for whose, at, lasts in rows if whose == user)
        for (at, lasts), (following, _) in pairwise(jobs_of_user):
            if 0 < following - at - lasts < 28_800:
                pairs[sum(lasts >= edge for edge in RESPONSES) - 1].append(following - at - lasts)
    quartiles, counts = bin_think_times(done)
    assert counts.tolist() == list(map(len, pairs))
    for computed, values in zip(quartiles, pairs, strict=True):
        if values:
            assert computed == pytest.approx(np.quantile(values, (0.25, 0.5, 0.75)))


def test_a_log_says_its_clock_or_not() -> None:
    """Second 0 is 1970-01-01, a Thursday, or nobody knows."""
    jobs = [job("a", 0, 10), job("b", 50, None)]
    with_clock, without_clock = (
        measure_portrait(columns_of_workload(log_of(jobs, start=start)), "log")
        for start in (0.0, None)
    )
    assert (with_clock.clock_known, np.flatnonzero(with_clock.hours)) == (True, 3 * 24)
    assert (without_clock.clock_known, np.flatnonzero(without_clock.hours)) == (False, 0)


def test_no_jobs_are_refused() -> None:
    with pytest.raises(UsageError, match="no jobs"):
        measure_portrait(columns_of_workload(log_of([])), "log")
