"""Metrics on four jobs that can be computed by hand, and what the registry says of them."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from batsched_py.metrics import (
    COUNTS,
    METRICS,
    JobTable,
    overall,
    per_user,
    saturated,
    windows,
)
from batsched_py.units import DAY
from batsched_py.workload.grid_sites import parse_sites

#        submit start finish execution size recorded user
ROWS = [
    (0.0, 0.0, 100.0, 100.0, 2, 0.0, "a"),
    (10.0, 60.0, 65.0, 5.0, 1, 20.0, "a"),  # 10 s earlier than recorded, waits 50 s
    (40.0, nan, nan, nan, 0, 40.0, "b"),  # rejected
    (70.0, 90.0, 90.00001, 1e-5, 1, 50.0, "a"),  # of no length, 20 s late, waits 20 s
]


def table(rows: list[tuple[float, float, float, float, float, float, str]] = ROWS) -> JobTable:
    columns = [np.array(column, dtype=float) for column in list(zip(*rows, strict=True))[:6]]
    size = columns[4].astype(int)
    return JobTable(
        *columns,
        user=[row[6] for row in rows],
        nb_processors=4,
        sites=parse_sites("2x2"),
        home=np.zeros(len(rows), dtype=int),  # all at home at the first site
        on_site=np.column_stack([size // 2, size - size // 2]),  # of one processor: at the second
    )


EXPECTED = {
    "makespan": 100,
    "mean_waiting_time": 70 / 3,
    "max_waiting_time": 50,
    "mean_turnaround_time": (100 + 55 + 20.00001) / 3,
    "mean_slowdown": (1 + 11) / 2,  # the third has no length
    "mean_bounded_slowdown": (1 + 5.5 + 2.000001) / 3,
    "mean_lateness": (0 - 10 + 0 + 20) / 4,
    "relative_lateness": 1 + 2.5 / 50,
    "additional_lateness": 2 * 2.5 / 3,
    # Widths 2, 1, 1; areas 200, 5, 1e-5; turnarounds 100, 55, 20.00001.
    "mean_waiting_time_by_width": (0 * 2 + 50 + 20) / 4,
    "mean_turnaround_time_by_width": (200 + 55 + 20.00001) / 4,
    "mean_turnaround_time_by_area": (20_000 + 275 + 20.00001e-5) / 205.00001,
    "area_turnaround_per_job": (20_000 + 275 + 20.00001e-5) / 3,
    "area_turnaround_per_processor": (20_000 + 275 + 20.00001e-5) / 4,
    "mean_turnaround_time_to_1_min": (55 + 20.00001) / 2,
    "mean_turnaround_time_1_to_10_min": 100,
    "mean_turnaround_time_over_10_min": nan,  # no such job
    "mean_slowdown_by_width": (2 * 1 + 11) / 3,
    "mean_slowdown_by_area": (200 + 55 + 20.00001) / 205.00001,
    "mean_bounded_slowdown_60": 1,  # both short jobs end within a minute
    "mean_bounded_slowdown_60_feitelson": 1,
    "mean_bounded_slowdown_60_keleher": (1 + (1 + 50 / 60) + (1 + 20 / 60)) / 3,
    "mean_per_processor_slowdown_60": 1,
    "last_end": 100,
    "squashed_area": 205.00001,
    "total_completion_time": 100 + 65 + 90.00001,
    "total_idle_time": 4 * 100 - 205.00001,
    "mean_busy_processors": 2.0500001,
    "utilisation": 205.00001 / 400,
    "utilisation_to_last_submission": (2 * 70 + 5) / (4 * 70),  # until 70 s
    "loss_of_capacity": (2 * 50 + 2 * 20) / 400,  # one job waits 50 s, one 20 s; 2 are free
    "throughput_per_hour": 3 * 36,
    "mean_queue_length": 70 / 100,
    # User a: one session of 70 s with three jobs; b: one job.
    "sessions_per_user": 1,
    "jobs_per_session_arrival_60": 2,
    "jobs_per_session_think_20": 2,
    "mean_session_length_arrival_60": 35,
    "mean_activity_length": 35,
    "active_weeks_per_user": 1,
    "throughput_per_user": 4 * 36,  # a is there for 100 s, b for none
    "throughput_to_last_submission": 3600 / 70,  # until 70 s one has ended
    "backlog_growth": nan,  # all in one week
    "nb_multi_site_jobs": 1,
    "multi_site_job_share": 1 / 3,
    "multi_site_area_share": 200 / 205.00001,
    "away_area_share": 105.00001 / 205.00001,  # half of the first job, the others
}


@pytest.mark.parametrize("name", METRICS)
def test_by_hand(name: str) -> None:
    assert METRICS[name].compute(table()) == pytest.approx(EXPECTED[name], nan_ok=True)


def test_per_user() -> None:
    """A user's own jobs only; what one job cannot have is None."""
    users = per_user(table())
    assert users["a"]["mean_lateness"] == pytest.approx(10 / 3)
    assert users["a"]["relative_lateness"] == pytest.approx(1 + 10 / 3 / 50)
    assert users["b"].pop("mean_lateness") == 0
    assert list(users["b"].values()) == [1, 0, None, None, None]


def test_nothing_ran_or_was_submitted() -> None:
    values = overall(table([ROWS[2]]))
    assert (values["makespan"], values["utilisation"]) == (None, None)
    assert (values["mean_lateness"], values["jobs_per_session_arrival_60"]) == (0, 1)
    nothing = table(ROWS).select(np.array([], dtype=int))
    values = overall(nothing)
    assert [values[name] for name in COUNTS] == [0, 0, 0]
    assert {values[name] for name in METRICS} == {None}
    assert per_user(nothing) == {}
    assert not saturated(nothing)


def test_without_the_size_of_the_machine() -> None:
    """Exactly what needs it is None, and no value depends on it otherwise."""
    with_size, without = table(), table()
    without.nb_processors = None
    values, all_values = overall(without), overall(with_size)
    assert [values[name] for name in COUNTS] == [4, 3, 1]
    needing = {name for name, metric in METRICS.items() if metric.needs_machine}
    assert {name for name in METRICS if values[name] != all_values[name]} == needing
    assert {values[name] for name in needing} == {None}


def test_lateness_is_of_the_jobs_that_were_recorded() -> None:
    """The first two and the last; of none of them there is no lateness, and no warning."""
    rows = [(*row[:5], nan if row[2] != row[2] else row[5], "a") for row in ROWS]
    values = overall(table(rows))
    assert values["mean_lateness"] == pytest.approx(10 / 3)
    assert values["relative_lateness"] == pytest.approx(1 + 10 / 3 / 50)
    assert values["additional_lateness"] == pytest.approx(2 * 10 / 3 / 2)
    unknown = overall(table([(*row[:5], nan, "a") for row in ROWS]))
    assert {unknown.pop(name) for name in list(unknown) if "lateness" in name} == {None}
    assert unknown.items() <= overall(table([(*row[:6], "a") for row in ROWS])).items()


def test_windows_that_do_not_fit_are_left_out() -> None:
    days = [(0.0, 0.0, 200 * DAY, 200 * DAY, 1, 0.0, "a")]
    fitting = windows(table(days))
    assert [value["length"] / DAY for value in fitting] == [120, 180]
    assert fitting[0]["mean_busy_processors"] == 1
