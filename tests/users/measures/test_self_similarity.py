"""Rescaled ranges and the Hurst parameter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_users.measures.self_similarity import (
    PoxPlot,
    count_jobs_per_unit,
    find_first_length,
    hurst,
    make_pox_plot,
    rescaled_ranges,
)


def slow_rescaled_range(values: list[float], divisor: int) -> float | None:
    """The formulas, one after the other."""
    mean = sum(values) / len(values)
    sums, total = [], 0.0
    for value in values:
        total += value - mean
        sums.append(total)
    spread = (sum((value - mean) ** 2 for value in values) / divisor) ** 0.5
    return (max(sums) - min(sums)) / spread if len(set(values)) > 1 else None


def test_rescaled_range_of_the_worked_example() -> None:
    """C6 of the specification: R = 8, S = sqrt(8.5)."""
    series = np.array([[1.0, 2, 3, 4, 10, 0, 1, 3]])
    assert rescaled_ranges(series)[0] == pytest.approx(8 / 8.5**0.5, rel=1e-12)
    assert round(float(rescaled_ranges(series)[0]), 4) == 2.7440


@given(
    st.integers(2, 9).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 5).map(float), min_size=n, max_size=n), min_size=1, max_size=5
        )
    )
)
def test_rows_are_measured_one_by_one(rows: list[list[float]]) -> None:
    ranges = rescaled_ranges(np.array(rows))
    for row, value in zip(rows, ranges, strict=True):
        expected = slow_rescaled_range(row, len(row))
        if expected is None:
            assert np.isnan(value), "no variance, no ratio"
        else:
            assert value == pytest.approx(expected, rel=1e-9)


def test_a_constant_that_rounds_has_no_ratio() -> None:
    assert np.isnan(rescaled_ranges(np.full((1, 3), 0.1))).all()


def test_series_of_jobs_per_unit() -> None:
    assert count_jobs_per_unit(np.array([100.0, 159, 160, 280]), 60).tolist() == [2, 1, 0, 1]
    with pytest.raises(UsageError, match="of no jobs"):
        count_jobs_per_unit(np.empty(0), 60)
    with pytest.raises(UsageError, match="unit=0"):
        count_jobs_per_unit(np.ones(1), 0)


@pytest.mark.parametrize(
    ("period", "first"),
    [
        (1, 2),  # no unit is empty
        (4, 3),  # of the intervals of 2 units just half have a job
        (12, 7),  # as of those of 6
    ],
)
def test_the_first_length_has_most_intervals_not_empty(period: int, first: int) -> None:
    series = np.zeros(4_200)
    series[::period] = 1
    assert find_first_length(series) == first


def test_pox_plot_has_spaced_lengths_and_several_subsets_of_each() -> None:
    series = np.random.default_rng(0).random(1_000)
    plot = make_pox_plot(series, first=10, subsets=7)
    lengths, counts = np.unique(plot.length, return_counts=True)
    assert lengths[0] == 10
    assert 1_000 / 1.2 < lengths[-1] <= 1_000
    ratios = lengths[1:] / lengths[:-1]
    assert ratios == pytest.approx(np.full(len(ratios), 1.2), abs=0.06)
    assert (counts[:-2] == 7).all()


def test_slope_of_points_on_a_line() -> None:
    n = np.array([10.0, 20, 40, 80])
    assert PoxPlot(n, 3 * n**0.7).hurst == pytest.approx(0.7)
    assert np.isnan(PoxPlot(n[:1], n[:1]).hurst)


def fractional_noise(h: float, n: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Exact fractional Gaussian noise by circulant embedding (Davies and Harte, 1987)."""
    lag = np.arange(n + 1, dtype=float)
    cov = 0.5 * (abs(lag - 1) ** (2 * h) - 2 * lag ** (2 * h) + (lag + 1) ** (2 * h))
    power = np.fft.fft(np.concatenate((cov, cov[-2:0:-1]))).real.clip(0)
    rng = np.random.default_rng(seed)
    white = rng.normal(size=2 * n) + 1j * rng.normal(size=2 * n)
    return np.fft.fft(np.sqrt(power / (2 * n)) * white).real[:n]


@pytest.mark.parametrize("h", [0.5, 0.7, 0.9])
def test_known_parameters_come_out(h: float) -> None:
    """The mean of 10 series; R/S is known to be drawn towards 0.7 by some hundredths."""
    series = (fractional_noise(h, 8_192, seed) for seed in range(10))
    estimates = [make_pox_plot(counts, first=20).hurst for counts in series]
    assert np.mean(estimates) == pytest.approx(h, abs=0.08)


def test_shuffling_hours_takes_self_similarity_away() -> None:
    counts = np.random.default_rng(1).poisson(np.exp(fractional_noise(0.9, 6_000, 5)))
    hours = np.repeat(np.arange(6_000), counts) * 3_600.0
    shuffled = np.repeat(np.arange(6_000), np.random.default_rng(2).permutation(counts)) * 3_600.0
    assert hurst(hours) > 0.75
    assert hurst(shuffled) < 0.62
