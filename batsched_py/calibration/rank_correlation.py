"""Rank correlation of waits, of which many are equal, and medians, in resamples of weeks too.

Equal values have the mean of their ranks (Kendall, "Rank Correlation Methods", 1948, chapter 3).
"""

from __future__ import annotations

from math import nan

import numpy as np
from numpy.typing import NDArray

from batsched_py.calibration.week_bootstrap import RESAMPLES, Estimate, Weeks
from batsched_py.support.statistics import Floats

_CLASSES = 64
"""Of neighbouring ranks: with so many, resamples have the spread of the exact ranks."""
_FINE_CLASSES = 1_024
_AT_ONCE = 250
"""Resamples: all of them at once would take much memory."""


def ranks(values: Floats) -> Floats:
    """Return the ranks of values, shape (n,), from 1 on; equal ones have their mean rank.

    As that of scipy.stats, which takes a second to import.
    """
    _, place, number = np.unique(values, return_inverse=True, return_counts=True)
    result: Floats = (np.cumsum(number) - (number - 1) / 2)[place]
    return result


def rank_correlation(a: Floats, b: Floats) -> float:
    """Return Spearman's coefficient of columns of shape (n,), nan if either is constant."""
    return _pearson(ranks(a), ranks(b))


def rank_correlation_estimate(weeks: Weeks, a: Floats, b: Floats) -> Estimate:
    """Return the rank correlation of :func:`ranks` with what it is in each resample.

    Resamples are ranked anew, by classes of neighbouring ranks (equal values are in one).
    """
    exact = _pearson(a, b)
    first, second = _classes(a, _CLASSES), _classes(b, _CLASSES)
    counts = weeks.counts(first * _CLASSES + second, _CLASSES * _CLASSES)
    shift = exact - float(_of_counts(counts.sum(axis=0)[None])[0])
    parts = np.array_split(weeks.redrawn(counts), max(1, RESAMPLES // _AT_ONCE))
    drawn = np.concatenate([_of_counts(part) for part in parts]) + shift
    return Estimate(exact, np.clip(drawn, -1, 1), weeks.nb)


def median_estimate(weeks: Weeks, values: Floats, of_ranks: Floats) -> Estimate:
    """Return the median of a column, shape (n,), with what it is, nearly, in each resample.

    ``of_ranks`` are its :func:`ranks`.
    """
    classes = _classes(of_ranks, _FINE_CLASSES)
    number = np.bincount(classes, minlength=_FINE_CLASSES)
    means = np.bincount(classes, weights=values, minlength=_FINE_CLASSES) / np.maximum(number, 1)
    cumulative = np.cumsum(weeks.redrawn(weeks.counts(classes, _FINE_CLASSES)), axis=1)
    at = (cumulative < cumulative[:, -1:] / 2).sum(axis=1)
    return Estimate(float(np.median(values)), means[at], weeks.nb)


def _classes(of_ranks: Floats, nb: int) -> NDArray[np.intp]:
    """Return a class of 0 to nb - 1 for each of some ranks, ascending with it."""
    classes: NDArray[np.intp] = ((of_ranks - 0.5) / len(of_ranks) * nb).astype(np.intp)
    return classes


def _of_counts(counts: Floats) -> Floats:
    """Return the rank correlations of tables of counts; shape (k, classes * classes) -> (k,)."""
    tables = counts.reshape(-1, _CLASSES, _CLASSES)
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    number = rows.sum(axis=1)
    first, second = _centred_ranks(rows, number), _centred_ranks(columns, number)
    product = np.einsum("ki,ki->k", np.einsum("kij,kj->ki", tables, second), first)
    squares = (rows * first**2).sum(axis=1) * (columns * second**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = product / np.sqrt(squares)
    return result


def _centred_ranks(counts: Floats, number: Floats) -> Floats:
    """Return the mean rank of each class, less the mean of all."""
    ranks: Floats = np.cumsum(counts, axis=1) - counts / 2 - number[:, None] / 2
    return ranks


def _pearson(a: Floats, b: Floats) -> float:
    a, b = a - a.mean(), b - b.mean()
    squares = float((a**2).sum() * (b**2).sum())
    return float(np.clip((a * b).sum() / np.sqrt(squares), -1, 1)) if squares > 0 else nan
