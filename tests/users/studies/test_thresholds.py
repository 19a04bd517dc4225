"""The numbers of both studies, on hand-drawn users and against slow twins."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from batsched_py.errors import UsageError
from batsched_py.workload import WorkloadJob
from batsched_users.behaviour.calendar import Calendar
from batsched_users.measures.job_columns import JobColumns, columns_of_workload
from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.studies import portrait, thresholds
from batsched_users.studies.portrait import (
    RESPONSES,
    bin_think_times,
    measure_portrait,
)
from batsched_users.studies.thresholds import (
    compare_think_times,
    count_sessions,
    ks_distance_of_samples,
    measure_inter_arrivals,
    measure_session_lengths,
    study_thresholds,
    survival,
)
from helpers.drawn_sessions import job, job_columns, jobs_of, log_of


def in_minutes(*times: tuple[float, float]) -> list[WorkloadJob]:
    return jobs_of(*((60 * submit, 60 * finish) for submit, finish in times))


EIGHT = in_minutes(
    (0, 10), (5, 300), (20, 25), (50, 55), (130, 140), (135, 136), (190, 400), (260, 270)
)
"""Example C1 of the specification."""


@pytest.mark.parametrize(
    ("rule", "batches", "lengths"),
    [
        ("arrival:60:>", 4, [50, 60, 0]),
        ("last:20", 4, [25, 5, 6, 80]),
        ("max:20", 1, [400]),
        ("max+30:20", 5, [55, 10, 30, 10]),
        ("last+30:20", 5, [25, 5, 6, 30, 10]),
    ],
)
def test_counts_and_lengths_of_eight_jobs(rule: str, batches: int, lengths: list[float]) -> None:
    delimitation = Delimitation.parse(rule)
    sessions = partition(EIGHT, delimitation)
    assert measure_session_lengths(sessions, delimitation).tolist() == lengths
    counts = count_sessions(sessions, delimitation)
    assert (counts.jobs, counts.batches, counts.sessions) == (8, batches, len(lengths))
    assert counts.jobs_per_batch == 8 / batches
    assert counts.batches_per_session == batches / len(lengths)
    assert counts.longest_session == max(lengths)


@given(st.lists(st.tuples(st.integers(0, 200_000), st.sampled_from("uvw")), max_size=12))
def test_curve_is_that_of_counting(submissions: list[tuple[int, str]]) -> None:
    jobs = [job(f"j{i}", at, at, user) for i, (at, user) in enumerate(submissions)]
    gaps = []
    for user in "uvw":
        times = sorted(at for at, whose in submissions if whose == user)
        gaps += [b - a for a, b in pairwise(times) if b - a <= 86_400]
    curve = measure_inter_arrivals(jobs)
    for minute in (0, 1, 59, 720, 1_440):
        expected = sum(gap <= 60 * minute for gap in gaps) / max(len(gaps), 1)
        assert curve.cumulative[minute] == pytest.approx(expected)
    assert curve.derivative == pytest.approx(np.diff(curve.cumulative))


@pytest.mark.parametrize(
    ("times", "expected", "why"),
    [
        ([(0, 50), (10, 20), (60, 61)], [[40], [10], [], []], "one batch, ended differently"),
        (
            [(0, 100), (5, 10), (15, 20), (200, 210), (300, 310)],
            [[90], [90], [5, 180], [100]],
            "Last cuts the first batch in two (W1)",
        ),
        ([(0, 10)], [[], [], [], []], "nothing follows"),
    ],
)
def test_think_times_of_drawn_batches(
    times: list[tuple[float, float]], expected: list[list[float]], why: str
) -> None:
    """After batches of both, by Last and by Max; after those found by Last only, by Max only."""
    columns = msgspec.structs.astuple(compare_think_times(in_minutes(*times)))
    assert [column.tolist() for column in columns] == expected, why


_Numbers = st.lists(st.integers(0, 6).map(float), min_size=2, max_size=8)


@given(_Numbers, _Numbers)
def test_distance_and_survival_are_as_defined(one: list[float], other: list[float]) -> None:
    expected = ks_2samp(one, other, method="asymp").statistic
    assert ks_distance_of_samples(np.array(one), np.array(other)) == pytest.approx(expected)
    at = np.arange(-1, 8, dtype=float)
    larger = [sum(value > x for value in one) / len(one) for x in at]
    assert survival(np.array(one), at) == pytest.approx(larger)


def test_jobs_without_an_end_cannot_be_studied() -> None:
    with pytest.raises(UsageError, match="job a"):
        study_thresholds("log", [job("a", 0, None)])


# Portraits ---------------------------------------------------------------------------------------


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
    assert portrait.measure_session_lengths(done).tolist() == sorted(expected.tolist())
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
