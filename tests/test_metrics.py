"""Metrics on four jobs that can be computed by hand."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from batsched_py.metrics import DAY, METRICS, JobTable, overall, per_user, window, windows

#        submit start finish execution size recorded user
ROWS = [
    (0.0, 0.0, 100.0, 100.0, 2, 0.0, "a"),
    (10.0, 60.0, 65.0, 5.0, 1, 20.0, "a"),  # 10 s earlier than recorded, waits 50 s
    (40.0, nan, nan, nan, 0, 40.0, "b"),  # rejected
    (70.0, 90.0, 90.00001, 1e-5, 1, 50.0, "a"),  # of no length, 20 s late, waits 20 s
]


def table(rows: list[tuple[float, float, float, float, float, float, str]] = ROWS) -> JobTable:
    columns = [np.array(column, dtype=float) for column in list(zip(*rows, strict=True))[:6]]
    return JobTable(*columns, user=[row[6] for row in rows])


EXPECTED = {
    "makespan": 100,
    "mean_waiting_time": 70 / 3,
    "max_waiting_time": 50,
    "mean_turnaround_time": (100 + 55 + 20.00001) / 3,
    "mean_slowdown": (1 + 11 + 20.00001 / 1e-5) / 3,
    "mean_bounded_slowdown": (1 + 5.5 + 2.000001) / 3,
    "mean_lateness": (0 - 10 + 0 + 20) / 4,
    "relative_lateness": 1 + 2.5 / 50,
    "additional_lateness": 2 * 2.5 / 3,
}


@pytest.mark.parametrize("name", METRICS)
def test_by_hand(name: str) -> None:
    assert METRICS[name].compute(table()) == pytest.approx(EXPECTED[name])


def test_overall_counts() -> None:
    values = overall(table())
    assert (values["nb_jobs"], values["nb_ran"], values["nb_rejected"]) == (4, 3, 1)


def test_per_user() -> None:
    """A user's own jobs only; what one job cannot have is None."""
    users = per_user(table())
    assert users["a"]["mean_lateness"] == pytest.approx(10 / 3)
    assert users["a"]["relative_lateness"] == pytest.approx(1 + 10 / 3 / 50)
    assert users["b"] == {
        "nb_jobs": 1,
        "nb_ran": 0,
        "mean_waiting_time": None,
        "mean_lateness": 0,
        "relative_lateness": None,
        "additional_lateness": None,
    }


def test_nothing_ran() -> None:
    values = overall(table([ROWS[2]]))
    assert values["makespan"] is None
    assert values["mean_lateness"] == 0


def test_window_cuts_at_its_edges() -> None:
    """[50, 80): 30 s of the first job on 2 processors, 5 s of the second, which ends in it."""
    values = window(table(), 50, 30)
    assert values["mean_busy_processors"] == pytest.approx((30 * 2 + 5 * 1) / 30)
    assert values["throughput_per_day"] == pytest.approx(1 / 30 * DAY)


def test_windows_that_do_not_fit_are_left_out() -> None:
    days = [(0.0, 0.0, 200 * DAY, 200 * DAY, 1, 0.0, "a")]
    found = windows(table(days))
    assert [value["length"] / DAY for value in found] == [120, 180]
    assert found[0]["mean_busy_processors"] == 1
