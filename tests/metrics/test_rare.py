"""Jobs of rare behaviour: they load the machine and are not measured."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.metrics import METRICS, JobTable, overall, per_user, saturated, window, windows
from batsched_py.units import DAY, WEEK
from helpers.schedules_by_hand import first_fit, table_of

MACHINE = {name for name, metric in METRICS.items() if metric.of_machine}


def with_rare(table: JobTable, rare: list[bool]) -> JobTable:
    mask = np.array(rare, dtype=bool)
    return msgspec.structs.replace(table, rare=mask, measured=~mask)


def test_a_machine_full_of_them() -> None:
    """Ten jobs a week of a day each on one processor, nine of them rare: three more are left.

    It is never idle. Of the measured ones alone it would be busy a tenth of the time, and a week
    has three tenths of a job more in the queue: no sign of saturation.
    """
    jobs = [(week * WEEK, 1, DAY) for week in range(20) for _ in range(10)]
    table = table_of(jobs, first_fit(jobs, 1), 1)
    table = with_rare(table, [number % 10 != 0 for number in range(200)])
    values = overall(table)
    assert (values["utilisation"], values["total_idle_time"]) == (1, 0)
    assert values["backlog_growth"] == pytest.approx(3)
    assert saturated(table)
    assert (values["nb_jobs"], values["nb_ran"]) == (20, 20)
    alone = overall(table.only_measured)
    assert alone["utilisation"] == pytest.approx(20 / 191)  # the last one starts on day 190
    assert alone["backlog_growth"] == pytest.approx(0.3, abs=0.05)
    assert not saturated(table.only_measured)


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
