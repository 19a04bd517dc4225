"""Spearman's rank correlation and medians of waits, with their values in resamples of weeks.

Equal values have the mean of their ranks (Kendall, "Rank Correlation Methods", 1948, chapter 3).
A resample is not ranked anew: jobs are counted by classes of neighbouring ranks.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.calibration.week_bootstrap import RESAMPLES, Estimate, Weeks
from batsched_py.support.statistics import Floats

_CLASSES = 64
"""With so many classes, resamples have the spread of the exact ranks."""
_FINE_CLASSES = 1_024
_AT_ONCE = 250
"""Resamples: all of them at once would take much memory."""


def rank_correlation(a: Floats, b: Floats) -> float:
    """Return Spearman's coefficient of columns of shape (n,), nan if either is constant."""
    return float(pd.DataFrame({"a": a, "b": b}).corr("spearman").to_numpy()[0, 1])


def rank_correlation_estimate(weeks: Weeks, a: Floats, b: Floats) -> Estimate:
    """Return the rank correlation of columns of shape (n,) with its value in each resample."""
    exact = rank_correlation(a, b)
    pair_of_classes = _rank_classes(a, _CLASSES) * _CLASSES + _rank_classes(b, _CLASSES)
    counts = weeks.counts(pair_of_classes, _CLASSES * _CLASSES)
    shift = exact - float(_of_counts(counts.sum(axis=0)[None])[0])
    parts = np.array_split(weeks.redrawn(counts), max(1, RESAMPLES // _AT_ONCE))
    drawn = np.concatenate([_of_counts(part) for part in parts]) + shift
    return Estimate(exact, np.clip(drawn, -1, 1), weeks.nb)


def median_estimate(weeks: Weeks, values: Floats) -> Estimate:
    """Return the median of a column, shape (n,), with its approximate value in each resample."""
    classes = _rank_classes(values, _FINE_CLASSES)
    number = np.bincount(classes, minlength=_FINE_CLASSES)
    means = np.bincount(classes, weights=values, minlength=_FINE_CLASSES) / np.maximum(number, 1)
    cumulative = np.cumsum(weeks.redrawn(weeks.counts(classes, _FINE_CLASSES)), axis=1)
    at = (cumulative < cumulative[:, -1:] / 2).sum(axis=1)
    return Estimate(float(np.median(values)), means[at], weeks.nb)


def _rank_classes(values: Floats, nb: int) -> NDArray[np.intp]:
    """Return a class of 0 to nb - 1 for each value, ascending; equal values are in one class."""
    ranks = pd.Series(values).rank().to_numpy()
    classes: NDArray[np.intp] = ((ranks - 0.5) / len(ranks) * nb).astype(np.intp)
    return classes


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
