"""Statistics over the replications of a campaign: quantiles, intervals, paired comparisons.

Intervals are bootstrap intervals (percentile method; Efron and Tibshirani, "An Introduction to the
Bootstrap", 1993, chapter 13): no distribution is assumed. They are computed from a fixed seed, so
that the same runs give the same report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, isnan, nan

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

Statistic = Callable[[NDArray[np.float64]], float]

RESAMPLES = 2000
CONFIDENCE = 0.95


def ratio(numerator: float, denominator: float) -> float:
    """Return the quotient, nan if the denominator is 0."""
    return float(numerator / denominator) if denominator else nan


class Interval(msgspec.Struct, frozen=True):
    """A statistic of a sample and its bootstrap interval."""

    value: float
    low: float
    """nan, as :attr:`high`, for fewer than two values."""
    high: float
    nb: int
    """Number of values."""

    @property
    def is_clear(self) -> bool:
        """Whether the interval is known and has no 0 inside."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """Return ``1.11 (1.10 to 1.12)``, four digits; the value alone if there is no interval."""
        if isnan(self.low):
            return f"{self.value:.4g}"
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


class Beside(msgspec.Struct, frozen=True):
    """Our replications beside a published number."""

    ours: float
    """Median of the replications."""
    low: float
    """2.5 % quantile of the replications (not of their mean)."""
    high: float
    """97.5 % quantile."""
    nb: int
    published: float
    difference: float
    """(ours - published) / |published|; nan if that is 0."""
    spreads: float
    """(published - ours) in units of our spread, half the distance of the quantiles."""
    within: bool
    """Whether the published number is between the two quantiles."""


def finite(values: ArrayLike) -> NDArray[np.float64]:
    """Return the finite values, flat: a metric that is not defined is None or nan."""
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[np.isfinite(array)]


def quantiles(values: ArrayLike, at: Sequence[float] = (0.025, 0.5, 0.975)) -> list[float]:
    """Return the quantiles of the finite values (linear interpolation), nan if there are none."""
    array = finite(values)
    return [float(q) for q in np.quantile(array, at)] if len(array) else [nan] * len(at)


def trimmed_mean(values: ArrayLike, drop: int = 1) -> float:
    """Return the mean without the ``drop`` smallest and largest values.

    With ten sets of jobs and ``drop=1`` it is that of Streit 2003, section 3.7. nan if nothing
    would be left.
    """
    array = np.sort(finite(values))
    kept = array[drop : len(array) - drop]
    return float(kept.mean()) if len(kept) else nan


def mean(values: NDArray[np.float64]) -> float:
    """Return the mean, as a :data:`Statistic`."""
    return float(values.mean())


def median(values: NDArray[np.float64]) -> float:
    """Return the median, as a :data:`Statistic`."""
    return float(np.median(values))


def bootstrap(
    values: ArrayLike, statistic: Statistic = mean, *, resamples: int = RESAMPLES
) -> Interval:
    """Return a statistic of the finite values with its bootstrap interval."""
    return _interval(finite(values), statistic, resamples)


def paired_ratio(ours: ArrayLike, base: ArrayLike, *, resamples: int = RESAMPLES) -> Interval:
    """Return mean(ours) / mean(base) over pairs of equal seeds, with its bootstrap interval.

    Pairs are drawn, not single values: what the two have in common (the same people) cancels.
    Both have shape (n,), in the same order of seeds; pairs that are not finite are left out.
    """

    def statistic(rows: NDArray[np.float64]) -> float:
        return ratio(rows[:, 0].mean(), rows[:, 1].mean())

    return _interval(_pairs(ours, base), statistic, resamples)


def paired_difference(ours: ArrayLike, base: ArrayLike, *, resamples: int = RESAMPLES) -> Interval:
    """Return mean(ours - base) over pairs of equal seeds, with its bootstrap interval."""

    def statistic(rows: NDArray[np.float64]) -> float:
        return float((rows[:, 0] - rows[:, 1]).mean())

    return _interval(_pairs(ours, base), statistic, resamples)


def beside(values: ArrayLike, published: float) -> Beside:
    """Return the replications beside a published number, in units of their spread."""
    array = finite(values)
    low, ours, high = quantiles(array)
    half = (high - low) / 2
    distance = published - ours
    if half > 0:
        spreads = distance / half
    else:  # one replication, or all alike: no spread to measure with
        spreads = nan if len(array) < 2 or not distance else inf * np.sign(distance)
    difference = -distance / abs(published) if published else nan
    within = len(array) > 0 and low <= published <= high
    return Beside(ours, low, high, len(array), published, difference, spreads, within)


def _pairs(ours: ArrayLike, base: ArrayLike) -> NDArray[np.float64]:
    pairs = np.column_stack(
        [np.asarray(values, dtype=np.float64).ravel() for values in (ours, base)]
    )
    return pairs[np.isfinite(pairs).all(axis=1)]


def _interval(sample: NDArray[np.float64], statistic: Statistic, resamples: int) -> Interval:
    """Return a statistic of the rows of ``sample``, with its interval if there are several."""
    if not len(sample):
        return Interval(nan, nan, nan, 0)
    value = statistic(sample)
    if len(sample) < 2:
        return Interval(value, nan, nan, 1)
    generator = np.random.default_rng(0)
    number = len(sample)
    # One sample at a time: all of them together need much memory.
    drawn = [statistic(sample[generator.integers(0, number, number)]) for _ in range(resamples)]
    tail = (1 - CONFIDENCE) / 2
    low, high = quantiles(drawn, (tail, 1 - tail))
    return Interval(value, low, high, number)
