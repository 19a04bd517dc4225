"""Statistics over the replications of a campaign: quantiles, intervals, paired comparisons, tests.

Replications are few, and the percentile bootstrap is too narrow for few: of three values its "95 %"
interval holds the mean in 73 % of cases, of ten in 90. So intervals are Student's: a statistic, the
standard error of it by leaving out each replication in turn (the jackknife; Efron and Tibshirani,
"An Introduction to the Bootstrap", 1993, chapter 11), and the quantile of t with n - 1 degrees of
freedom. Of a mean that is the usual interval. What is a quotient is done on its logarithm. Medians
have intervals of order statistics, as the jackknife fails for them.

Of fewer than :data:`FEWEST` values there is no interval: with more, values that are not normal
show. Simulated coverage of the intervals (``tests/support/test_statistics.py``): means in 94 to 96
% of cases where values are normal or differ by a quarter from seed to seed, for any number, in 88
to 92 % where they differ by a factor of two, to the longer side; medians in 94 to 96 %; ratios of
means, whose pairs differ by a quarter, in 91 % of 5 and 10 pairs, 93 % of 30; trimmed means in 89 %
of 5, 94 of 10; ratios of spreads in 94 to 96 % where logarithms are normal, in 90 to 92 % where
they have a long tail to one side. Shares have the exact interval: 95 % or more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf, isfinite, isnan, log, nan, sqrt

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from batsched_py.support.quotient import ratio

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], float]

CONFIDENCE = 0.95
FEWEST = 5
"""The fewest replications with an interval: with fewer, normality cannot be checked."""
PERMUTATIONS = 9_999


class Interval(msgspec.Struct, frozen=True):
    """A statistic of a sample and its 95 % interval."""

    value: float
    low: float
    """nan, as :attr:`high`, for fewer than :data:`FEWEST` values."""
    high: float
    nb: int
    """Number of values."""

    @property
    def is_known(self) -> bool:
        """Whether there are enough values for an interval."""
        return not isnan(self.low)

    @property
    def is_clear(self) -> bool:
        """Whether the interval is known and has no 0 inside."""
        return self.low > 0 or self.high < 0

    def of_another(self, number: int) -> Interval:
        """Return the interval for 95 % of the same statistics of ``number`` further values.

        A published mean is to be held against this, and not against the interval of ours: it varies
        too.
        """
        further = sqrt(1 + self.nb / number)
        low, high = (self.value + further * (end - self.value) for end in (self.low, self.high))
        return Interval(self.value, low, high, self.nb)

    def above(self, bound: float) -> bool | None:
        """Return whether the value is above a bound; None if the interval contains the bound."""
        return True if self.low > bound else False if self.high <= bound else None

    def below(self, bound: float) -> bool | None:
        """Return whether the value is below a bound; None if the interval contains the bound."""
        return True if self.high < bound else False if self.low >= bound else None

    def within(self, low: float, high: float) -> bool | None:
        """Return whether the interval is between two bounds; None if only a part of it is."""
        if self.high < low or self.low > high:
            return False
        return True if low <= self.low and self.high <= high else None

    def __str__(self) -> str:
        """Return ``1.11 (1.10 to 1.12)``, four digits; the value alone if there is no interval."""
        if not self.is_known:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"


class Comparison(msgspec.Struct, frozen=True):
    """The position of a published number among our replications.

    Whether it may be one of them is asked by its rank, and by how far out it is; "inside our
    quantiles" would be no test (every sixth number that is one of eleven is outside the ten others,
    and for whatever is of another kind, quantiles of single runs are wide). Numbers of one table
    hang together: their ``p`` are no independent tests.
    """

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
    z: float
    """(published - mean) in standard deviations of one further replication; nan, as :attr:`p`, for
    fewer than :data:`FEWEST`."""
    below: float
    """How many of ours are smaller; those that are equal count half."""
    p: float
    """How often a further replication is as far out as :attr:`z` if they are normal; two-sided."""

    @property
    def rank(self) -> str:
        """The number of smaller ones of ours, as ``3 of 10``; "" without values to compare."""
        return "" if isnan(self.below) else f"{self.below:g} of {self.nb}"


class SpreadTest(msgspec.Struct, frozen=True):
    """The ratio of the spreads of two sides, over pairs of replications."""

    ours: float
    """Standard deviation of the logarithms: 0.1 is some 10 %."""
    base: float
    ratio: Interval
    """Ours over that of the base."""
    p: float
    """Permutation test of equal spread, two-sided."""


def finite(values: ArrayLike) -> Floats:
    """Return the finite values as a flat array; undefined metrics, None or nan, are left out."""
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


@lru_cache(1024)
def student(degrees: int) -> float:
    """Return half the width of the 95 % interval, in standard errors, by Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + CONFIDENCE) / 2))


def mean_interval(values: ArrayLike) -> Interval:
    """Return the mean of the finite values with its interval."""
    return jackknife(finite(values), np.mean)


def jackknife(sample: ArrayLike, statistic: Statistic, *, is_ratio: bool = False) -> Interval:
    """Return a smooth statistic of the rows of ``sample``, shape (n, ...), with its interval.

    Rows are left out one by one. Where the statistic ``is_ratio``, its interval is that of its
    logarithm; there is none for a ratio that is not positive. Not for medians and quantiles.
    """
    rows = np.asarray(sample, dtype=np.float64)
    number = len(rows)
    value = statistic(rows) if number else nan
    if number < FEWEST or not isfinite(value) or (is_ratio and value <= 0):
        return Interval(value, nan, nan, number)
    without = np.array([statistic(np.delete(rows, at, axis=0)) for at in range(number)])
    if is_ratio:
        if not (without > 0).all():
            return Interval(value, nan, nan, number)
        without = np.log(without)
    reach = student(number - 1) * jackknife_error(without)
    if is_ratio:
        return Interval(value, value * float(np.exp(-reach)), value * float(np.exp(reach)), number)
    return Interval(value, value - reach, value + reach, number)


def jackknife_error(without: Floats) -> float:
    """Return the standard error of a statistic by its values without each of n rows, shape (n,)."""
    return sqrt(len(without) - 1) * float(without.std())


def paired_ratio(ours: ArrayLike, base: ArrayLike) -> Interval:
    """Return mean(ours) / mean(base) over pairs of equal seeds, with its interval.

    What the two have in common (the same users) cancels. Both have shape (n,), in the same order
    of seeds; pairs that are not finite are left out.
    """

    def statistic(rows: Floats) -> float:
        return ratio(rows[:, 0].mean(), rows[:, 1].mean())

    return jackknife(_pairs(ours, base), statistic, is_ratio=True)


def paired_difference(ours: ArrayLike, base: ArrayLike) -> Interval:
    """Return mean(ours - base) over pairs of equal seeds, with its interval."""
    pairs = _pairs(ours, base)
    return mean_interval(pairs[:, 0] - pairs[:, 1])


def median_interval(values: ArrayLike) -> Interval:
    """Return the median of the finite values with its interval; there is none for fewer than 6.

    The ends are between two order statistics, so that the confidence is 95 % for any
    distribution, or nearly (T. Hettmansperger, S. Sheather, "Confidence intervals based on
    interpolated order statistics", Statistics and Probability Letters 4, 1986).
    """
    return _median_of(finite(values))


def _median_of(values: Floats) -> Interval:
    """Return the interval of the median of values that may be infinite, not nan."""
    ordered = np.sort(values)
    number = len(ordered)
    value = float(np.median(ordered)) if number else nan
    depth = _median_depth(number)
    if depth is None:
        return Interval(value, nan, nan, number)
    outer, share = depth
    low = _between(ordered[outer - 1], ordered[outer], share)
    high = -_between(-ordered[number - outer], -ordered[number - outer - 1], share)
    return Interval(value, low, high, number)


def _between(first: float, second: float, share: float) -> float:
    """Return what is so far from the first to the second, which is not less, however one rounds."""
    way = second - first
    return float(np.clip(first + share * way, first, second)) if isfinite(way) else float(second)


@lru_cache(1024)
def _median_depth(number: int) -> tuple[int, float] | None:
    """Return which order statistic an end begins at, and its way to the next inner one."""
    from scipy.special import bdtr

    def confidence(depth: int) -> float:
        return 1 - 2 * float(bdtr(depth - 1, number, 0.5))

    outer = 0
    while 2 * (outer + 1) <= number and confidence(outer + 1) >= CONFIDENCE:
        outer += 1
    if not outer:
        return None
    excess = (confidence(outer) - CONFIDENCE) / (confidence(outer) - confidence(outer + 1))
    return outer, (number - outer) * excess / (outer + (number - 2 * outer) * excess)


def share_interval(number: float, of: int) -> Interval:
    """Return the share ``number / of`` with its exact interval, that of Clopper and Pearson.

    Whatever the true share of independent draws is, the interval holds it in 95 % of cases or more
    (C. Clopper, E. Pearson, Biometrika 26, 1934). ``number`` may have halves: what is equal to a
    bound may count for both sides. There is no interval for fewer than :data:`FEWEST` draws.
    """
    from scipy.special import betaincinv

    if of < FEWEST:
        return Interval(ratio(number, of), nan, nan, of)
    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(number, of - number + 1, tail)) if number > 0 else 0.0
    high = float(betaincinv(number + 1, of - number, 1 - tail)) if number < of else 1.0
    return Interval(number / of, low, high, of)


def median_ratio(ours: ArrayLike, base: ArrayLike) -> Interval:
    """Return the median of ours / base over pairs of equal seeds, with its interval.

    Pairs of two zeros have no ratio, and are left out.
    """
    pairs = _pairs(ours, base)
    pairs = pairs[(pairs != 0).any(axis=1)]
    with np.errstate(divide="ignore"):
        return _median_of(pairs[:, 0] / pairs[:, 1])


def spread_test(ours: ArrayLike, base: ArrayLike) -> SpreadTest:
    """Return a test of whether positive values vary less or more than ``base``, paired by seed.

    The spread is the standard deviation of logarithms. Under the null hypothesis of the test it is
    the same on both sides, whatever their levels: deviations from the medians of the logarithms
    are exchanged within pairs at random (:data:`PERMUTATIONS` times, from a fixed seed). There is
    neither interval nor ``p`` where a value is not positive: its logarithm is out of all bounds.

    Largest over smallest is no such measure: it grows with the number of values, and no bootstrap
    gives it an interval (P. Bickel, D. Freedman, Annals of Statistics 9(6), 1981, section 6).
    """
    pairs = _pairs(ours, base)
    if not (pairs > 0).all():
        return SpreadTest(nan, nan, Interval(nan, nan, nan, len(pairs)), nan)
    logs = np.log(pairs)
    of_ours, of_base = (_deviation(side) for side in logs.T)
    change = jackknife(logs, _spread_ratio, is_ratio=True)
    if len(logs) < 2 or not of_ours or not of_base:
        return SpreadTest(of_ours, of_base, change, nan)
    residuals = logs - np.median(logs, axis=0)
    observed = abs(log(_spread_ratio(residuals)))
    swaps = np.random.default_rng(0).random((PERMUTATIONS, len(logs))) < 0.5
    sides = [np.where(swaps == swapped, residuals[:, 0], residuals[:, 1]) for swapped in (0, 1)]
    with np.errstate(divide="ignore", invalid="ignore"):  # one side may be left without spread
        drawn = np.abs(np.log(sides[0].std(axis=1) / sides[1].std(axis=1)))
    extreme = int((drawn >= observed * (1 - 1e-9)).sum())
    return SpreadTest(of_ours, of_base, change, (1 + extreme) / (1 + PERMUTATIONS))


def compare_published(values: ArrayLike, published: float) -> Comparison:
    """Return the position of a published number among the finite values of our replications."""
    array = finite(values)
    low, ours, high = quantiles(array)
    number, distance = len(array), published - ours
    difference = -distance / abs(published) if published else nan
    below = float((array < published).sum() + (array == published).sum() / 2)
    if not number or isnan(published):
        below = nan
    z, p = _as_further_value(array, published)
    return Comparison(ours, low, high, number, published, difference, z, below, p)


def _as_further_value(array: Floats, published: float) -> tuple[float, float]:
    """Return how far out a number is as a further value of a normal sample, and how rare that."""
    if len(array) < FEWEST or isnan(published):
        return nan, nan
    distance = float(published - array.mean())
    error = float(array.std(ddof=1)) * sqrt(1 + 1 / len(array))
    if np.ptp(array) == 0:  # all of ours are alike
        equal = published == array[0]
        return (0.0, 1.0) if equal else (inf if distance > 0 else -inf, 0.0)
    from scipy.special import stdtr

    z = distance / error
    return z, 2 * float(stdtr(len(array) - 1, -abs(z)))


def _deviation(logs: Floats) -> float:
    return float(logs.std(ddof=1)) if len(logs) > 1 else nan


def _spread_ratio(logs: Floats) -> float:
    return ratio(logs[:, 0].std(), logs[:, 1].std())


def _pairs(ours: ArrayLike, base: ArrayLike) -> Floats:
    pairs = np.column_stack(
        [np.asarray(values, dtype=np.float64).ravel() for values in (ours, base)]
    )
    return pairs[np.isfinite(pairs).all(axis=1)]
