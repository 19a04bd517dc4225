"""Locality within days: bins of equal weight."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.units import DAY, HOUR
from batsched_users.behaviour.calendar import Calendar
from batsched_users.measures.workload_comparison import make_bin_edges, measure_daily_shares


def test_edges_are_quantiles_and_bins_have_equal_weight() -> None:
    values = np.random.default_rng(0).permutation(np.arange(1.0, 161))
    edges = make_bin_edges(values)
    assert edges.tolist() == list(range(10, 160, 10))
    place = np.searchsorted(edges, values, side="left")
    assert np.bincount(place).tolist() == [10] * 16


def test_days_by_hand() -> None:
    """Edges 1, 2, 3: day 0 has one job in each bin, day 2 three of four in one."""
    values = np.array([1.0, 2, 3, 4, 1, 1, 1, 4])
    submit = np.array([0.0, 1, 2, 3, 2 * DAY, 2 * DAY, 2 * DAY, 2 * DAY])
    edges = np.array([1.0, 2, 3])
    assert measure_daily_shares(submit, values, edges=edges).tolist() == [0.25, 0.75]


def test_days_begin_at_midnight_of_the_calendar() -> None:
    values, submit = np.array([1.0, 2, 2]), np.array([0.0, 3 * HOUR, 4 * HOUR])
    evening = Calendar(22 * HOUR)  # second 0 is at 22:00
    edges = np.array([1.0])
    assert measure_daily_shares(submit, values, edges=edges).tolist() == [2 / 3]
    assert measure_daily_shares(submit, values, edges=edges, calendar=evening).tolist() == [1, 1]


def test_unknown_values_are_left_out() -> None:
    values, submit = np.array([np.nan, 1, np.nan]), np.array([0.0, DAY, 2 * DAY])
    assert measure_daily_shares(submit, values).tolist() == [1]
    with pytest.raises(UsageError, match="16 bins of 0 known values"):
        make_bin_edges(values[:1])


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40)), min_size=1, max_size=60),
    st.integers(1, 16),
)
def test_shares_are_within_their_bounds(jobs: list[tuple[int, int]], nb_bins: int) -> None:
    days, values = np.array(jobs, dtype=float).T
    edges = make_bin_edges(values, nb_bins)
    shares = measure_daily_shares(days * DAY, values, edges=edges)
    assert len(shares) == len(np.unique(days))
    assert (shares >= 1 / nb_bins).all()
    assert (shares <= 1).all()


def test_shuffling_takes_locality_away() -> None:
    """Each day has values of its own; dealt out by chance, days are like the whole."""
    submit = np.repeat(np.arange(50), 400) * DAY
    values = submit + np.random.default_rng(3).random(len(submit))
    assert measure_daily_shares(submit, values).mean() > 0.5
    shuffled = np.random.default_rng(4).permutation(values)
    assert measure_daily_shares(submit, shuffled).mean() == pytest.approx(1 / 16, abs=0.04)
