"""Metrics of withdrawn jobs: by hand, against slow twins, and identities on drawn tables."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.metrics import COUNTS, METRICS, JobTable, backlog_growth, overall, per_user
from batsched_py.metrics.machine import compute_states, queue_length_distribution
from batsched_py.metrics.saturation import backlog
from batsched_py.metrics.withdrawals import RESTRICTION, restricted_mean_wait
from batsched_py.units import DAY, WEEK

Row = tuple[float, float, float, float, str]
#        submit, start, finish, withdrawal, user; all of 2 processors for 50 s, on 4
ROWS: list[Row] = [
    (0, 0, 40, nan, "a"),
    (0, 10, 50, nan, "a"),
    (5, nan, nan, 25, "a"),  # waits 20 s
    (20, nan, nan, 80, "b"),  # waits 60 s, of which 30 s until the last end
    (30, nan, nan, nan, "b"),  # rejected
]
EXPECTED = {
    "nb_withdrawn": 2,
    "withdrawn_share": 2 / 5,
    "withdrawn_work_share": 2 / 5,
    "withdrawn_wait_share": 80 / 90,
    "mean_waiting_time_of_withdrawn": 40,
    "mean_waiting_time_of_all": 90 / 4,
    # 0 s: 1 of 4 starts; 10 s: 1 of 3; then S = 1/2 for good, as the others are withdrawn.
    "restricted_mean_wait": 3 / 4 * 10 + 1 / 2 * (RESTRICTION - 10),
    "mean_waiting_time": 5,
    "mean_queue_length": (10 + 20 + 30) / 50,
    # 2 of 4 processors are idle in [0, 10) and [40, 50), with a waiting job.
    "loss_of_capacity": 2 * 20 / 200,
    "throughput_per_user": 5 / ((50 + 60) / 3600),  # b is there until the withdrawal at 80 s
}


def make_table(rows: list[Row], on_time: list[float] | None = None) -> JobTable:
    numbers = [row[:4] for row in rows]
    submit, start, finish, withdrawal = np.array(numbers, dtype=float).reshape(-1, 4).T
    return JobTable(
        submit=submit,
        start=start,
        finish=finish,
        execution=finish - start,
        size=np.where(np.isnan(start), 0.0, 2.0),
        original_submit=np.full(len(rows), nan),
        user=[row[4] for row in rows],
        nb_processors=4,
        withdrawal=withdrawal,
        requested=np.full(len(rows), 100.0),
        on_time=np.array(on_time or []),
    )


@pytest.mark.parametrize("name", EXPECTED)
def test_by_hand(name: str) -> None:
    assert overall(make_table(ROWS))[name] == pytest.approx(EXPECTED[name])


def test_each_job_ran_or_was_withdrawn_or_rejected() -> None:
    values = overall(make_table(ROWS))
    assert [values[name] for name in COUNTS] == [5, 2, 1]
    users = per_user(make_table(ROWS))
    assert [(of["nb_jobs"], of["nb_ran"], of["nb_withdrawn"]) for of in users.values()] == [
        (3, 2, 1),
        (2, 0, 1),
    ]
    assert users["b"]["withdrawn_share"] == 1 / 2


def test_work_that_is_unknown_has_no_share() -> None:
    table = make_table(ROWS)
    table.requested[0] = nan
    assert overall(table)["withdrawn_work_share"] is None


def test_deadlines() -> None:
    """Of three jobs with a deadline one ended well by then; nobody withdraws a job."""
    table = make_table([(*row[:3], nan, "a") for row in ROWS], [1, 0, 0, nan, nan])
    values = overall(JobTable(**{**_fields(table), "withdrawal": np.empty(0)}))
    assert values["deadline_met_share"] == 1 / 3
    assert "withdrawn_share" not in values
    assert METRICS["withdrawn_share"].value(table) == 0


def _fields(table: JobTable) -> dict[str, object]:
    return {name: getattr(table, name) for name in table.__struct_fields__}


def test_tables_without_withdrawals_have_no_such_metric() -> None:
    table = make_table(ROWS)
    table.withdrawal = np.empty(0)
    assert not {name for name in overall(table) if "withdrawn" in name or "restricted" in name}


def test_backlog_counts_jobs_until_their_withdrawal() -> None:
    """A job that waits for two weeks is outstanding at the beginning of two weeks more."""
    rows: list[Row] = [
        (0, 0, 1, nan, "a"),
        (5, nan, nan, 2 * WEEK + 5, "a"),
        (4 * WEEK, 4 * WEEK, 4 * WEEK + 1, nan, "a"),
    ]
    assert backlog(make_table(rows)).tolist() == [1, 1, 1, 0, 1]
    assert backlog_growth(make_table(rows)) <= 1


# Slow twins ----------------------------------------------------------------------------------


def area_by_parts(waits: list[tuple[float, bool]]) -> float:
    """The area under the product-limit curve, wait by wait and second by second of its steps."""
    area, survival, before = 0.0, 1.0, 0.0
    for wait in [*sorted({wait for wait, _ in waits}), inf]:
        area += survival * (min(wait, RESTRICTION) - min(before, RESTRICTION))
        before = wait
        at_risk = sum(other >= wait for other, _ in waits)
        starts = sum(other == wait and started for other, started in waits)
        if at_risk:
            survival *= 1 - starts / at_risk
    return area


WAITS = st.tuples(
    st.sampled_from([0.0, 1.0, 60.0, 3600.0, 6 * DAY, 7 * DAY, 9 * DAY]), st.booleans()
)


@given(st.lists(WAITS, min_size=1, max_size=12))
def test_kaplan_meier_is_that_of_the_slow_twin(waits: list[tuple[float, bool]]) -> None:
    rows: list[Row] = [
        (0, wait, wait + 1, nan, "") if started else (0, nan, nan, wait, "")
        for wait, started in waits
    ]
    assert restricted_mean_wait(make_table(rows)) == pytest.approx(area_by_parts(waits))


def test_kaplan_meier_without_withdrawals_is_the_mean_of_waits_up_to_7_days() -> None:
    rows: list[Row] = [(0, wait, wait + 1, nan, "") for wait in (0, 100, 8 * DAY)]
    assert restricted_mean_wait(make_table(rows)) == pytest.approx((100 + 7 * DAY) / 3)


JOBS = st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 9), st.booleans())


@given(st.lists(JOBS, min_size=1, max_size=8))
def test_queue_over_time_is_that_of_each_second(jobs: list[tuple[int, int, int, bool]]) -> None:
    """The table may have more jobs at once than processors: only the queue is looked at."""
    rows: list[Row] = [
        (at, nan, nan, at + wait, "") if gone else (at, at + wait, at + wait + run, nan, "")
        for at, wait, run, gone in [*jobs, (0, 0, 5, False)]
    ]
    table = make_table(rows)
    first, last = int(table.submit.min()), int(np.nanmax(table.finish))
    left = np.where(table.withdrawn, table.withdrawal, table.start)
    lengths = [int(((table.submit <= at) & (at < left)).sum()) for at in range(first, last)]
    shares = np.bincount(lengths) / len(lengths)
    assert queue_length_distribution(table)[: len(shares)] == pytest.approx(shares)
    assert overall(table)["mean_queue_length"] == pytest.approx(np.mean(lengths))
    assert compute_states(table).waiting[-1] == 0
