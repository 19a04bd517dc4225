"""Means over many jobs or users, and intervals of their differences.

:mod:`batsched_py.support.statistics` has intervals of any statistic of tens of replications. Here
it is means of many quantities over 100,000s of jobs, or over users with all their jobs, in one
pass: a mean is the ratio of two sums, and its standard error is that of its linearisation (W.
Cochran, "Sampling Techniques", 1977, chapter 6). The intervals are Student's there as here. Where
users differ much in their numbers of jobs, those over jobs by user hold the mean in 82 % of cases
of 8 users and in 91 % of 100 (simulated: ``tests/report/comparing/test_comparing_campaigns.py``).
"""

from __future__ import annotations

from math import nan

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.support.statistics import FEWEST, Interval, student

Floats = NDArray[np.float64]


class Sums(msgspec.Struct, frozen=True):
    """A sample of jobs or users: a row for each, with totals and counts of several quantities."""

    totals: Floats
    counts: Floats
    """Jobs in each total: a mean is the ratio of the sums over all units."""

    @property
    def means(self) -> Floats:
        """The mean of each quantity, nan where there are no jobs."""
        return _means(self.totals.sum(axis=0), self.counts.sum(axis=0))

    @property
    def units(self) -> NDArray[np.int64]:
        """The number of units with a value of each quantity."""
        return np.asarray((self.counts > 0).sum(axis=0), dtype=np.int64)

    @property
    def influences(self) -> Floats:
        """The share of each row in the error of each mean: the sum of squares is its variance."""
        counts, units = self.counts.sum(axis=0), self.units
        with np.errstate(divide="ignore", invalid="ignore"):  # of one unit nothing is known
            scale = np.sqrt(units / (units - 1)) / counts
            return np.asarray((self.totals - self.means * self.counts) * scale)

    def sum_by(self, units: NDArray[np.int64]) -> Sums:
        """Return the sums by group, for example by user; ``units`` is the group of each row."""
        nb = int(units.max(initial=-1)) + 1
        columns = range(self.totals.shape[1])

        def added(values: Floats) -> Floats:
            parts = [np.bincount(units, values[:, column], nb) for column in columns]
            return np.column_stack(parts).astype(np.float64)

        return Sums(added(self.totals), added(self.counts))

    def average_units(self) -> Sums:
        """Return a sample with the mean of each row, so that each row counts once."""
        return make_sums(_means(self.totals, self.counts))


def make_sums(values: Floats) -> Sums:
    """Return a sample from values of shape (n, quantities); nan is left out."""
    there = np.isfinite(values)
    return Sums(np.where(there, values, 0.0), there.astype(np.float64))


def estimate_means(differences: Sums) -> list[Interval]:
    """Return the mean of each quantity with its interval."""
    errors = np.sqrt((differences.influences**2).sum(axis=0))
    reached = zip(differences.means, errors, differences.units, strict=True)
    return [_interval(mean, error, int(nb)) for mean, error, nb in reached]


def estimate_ratios(a: Sums, b: Sums) -> list[Interval]:
    """Return mean(b) / mean(a) of each quantity; row i of both is a pair.

    The interval is that of the logarithm; there is none for a ratio that is not positive.
    """
    means_a, means_b = a.means, b.means
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 has no interval
        values = means_b / means_a
        errors = np.sqrt(((b.influences / means_b - a.influences / means_a) ** 2).sum(axis=0))
    intervals = []
    for value, error, nb in zip(values, errors, b.units, strict=True):
        of_log = _interval(0.0, error, int(nb))
        known = np.isfinite(value) and value > 0
        low, high = (value * np.exp([of_log.low, of_log.high])) if known else (nan, nan)
        value = value if np.isfinite(value) else nan
        intervals.append(Interval(float(value), float(low), float(high), int(nb)))
    return intervals


def estimate_differences(a: Sums, b: Sums) -> list[Interval]:
    """Return mean(b) - mean(a) of each quantity; the samples are independent.

    The degrees of freedom are Welch's (Biometrika 34, 1947).
    """
    variances = [(side.influences**2).sum(axis=0) for side in (a, b)]
    intervals = []
    for at, value in enumerate(b.means - a.means):
        nb = [int(side.units[at]) for side in (a, b)]
        each = [float(variance[at]) for variance in variances]
        degrees = 0
        if min(nb) >= FEWEST:
            inner = sum(v * v / (n - 1) for v, n in zip(each, nb, strict=True))
            degrees = int(sum(each) ** 2 / inner) if inner else max(nb)
        intervals.append(_interval(value, float(np.sqrt(sum(each))), nb[1], degrees))
    return intervals


def _means(totals: Floats, counts: Floats) -> Floats:
    return np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)


def _interval(value: float, error: float, nb: int, degrees: int | None = None) -> Interval:
    """Return Student's interval; none for fewer than :data:`FEWEST` units or 0 ``degrees``.

    These are ``nb`` - 1 unless said.
    """
    if nb < FEWEST or degrees == 0:
        return Interval(float(value), nan, nan, nb)
    reach = student(nb - 1 if degrees is None else degrees) * float(error)
    return Interval(float(value), float(value) - reach, float(value) + reach, nb)
