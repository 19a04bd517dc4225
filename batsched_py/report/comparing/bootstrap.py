"""Bootstrap intervals of means over many jobs, drawn singly or user by user.

:mod:`batsched_py.support.statistics` computes any statistic of one quantity, resample by resample,
which suits tens of replications. Here it is means of many quantities over 100,000s of jobs: by the
same percentile method, all quantities share the draws, and what counts is how often each job is
drawn.
"""

from __future__ import annotations

from math import nan

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.support.statistics import CONFIDENCE, RESAMPLES, Interval, quantiles

Floats = NDArray[np.float64]
FEWEST_RESAMPLES = 200
_AT_ONCE = 500
_DRAWS = 1e8
"""Most draws in all (some seconds): beyond 50,000 jobs there are fewer resamples."""


class Sums(msgspec.Struct, frozen=True):
    """What is drawn, a row per unit (a job or a user) and a column per quantity."""

    totals: Floats
    counts: Floats
    """Jobs in each total: a mean is the ratio of the sums over what was drawn."""

    @property
    def means(self) -> Floats:
        """The mean of each quantity, nan where there are no jobs."""
        return _means(self.totals.sum(axis=0), self.counts.sum(axis=0))

    def by(self, units: NDArray[np.int64]) -> Sums:
        """Return the sums of larger units: ``units`` is that of each row, 0, 1, ..."""
        nb = int(units.max(initial=-1)) + 1
        columns = range(self.totals.shape[1])

        def added(values: Floats) -> Floats:
            parts = [np.bincount(units, values[:, column], nb) for column in columns]
            return np.column_stack(parts).astype(np.float64)

        return Sums(added(self.totals), added(self.counts))

    def each_once(self) -> Sums:
        """Return the means of the units, so that each counts once whatever its number of jobs."""
        return sums_of(_means(self.totals, self.counts))


def sums_of(values: Floats) -> Sums:
    """Return values of shape (n, quantities) as sums; nan is no value."""
    there = np.isfinite(values)
    return Sums(np.where(there, values, 0.0), there.astype(np.float64))


def paired(differences: Sums, seed: int = 0) -> list[Interval]:
    """Return the mean of each column with its interval: rows are drawn with replacement."""
    return _intervals(differences.means, _resampled(differences, seed), differences)


def ratios(a: Sums, b: Sums, seed: int = 0) -> list[Interval]:
    """Return mean(b) / mean(a) of each column over pairs: the same rows are drawn of both."""
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0 has no interval
        drawn = _resampled(b, seed) / _resampled(a, seed)
        values = b.means / a.means
    return _intervals(np.where(np.isfinite(values), values, np.nan), drawn, b)


def unpaired(a: Sums, b: Sums, seed: int = 0) -> list[Interval]:
    """Return mean(b) - mean(a) of each column: rows of each are drawn independently."""
    resamples = min(_nb_resamples(len(a.totals)), _nb_resamples(len(b.totals)))
    drawn_a = _resampled(a, seed)[:resamples]
    drawn_b = _resampled(b, seed + 1)[:resamples]
    return _intervals(b.means - a.means, drawn_b - drawn_a, b)


def _means(totals: Floats, counts: Floats) -> Floats:
    return np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)


def _nb_resamples(units: int) -> int:
    return int(max(FEWEST_RESAMPLES, min(RESAMPLES, _DRAWS / max(1, units))))


def _resampled(sums: Sums, seed: int) -> Floats:
    """Return the means of the resamples, shape (resamples, quantities)."""
    units, quantities = sums.totals.shape
    if not units:
        return np.full((1, quantities), np.nan)
    rng = np.random.default_rng(seed)
    both = np.ascontiguousarray(np.column_stack([sums.totals, sums.counts]).T)
    resamples = _nb_resamples(units)
    if units <= _AT_ONCE:
        times = rng.multinomial(units, np.full(units, 1 / units), resamples)
        drawn = times.astype(np.float64) @ both.T
    else:
        drawn = np.empty((resamples, 2 * quantities))
        for row in range(resamples):
            times = np.bincount(rng.integers(0, units, units, dtype=np.int32), minlength=units)
            drawn[row] = both @ times.astype(np.float64)
    return _means(drawn[:, :quantities], drawn[:, quantities:])


def _intervals(values: Floats, drawn: Floats, sums: Sums) -> list[Interval]:
    intervals = []
    tail = (1 - CONFIDENCE) / 2
    for column, value in enumerate(values):
        nb = int((sums.counts[:, column] > 0).sum())
        low, high = quantiles(drawn[:, column], (tail, 1 - tail)) if nb > 1 else (nan, nan)
        intervals.append(Interval(float(value), low, high, nb))
    return intervals
