"""Jobs that load the machine and are not measured: rare ones, and those of both ends."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import simulate
from batsched_py.metrics import METRICS, JobTable, overall, per_user, window, windows
from batsched_py.units import DAY
from helpers.schedules_by_hand import first_fit, table_of

MACHINE = {name for name, metric in METRICS.items() if metric.of_machine}


def with_rare(table: JobTable, rare: list[bool]) -> JobTable:
    mask = np.array(rare, dtype=bool)
    return msgspec.structs.replace(table, rare=mask, measured=~mask)


ROW = st.tuples(
    st.integers(0, 300), st.integers(1, 8), st.integers(1, 40), st.booleans(), st.booleans()
)


@given(rows=st.lists(ROW, min_size=1, max_size=12))
def test_all_jobs_or_measured_ones(rows: list[tuple[int, int, int, bool, bool]]) -> None:
    """Days; each metric is that of a table in which nothing is rare, with or without those jobs."""
    jobs = [(a * DAY, w, p * DAY) for a, w, p, _, _ in rows]
    users = [f"u{w % 3}" for _, w, _ in jobs]
    plain = table_of(jobs, first_fit(jobs, 8), 8, users)
    rejected = np.array([no for *_, no in rows])
    for column in (plain.start, plain.finish, plain.execution, plain.size):
        column[rejected] = 0 if column is plain.size else np.nan
    rare = [odd for *_, odd, _ in rows]
    table = with_rare(plain, rare)
    without = plain.select(~np.array(rare))
    assert not without.rare.any()
    of_table, of_all, of_rest = overall(table), overall(plain), overall(without)
    for name, value in of_table.items():
        assert value == (of_all if name in MACHINE else of_rest)[name], name
    names = list(METRICS)
    assert per_user(table, names) == per_user(without, names)
    assert len(windows(table)) == len(windows(plain))
    for start, length in ((0, 50 * DAY), (30 * DAY, 100 * DAY)):
        values, full = window(table, start, length), window(plain, start, length)
        assert values["mean_busy_processors"] == full["mean_busy_processors"]
        begin = plain.submit.min() + start
        ended = [begin <= end < begin + length for end in without.finish]
        assert values["throughput_per_day"] == pytest.approx(sum(ended) / (length / DAY))


def test_none_is_rare_unless_said() -> None:
    table = table_of([(0, 1, 5), (1, 1, 5)], [0, 5], 4)
    assert table.rare.tolist() == [False, False]
    assert table.only_measured is table
    chosen = with_rare(table, [True, False]).select(np.array([1, 0, 0]))
    assert chosen.rare.tolist() == [False, True, True]


# Warm-up and cool-down: whose jobs load the machine and are not measured -------------------------


def table(submit: list[float]) -> JobTable:
    """Jobs of one second that wait as many seconds as their number says."""
    starts = [at + number for number, at in enumerate(submit)]
    return table_of([(at, 1, 1) for at in submit], starts, 4)


@pytest.mark.parametrize(
    ("warm_up", "cool_down", "measured"),
    [
        (0, 0, [10, 20, 30, 40]),
        (10, 0, [20, 30, 40]),  # 10 s after the first submission is measured again
        (10.5, 0, [30, 40]),
        (0, 10, [10, 20, 30]),
        (5, 5, [20, 30]),
        (100, 0, []),
    ],
)
def test_which_jobs_are_measured(warm_up: float, cool_down: float, measured: list[float]) -> None:
    inner = table([10, 20, 30, 40]).without_ends(warm_up, cool_down)
    assert len(inner.submit) == 4
    assert inner.only_measured.submit.tolist() == measured


def test_the_metrics_of_a_simulation_leave_the_ends_out() -> None:
    """The machine is as loaded as before; jobs are counted in between only."""
    whole = simulate("sample")
    inner = simulate("sample", warm_up=14 * DAY, cool_down=7 * DAY)
    assert inner.jobs.drop(columns="measured").equals(whole.jobs.drop(columns="measured"))
    submit = whole.table.submit
    between = (submit >= submit.min() + 14 * DAY) & (submit <= submit.max() - 7 * DAY)
    overall = inner.measured["overall"]
    assert overall["nb_jobs"] == between.sum() < len(submit)
    assert overall["mean_waiting_time"] == pytest.approx(whole.table.waiting[between].mean())
    assert overall["utilisation"] == whole.measured["overall"]["utilisation"]
