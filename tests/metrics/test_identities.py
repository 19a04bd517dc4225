"""What holds on every schedule, and the fast computations against slow ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.metrics import (
    METRICS,
    JobTable,
    jobs_by_hour_of_week,
    max_over_min,
    overall,
    queue_length_distribution,
    window,
)
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
