"""Statistics over replications: by hand, against scipy, and what must always hold."""

from __future__ import annotations

import tracemalloc
from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.support.statistics import (
    beside,
    bootstrap,
    median,
    paired_difference,
    paired_ratio,
    quantiles,
    trimmed_mean,
)

NUMBERS = st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=30)


@pytest.mark.parametrize(
    ("values", "at", "expected"),
    [
        ([1, 2, 3, 4, 5], (0.0, 0.5, 1.0), [1, 3, 5]),
        ([1, 2], (0.25,), [1.25]),  # linear between the two
        ([1, None, nan, 3], (0.5,), [2]),  # what is not defined is left out
        ([7], (0.025, 0.975), [7, 7]),
    ],
)
def test_quantiles(values: list[float], at: tuple[float, ...], expected: list[float]) -> None:
    assert quantiles(values, at) == pytest.approx(expected)


def test_of_nothing_there_is_nothing() -> None:
    assert all(map(isnan, quantiles([])))
    assert isnan(trimmed_mean([1.0, 2.0]))
    assert bootstrap([]).nb == 0
    assert isnan(bootstrap([]).value)
    assert (bootstrap([3.0]).value, bootstrap([3.0]).nb) == (3.0, 1)
    assert isnan(bootstrap([3.0]).low)


def test_the_best_and_the_worst_of_ten_are_dropped() -> None:
    """1000 and -1000 do not count; the other eight are 1 to 8."""
    assert trimmed_mean([1000, 1, 2, 3, 4, -1000, 5, 6, 7, 8]) == 4.5


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    """Of 300 normal samples of 30, some 95 % have the true mean in their interval."""
    random = np.random.default_rng(3)
    samples = random.normal(10, 2, (300, 30))
    inside = [bootstrap(sample, resamples=400) for sample in samples]
    share = np.mean([interval.low <= 10 <= interval.high for interval in inside])
    assert 0.90 <= share <= 0.98


@given(NUMBERS)
def test_an_interval_surrounds_its_value(values: list[float]) -> None:
    interval = bootstrap(values, median, resamples=200)
    assert min(values) <= interval.low <= interval.high <= max(values)
    assert bootstrap(values, resamples=50) == bootstrap(values, resamples=50)  # a fixed seed


def test_pairs_see_what_single_values_do_not() -> None:
    """People differ tenfold, the system makes 1 % of it: only pairs of equal people show it."""
    people = np.random.default_rng(4).lognormal(0, 1, 30)
    ratio = paired_ratio(1.01 * people, people)
    assert ratio.value == pytest.approx(1.01)
    assert ratio.low > 1.0
    assert ratio.high == pytest.approx(1.01)
    alone = bootstrap(1.01 * people)
    assert alone.low < people.mean() < alone.high


def test_differences_of_pairs_by_hand() -> None:
    """2 - 1 and 5 - 2 and one that is not there: the mean is 2."""
    change = paired_difference([2, 5, nan], [1, 2, 3])
    assert (change.value, change.nb) == (2.0, 2)
    assert 1.0 <= change.low <= change.high <= 3.0


@given(NUMBERS)
def test_a_system_against_itself_is_one(values: list[float]) -> None:
    ratio = paired_ratio(values, values, resamples=50)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1, 1, 1))
    assert paired_difference(values, values, resamples=50).high == 0


@pytest.mark.parametrize(
    ("values", "published", "within", "spreads"),
    [
        (list(range(101)), 50, True, 0.0),
        (list(range(101)), 97.5, True, 1.0),  # at our 97.5 % quantile: one spread above
        (list(range(101)), 145.0, False, 2.0),
        ([5.0, 5.0], 6.0, False, inf),  # no spread at all
    ],
)
def test_beside_a_published_number(
    values: list[float], published: float, within: bool, spreads: float
) -> None:
    ours = beside(values, published)
    assert ours.within is within
    assert ours.spreads == pytest.approx(spreads)
    assert ours.difference == pytest.approx((ours.ours - published) / published)


def test_one_replication_has_no_spread() -> None:
    assert isnan(beside([5.0], 6.0).spreads)
    assert not beside([], 6.0).within


def test_samples_are_drawn_one_at_a_time() -> None:
    """All at once, 200 of 100,000 jobs would take 160 MB; they are the same draws."""
    sample = np.random.default_rng(1).exponential(size=100_000)
    chosen = np.random.default_rng(0).integers(0, len(sample), (200, len(sample)))
    expected = quantiles([sample[rows].mean() for rows in chosen], (0.025, 0.975))
    del chosen
    tracemalloc.start()
    interval = bootstrap(sample, resamples=200)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [interval.low, interval.high] == expected
    assert most < 20e6


def test_intervals_as_text() -> None:
    assert str(bootstrap([2.0])) == "2"
    assert str(bootstrap([1.0, 1.0])) == "1 (1 to 1)"
