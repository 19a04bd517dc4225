"""Does the backlog grow, and where has a simulation forgotten that it began empty?"""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.metrics import JobTable, backlog_growth, mser5, overall, saturated, warm_up_time
from batsched_py.metrics.saturation import backlog, growth, low_marks
from batsched_py.units import DAY, WEEK
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


# Where a simulation has forgotten that it began with an empty machine ----------------------------


Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def slow_mser(values: list[float], batch: int) -> int | None:
    """Return the same by the formula: squared deviations over the squared number of batches."""
    means = [
        sum(values[at : at + batch]) / batch for at in range(0, len(values) - batch + 1, batch)
    ]
    if len(means) < 2:
        return None
    found = []
    for first in range(len(means) - 1):
        kept = means[first:]
        mean = sum(kept) / len(kept)
        found.append(sum((value - mean) ** 2 for value in kept) / len(kept) ** 2)
    best = min(range(len(found)), key=lambda at: (round(found[at], 9), at))
    return best * batch if best <= len(means) // 2 else None


@pytest.mark.parametrize(
    ("values", "left_out"),
    [
        ([0, 0, 0, 0, 10, 10, 11, 9, 10, 10, 10, 10, 9, 11], 4),  # four zeros, then some ten
        ([5, 5, 5, 5, 5, 5], 0),  # nothing to forget
        ([1, 2, 3, 4, 5, 6, 7, 8], None),  # it drifts to the end
        ([3], None),
        ([], None),
    ],
)
def test_the_rule_value_by_value(values: list[float], left_out: int | None) -> None:
    assert mser5(values, batch=1) == left_out


@given(st.lists(st.integers(0, 50).map(float), max_size=60), st.integers(1, 6))
def test_it_is_the_rule_as_it_is_written(values: list[float], batch: int) -> None:
    assert mser5(values, batch) == slow_mser(values, batch)


def table(submit: Floats, start: Floats) -> JobTable:
    return table_of([(time, 1, 60.0) for time in submit.tolist()], start.tolist())


def test_a_queue_that_builds_up_in_the_first_day() -> None:
    """A job an hour; the first 20 wait for ever longer, those after them for about a day."""
    rng = np.random.default_rng(0)
    submit = 3600.0 * np.arange(400)
    wait = np.minimum(np.arange(400) / 20, 1) * 86400 + rng.normal(0, 600, 400).clip(-600, 600)
    start = submit + wait.clip(0)
    assert warm_up_time(table(submit, start)) == pytest.approx(20 * 3600, abs=5 * 3600)
    assert isnan(warm_up_time(table(submit[:9], start[:9])))
