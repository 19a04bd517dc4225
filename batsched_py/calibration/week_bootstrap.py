"""Estimates statistics of jobs with intervals, by resampling whole weeks.

Weeks of submission are drawn again, whole (a block bootstrap): waits of jobs that queue behind each
other are no independent numbers. Few weeks make percentiles too narrow, so these are expanded as
Student's quantiles are (T. Hesterberg, "What Teachers Should Know About the Bootstrap", The
American Statistician 69(4), 2015). What carries over from one week to the next is not in them.

Rank correlations are Spearman's; equal values have the mean of their ranks (Kendall, "Rank
Correlation Methods", 1948, chapter 3). For them, and for medians, a resample is not ranked anew:
jobs are counted by classes of neighbouring ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import lru_cache
from math import isfinite, nan, sqrt

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from batsched_py.support.statistics import FEWEST, Floats, Interval, student
from batsched_py.units import WEEK

RESAMPLES = 2_000
_SEED = 20_240
_MOST_UNDEFINED = 0.05
"""A statistic that more of the resamples do not define has no interval."""

_CLASSES = 64
"""With this number of classes, resamples have the spread of the exact ranks."""
_FINE_CLASSES = 1_024
_AT_ONCE = 250
"""Resamples: all of them at once would take much memory."""

Sums = Mapping[str, Floats]
"""Sums over jobs by name: each a number, or one for each resample."""
SumStatistic = Callable[[Sums], ArrayLike]
"""What is computed from :data:`Sums`, a number or one for each resample; it may divide by 0."""


class Estimate(msgspec.Struct, frozen=True, eq=False):
    """A statistic, and its value in each resample of the weeks."""

    value: float
    drawn: Floats
    """Shape (:data:`RESAMPLES`,); (0,) of fewer than :data:`FEWEST` weeks."""
    nb: int
    """Number of weeks."""

    def __sub__(self, other: Estimate) -> Estimate:
        """Return the difference of two statistics of the same weeks, paired by resample."""
        return Estimate(self.value - other.value, self.drawn - other.drawn, self.nb)

    def __abs__(self) -> Estimate:
        """Return the absolute value."""
        return Estimate(abs(self.value), np.abs(self.drawn), self.nb)

    @property
    def interval(self) -> Interval:
        """The statistic with its 95 % interval."""
        known = self.drawn[np.isfinite(self.drawn)]
        enough = len(known) >= (1 - _MOST_UNDEFINED) * len(self.drawn)
        if self.nb < FEWEST or not isfinite(self.value) or not enough:
            return Interval(self.value, nan, nan, self.nb)
        tail = _expanded_tail(self.nb)
        low, high = (float(end) for end in np.quantile(known, (tail, 1 - tail)))
        return Interval(self.value, min(low, self.value), max(high, self.value), self.nb)


class Weeks:
    """The weeks of given times, and resamples of these weeks.

    A rest of less than half a week at the end is of the week before; weeks without any time do not
    count.
    """

    def __init__(self, times: Floats) -> None:
        since = times - times.min()
        last = max(1, round(float(since.max()) / WEEK)) - 1
        unique, self.number = np.unique(
            np.minimum(since // WEEK, last).astype(np.int64), return_inverse=True
        )
        """Of each time, from 0 on; shape (n,)."""
        self.nb = len(unique)

    def select(self, rows: NDArray[np.intp]) -> Weeks:
        """Return the weeks of a selection of the times."""
        part = copy(self)
        unique, part.number = np.unique(self.number[rows], return_inverse=True)
        part.nb = len(unique)
        return part

    def sum_by_week(self, columns: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return the sums of columns, each of shape (n,), in each week; shapes (nb,)."""
        return {
            name: np.bincount(self.number, weights=column, minlength=self.nb).astype(np.float64)
            for name, column in columns.items()
        }

    def count_by_week(self, classes: NDArray[np.intp], nb_classes: int) -> Floats:
        """Return the number of times of each class in each week; shape (nb, nb_classes)."""
        flat = np.bincount(self.number * nb_classes + classes, minlength=self.nb * nb_classes)
        return flat.reshape(self.nb, nb_classes).astype(np.float64)

    def redraw(self, of_weeks: Floats) -> Floats:
        """Return the sum over the weeks of each resample; ``of_weeks`` has shape (nb, ...).

        The shape is (:data:`RESAMPLES`, ...); (0, ...) of fewer than :data:`FEWEST` weeks.
        """
        return np.tensordot(_draws(self.nb).astype(np.float64), of_weeks, axes=1)

    def estimate(self, statistic: SumStatistic, sums: Mapping[str, Floats]) -> Estimate:
        """Estimate a statistic of what :meth:`sum_by_week` returns."""
        with np.errstate(divide="ignore", invalid="ignore"):
            totals = {name: np.asarray(column.sum()) for name, column in sums.items()}
            drawn = {name: self.redraw(column) for name, column in sums.items()}
            value = float(np.asarray(statistic(totals)))
            return Estimate(value, np.asarray(statistic(drawn), dtype=np.float64), self.nb)


@lru_cache(maxsize=64)
def _draws(nb: int) -> NDArray[np.uint16]:
    """Return how often each week is in each resample; shape (resamples, nb)."""
    if nb < FEWEST:
        return np.empty((0, nb), dtype=np.uint16)
    rng = np.random.default_rng(_SEED)
    return rng.multinomial(nb, np.full(nb, 1 / nb), size=RESAMPLES).astype(np.uint16)


@lru_cache(maxsize=64)
def _expanded_tail(nb: int) -> float:
    """Return the share of resamples beyond either end of an interval."""
    from scipy.special import ndtr

    return float(ndtr(-student(nb - 1) * sqrt(nb / (nb - 1))))


def correlate_ranks(a: Floats, b: Floats) -> float:
    """Return Spearman's rank correlation of two columns; nan if either is constant."""
    return float(pd.DataFrame({"a": a, "b": b}).corr("spearman").to_numpy()[0, 1])


def estimate_rank_correlation(weeks: Weeks, a: Floats, b: Floats) -> Estimate:
    """Estimate the rank correlation of two columns, with its value in each resample."""
    exact = correlate_ranks(a, b)
    pair_of_classes = _rank_classes(a, _CLASSES) * _CLASSES + _rank_classes(b, _CLASSES)
    counts = weeks.count_by_week(pair_of_classes, _CLASSES * _CLASSES)
    shift = exact - float(_of_counts(counts.sum(axis=0)[None])[0])
    parts = np.array_split(weeks.redraw(counts), max(1, RESAMPLES // _AT_ONCE))
    drawn = np.concatenate([_of_counts(part) for part in parts]) + shift
    return Estimate(exact, np.clip(drawn, -1, 1), weeks.nb)


def estimate_median(weeks: Weeks, values: Floats) -> Estimate:
    """Estimate the median of a column, with its approximate value in each resample."""
    classes = _rank_classes(values, _FINE_CLASSES)
    number = np.bincount(classes, minlength=_FINE_CLASSES)
    means = np.bincount(classes, weights=values, minlength=_FINE_CLASSES) / np.maximum(number, 1)
    cumulative = np.cumsum(weeks.redraw(weeks.count_by_week(classes, _FINE_CLASSES)), axis=1)
    at = (cumulative < cumulative[:, -1:] / 2).sum(axis=1)
    return Estimate(float(np.median(values)), means[at], weeks.nb)


def _rank_classes(values: Floats, nb: int) -> NDArray[np.intp]:
    """Return a class of 0 to nb - 1 for each value, ascending; equal values are in one class."""
    ranks = pd.Series(values).rank().to_numpy()
    return ((ranks - 0.5) / len(ranks) * nb).astype(np.intp)


def _of_counts(counts: Floats) -> Floats:
    """Return the rank correlations of tables of counts; shape (k, classes * classes) -> (k,)."""
    tables = counts.reshape(-1, _CLASSES, _CLASSES)
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    first, second = _centred_ranks(rows), _centred_ranks(columns)
    product = np.einsum("ki,ki->k", np.einsum("kij,kj->ki", tables, second), first)
    squares = (rows * first**2).sum(axis=1) * (columns * second**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = product / np.sqrt(squares)
    return result


def _centred_ranks(counts: Floats) -> Floats:
    """Return the mean rank of each class, less the mean of all; shape (k, classes)."""
    ranks: Floats = np.cumsum(counts, axis=1) - counts / 2 - counts.sum(axis=1)[:, None] / 2
    return ranks
