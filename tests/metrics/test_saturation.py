"""Does the backlog grow? Worked examples, and the backlog counted job by job."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.metrics import JobTable, backlog_growth, overall, saturated
from batsched_py.metrics.saturation import backlog, growth, low_marks
from batsched_py.units import DAY, HOUR, WEEK
from helpers.schedules_by_hand import first_fit, table_of


@pytest.mark.parametrize(
    ("weeks", "left"), [(0, 0), (1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 4), (9, 7), (10, 8)]
)
def test_a_fifth_is_dropped_rounded_up(weeks: int, left: int) -> None:
    assert len(low_marks([7] * weeks)) == left
    slope = growth([7] * weeks)
    assert np.isnan(slope) if left < 2 else slope == 0


@given(counts=st.lists(st.integers(0, 500), max_size=40))
def test_low_marks_never_fall_and_are_no_more_than_the_backlog(counts: list[int]) -> None:
    marks = low_marks(counts)
    assert (np.diff(marks) >= 0).all()
    assert (marks <= counts[: len(marks)]).all()
    assert all(mark == min(counts[week:]) for week, mark in enumerate(marks))
    if len(marks) > 1:
        line = np.polyfit(np.arange(len(marks)), marks, 1)
        assert growth(counts) == pytest.approx(line[0], abs=1e-8)


def weekly(counts: list[int], weeks_at_the_end: int = 5) -> JobTable:
    """A table with this backlog: a job from week i to week j, j > i, by each unit it lasts."""
    jobs, starts, open_jobs = [], [], []
    for week, count in enumerate(counts):
        while len(open_jobs) > count:
            begin = open_jobs.pop()
            jobs.append((begin * WEEK, 1, (week - begin) * WEEK))
        open_jobs += [week] * (count - len(open_jobs))
    jobs += [
        (begin * WEEK, 1, (len(counts) + weeks_at_the_end - begin) * WEEK) for begin in open_jobs
    ]
    starts = [submit for submit, _, _ in jobs]
    return table_of(jobs, starts, 100)


@pytest.mark.parametrize(
    ("counts", "marks", "slope", "is_saturated"),
    [
        # a peak that is worked off
        ([3, 9, 4, 5, 30, 6, 5, 7, 6, 8], [3, 4, 4, 5, 5, 5, 5, 6], 29 / 84, False),
        ([1, 4, 6, 9, 12, 15, 14, 20, 22, 25], [1, 4, 6, 9, 12, 14, 14, 20], 2.5, True),
        ([*range(1, 11)], [*range(1, 9)], 1, False),  # one a week: the boundary
    ],
)
def test_examples(counts: list[int], marks: list[int], slope: float, is_saturated: bool) -> None:
    """Weeks after the last submission, in which the machine only empties, do not count."""
    assert low_marks(counts).tolist() == marks
    assert growth(counts) == pytest.approx(slope)
    table = weekly(counts)
    assert backlog(table).tolist() == counts
    assert backlog_growth(table) == overall(table)["backlog_growth"] == growth(counts)
    assert saturated(table) == saturated(growth(counts)) == is_saturated
    assert [value for value in (1.0, 1.01, -3.0, np.nan, None) if saturated(value)] == [1.01]


@given(
    jobs=st.lists(
        st.tuples(st.integers(0, 60), st.integers(1, 2), st.integers(1, 30), st.booleans()),
        min_size=1,
        max_size=12,
    )
)
def test_backlog_job_by_job(jobs: list[tuple[int, int, int, bool]]) -> None:
    """Days; rejected jobs are submissions, but never outstanding."""
    in_seconds = [(a * DAY, w, p * DAY) for a, w, p, _ in jobs]
    starts = first_fit(in_seconds, 2)
    table = table_of(in_seconds, starts, 2)
    rejected = np.array([no for *_, no in jobs])
    for column in (table.start, table.finish, table.execution):
        column[rejected] = np.nan
    first, last = min(in_seconds)[0], max(in_seconds)[0]
    rows = [*zip(in_seconds, starts, rejected, strict=True)]
    expected = [
        sum(a <= week < s + p and not no for (a, _, p), s, no in rows)
        for week in np.arange(first, last + 1, WEEK)
    ]
    assert backlog(table).tolist() == expected


def test_too_short_to_tell() -> None:
    """Three weeks leave two low marks, two weeks one."""
    short = table_of([(0, 1, 10), (2 * WEEK - 1, 1, 10)], [0, 2 * WEEK - 1], 4)
    assert overall(short)["backlog_growth"] is None
    assert not saturated(short)
    longer = table_of([(0, 1, 10), (2 * WEEK, 1, 10)], [0, 2 * WEEK], 4)
    assert backlog(longer).tolist() == [1, 0, 1]
    assert backlog_growth(longer) == 0


def test_times_that_are_no_seconds() -> None:
    """Weeks are counted one by one; a table over 1e294 of them has no growth, but other metrics."""
    endless = table_of([(0, 1, 1), (1e300, 1, 1)], [0, 1e300], 4)
    assert overall(endless)["backlog_growth"] is None
    assert not saturated(endless)
    assert overall(endless)["makespan"] == 1e300


def test_throughput_to_last_submission() -> None:
    """Four hours of submissions, in which two of four jobs end, one of them at the last instant."""
    jobs = [(0, 1, HOUR), (HOUR, 1, 3 * HOUR), (2 * HOUR, 1, 9 * HOUR), (4 * HOUR, 1, 9 * HOUR)]
    table = table_of(jobs, [a for a, _, _ in jobs], 4)
    assert overall(table)["throughput_to_last_submission"] == 2 / 4
    assert overall(table.select(np.array([0])))["throughput_to_last_submission"] is None
