"""Sums over what has begun and not ended."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.metrics.machine import busy_time
from batsched_py.support.step_functions import Intervals
from helpers.schedules_by_hand import table_of

times = st.integers(0, 50)


@given(
    jobs=st.lists(st.tuples(times, times, st.integers(1, 9)), min_size=1, max_size=9),
    inner=st.lists(st.integers(1, 99), unique=True, max_size=5),
)
def test_means_are_integrals(jobs: list[tuple[int, int, int]], inner: list[int]) -> None:
    """The twin asks for every part of the time anew."""
    rows = table_of(
        [(start, size, length) for start, length, size in jobs], [start for start, *_ in jobs]
    )
    busy = Intervals(rows.start, rows.finish, rows.size)
    edges = np.array([0, *sorted(inner), 100], dtype=float)
    expected = [busy_time(rows, begin, end) / (end - begin) for begin, end in pairwise(edges)]
    assert busy.over(edges).mean == pytest.approx(expected, abs=1e-9)
    assert busy.means(edges) == pytest.approx(expected, abs=1e-9)
    slow = [sum(s <= t < s + n for s, n, _ in jobs) for t in range(100)]
    assert Intervals(rows.start, rows.finish).at(np.arange(100.0)).tolist() == slow


def test_nothing_and_no_time_in_between() -> None:
    nobody, there = (Intervals(*2 * [np.array(times)]) for times in ([], [3.0]))
    for intervals in (nobody, there):
        assert intervals.at(np.array([3.0, 4])).tolist() == [0, 0]
        first, second = intervals.means(np.array([2.0, 5, 5]))
        assert (first, np.isnan(second)) == (0, True)
