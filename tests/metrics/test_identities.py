"""What holds on every schedule, and the fast computations against slow ones; backlog, warm-up."""

from __future__ import annotations

from itertools import pairwise
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.metrics import (
    METRICS,
    JobTable,
    backlog_growth,
    jobs_by_hour_of_week,
    max_over_min,
    mser5,
    overall,
    queue_length_distribution,
    saturated,
    warm_up_time,
    window,
)
from batsched_py.metrics.saturation import backlog, growth, low_marks
from batsched_py.units import DAY, WEEK
from helpers.schedules_by_hand import first_fit, table_of

SIZE = 8
JOBS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, SIZE), st.integers(1, 40)), min_size=1, max_size=12
)


def value(name: str, table: JobTable) -> float:
    return METRICS[name].compute(table)


@given(jobs=JOBS)
def test_relations_of_metrics(jobs: list[tuple[int, int, int]]) -> None:
    table = table_of(jobs, first_fit(jobs, SIZE), SIZE)
    widths, areas = table.size.sum(), table.area.sum()
    by_width = value("mean_turnaround_time_by_width", table)
    # Both rank schedules of the same jobs alike.
    assert value("mean_slowdown_by_area", table) / by_width == pytest.approx(widths / areas)
    for name in METRICS:
        if "slowdown" in name:
            assert value(name, table) >= 1 - 1e-12
    prefix = "mean_bounded_slowdown_60"
    assert value(prefix, table) == pytest.approx(value(f"{prefix}_feitelson", table))
    assert value(f"{prefix}_keleher", table) >= value(prefix, table) - 1e-12
    printed = value("area_turnaround_per_processor", table)
    assert printed * widths == pytest.approx(value("mean_turnaround_time_by_area", table) * areas)
    waited = by_width - value("mean_waiting_time_by_width", table)
    assert waited == pytest.approx(areas / widths)
    assert value("total_completion_time", table) / len(jobs) == pytest.approx(
        value("mean_turnaround_time", table) + table.submit.mean()
    )


@given(jobs=JOBS)
def test_capacity_is_used_lost_or_not_wanted(jobs: list[tuple[int, int, int]]) -> None:
    table = table_of(jobs, first_fit(jobs, SIZE), SIZE)
    used, lost = value("utilisation", table), value("loss_of_capacity", table)
    assert 0 <= used <= 1 + 1e-12
    assert lost >= 0
    assert used + lost <= 1 + 1e-12
    idle = value("total_idle_time", table)
    assert used + idle / (SIZE * value("makespan", table)) == pytest.approx(1)
    assert value("mean_busy_processors", table) == pytest.approx(SIZE * used)


@given(jobs=JOBS)
def test_loss_of_capacity_by_its_definition(jobs: list[tuple[int, int, int]]) -> None:
    starts = first_fit(jobs, SIZE)
    rows = [(a, s, s + p, w) for (a, w, p), s in zip(jobs, starts, strict=True)]
    lost = 0.0
    for now, then in pairwise(sorted({a for a, *_ in rows} | {f for _, _, f, _ in rows})):
        # Submissions and ends only; first_fit starts jobs at those.
        free = SIZE - sum(w for _, s, f, w in rows if s <= now < f)
        if any(a <= now < s for a, s, _, _ in rows):
            lost += free * (then - now)
    span = max(f for _, _, f, _ in rows) - min(a for a, *_ in rows)
    table = table_of(jobs, starts, SIZE)
    assert value("loss_of_capacity", table) == pytest.approx(lost / (SIZE * span))


def test_starts_between_events() -> None:
    """A job that starts 1 s after its submission, by the delay of the process, waits 1 s only."""
    table = table_of([(0, 1, 9), (100, 1, 9)], [1, 101], 4)
    assert value("loss_of_capacity", table) == pytest.approx((4 * 1 + 4 * 1) / (4 * 110))


@given(jobs=JOBS, start=st.integers(0, 50), length=st.integers(1, 80))
def test_window_second_by_second(jobs: list[tuple[int, int, int]], start: int, length: int) -> None:
    starts = first_fit(jobs, SIZE)
    begin = min(a for a, _, _ in jobs) + start
    busy, ended = 0, 0
    for second in range(begin, begin + length):
        for (_, w, p), s in zip(jobs, starts, strict=True):
            busy += w * (s <= second < s + p)
            ended += s + p == second
    values = window(table_of(jobs, starts), start, length)
    assert values["mean_busy_processors"] == pytest.approx(busy / length)
    assert values["throughput_per_day"] == pytest.approx(ended * 86_400 / length)


@given(jobs=JOBS)
def test_queue_second_by_second(jobs: list[tuple[int, int, int]]) -> None:
    table = table_of(jobs, first_fit(jobs, SIZE), SIZE)
    begin, end = int(table.submit.min()), int(table.finish.max())
    lengths = [
        int(((table.submit <= second) & (second < table.start)).sum())
        for second in range(begin, end)
    ]
    shares = queue_length_distribution(table)
    expected = np.bincount(lengths, minlength=len(shares)) / len(lengths)
    assert shares == pytest.approx(expected)
    assert value("mean_queue_length", table) == pytest.approx(np.mean(lengths))


MINUTE = 60
LONG_JOBS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", ""]),
        st.integers(0, 40_000).map(lambda minutes: minutes // 5 * 5 * MINUTE),
        st.integers(1, 12).map(lambda fives: 5 * fives * MINUTE),
        st.booleans(),
    ),
    min_size=1,
    max_size=14,
    unique_by=lambda job: job[1],  # else the previous job is not one
)


@given(jobs=LONG_JOBS)
def test_sessions_job_by_job(jobs: list[tuple[str, int, int, bool]]) -> None:
    table = table_of([(a, 1, p) for _, a, p, _ in jobs], [a for _, a, _, _ in jobs])
    rejected = np.array([no for *_, no in jobs])
    table.user = [user for user, *_ in jobs]
    for column in (table.start, table.finish, table.execution):
        column[rejected] = np.nan
    users = sorted({user for user, *_ in jobs} - {""})
    if not users:
        assert overall(table)["jobs_per_session_think_20"] is None
        return
    first = min(a for _, a, _, _ in jobs)
    arrival: list[list[int]] = []
    thinking, weeks, there, span, count = 0, 0, 0, 0, 0
    for user in users:
        jobs_of_user = sorted((a, a if no else a + p) for u, a, p, no in jobs if u == user)
        for i, (a, _) in enumerate(jobs_of_user):
            if i and a - jobs_of_user[i - 1][0] <= 60 * MINUTE:
                arrival[-1].append(a)
            else:
                arrival.append([a])
            thinking += not (i and a - jobs_of_user[i - 1][1] <= 20 * MINUTE)
        weeks += len({(a - first) // (7 * 86_400) for a, _ in jobs_of_user})
        span += jobs_of_user[-1][0] - jobs_of_user[0][0]
        there += max(end for _, end in jobs_of_user) - jobs_of_user[0][0]
        count += len(jobs_of_user)
    expected = {
        "sessions_per_user": len(arrival) / len(users),
        "jobs_per_session_arrival_60": count / len(arrival),
        "jobs_per_session_think_20": count / thinking,
        "mean_session_length_arrival_60": sum(s[-1] - s[0] for s in arrival) / len(arrival),
        "active_weeks_per_user": weeks / len(users),
        "mean_activity_length": span / len(users),
    }
    if there:
        expected["throughput_per_user"] = count * 3600 / there
    values = overall(table)
    assert {name: values[name] for name in expected} == pytest.approx(expected)
    assert (values["throughput_per_user"] is None) == (there == 0)


def test_sessions_end_after_the_threshold_only() -> None:
    """A gap of exactly the threshold is within the session, as in both sources."""
    table = table_of([(0, 1, 2400), (3600, 1, 1), (7201, 1, 1)], [0, 3600, 7201])
    assert value("jobs_per_session_arrival_60", table) == 3 / 2
    assert value("jobs_per_session_think_20", table) == 3 / 2


def test_hours_of_the_week() -> None:
    """A log that starts on Sunday at 23:30: its first job in the last hour, the next on Monday."""
    table = table_of([(0, 1, 1), (1800, 1, 1), (7 * 86_400, 1, 1)], [0, 1800, 604_800])
    counts = jobs_by_hour_of_week(table, 6 * 86_400 + 23.5 * 3600)
    assert len(counts) == 168
    assert (counts[167], counts[0], counts.sum()) == (2, 1, 3)


def test_ratio_over_runs() -> None:
    assert max_over_min([30.0, 10.0, 20.0]) == 3
    assert np.isnan(max_over_min([1.0, 0.0]))
    assert np.isnan(max_over_min([]))


# Does the backlog grow? -------------------------------------------------------------------------


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
