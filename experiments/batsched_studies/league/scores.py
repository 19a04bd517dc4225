"""Proper scores of ensemble forecasts: the smaller a score, the better the forecast.

A score is proper if forecasting what one believes gives the best score on average. Source:
T. Gneiting, A. Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", Journal of the
American Statistical Association 102(477), 2007. Members count as draws from the forecast, and
scores as unbiased estimates of the forecast's own score, for any number of members
("fair"): C. Ferro, "Fair scores for ensemble forecasts", Quarterly Journal of the Royal
Meteorological Society 140, 2014.
"""

from __future__ import annotations

from math import nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def crps(members: ArrayLike, truth: ArrayLike) -> Floats:
    """Return the fair CRPS of each forecast, in the unit of the values; shape (n,).

    ``members`` have shape (m, n), ``truth`` (n,). Members that are nan are left out; a case whose
    truth is nan, or that has no member, has no score (nan). Of one member it is the absolute error.
    """
    drawn, seen = np.asarray(members, dtype=float), np.asarray(truth, dtype=float)
    return energy_score(drawn[..., None], seen[..., None])


def energy_score(members: ArrayLike, truth: ArrayLike) -> Floats:
    """Return the fair energy score of each forecast, the CRPS of vectors; shape (n,).

    ``members`` have shape (m, n, d), ``truth`` (n, d); distances are Euclidean. nan as in
    :func:`crps`.
    """
    drawn, seen = np.asarray(members, dtype=float), np.asarray(truth, dtype=float)
    there = np.isfinite(drawn).all(axis=2)
    count = there.sum(axis=0)
    drawn = np.where(there[..., None], drawn, 0.0)
    error = np.where(there, np.linalg.norm(drawn - seen, axis=2), 0.0).sum(axis=0)
    spread = np.zeros(drawn.shape[1])
    for at, member in enumerate(drawn[:-1]):
        apart = np.linalg.norm(drawn[at + 1 :] - member, axis=2)
        spread += np.where(there[at] & there[at + 1 :], apart, 0.0).sum(axis=0)
    pairs = np.maximum(count * (count - 1), 1)  # each pair once, so twice as much is halved
    return np.where(count > 0, error / np.maximum(count, 1) - spread / pairs, nan)


def crps_of_sample(sample: ArrayLike, truth: ArrayLike) -> Floats:
    """Return the CRPS of one forecast, a large sample, for each true value; shape (n,).

    It is not the fair CRPS, which differs by a thousandth with thousands of values. nan without a
    sample. It takes O((m + n) log m).
    """
    drawn = np.sort(np.asarray(sample, dtype=float))
    drawn, seen = drawn[np.isfinite(drawn)], np.asarray(truth, dtype=float)
    number = len(drawn)
    if not number:
        return np.full(len(seen), nan)
    sums = np.concatenate(([0.0], np.cumsum(drawn)))
    below = np.searchsorted(drawn, seen)
    error = seen * below - sums[below] + (sums[-1] - sums[below]) - seen * (number - below)
    ranks = 2 * np.arange(1, number + 1) - number - 1
    spread = float((ranks * drawn).sum()) / number**2
    return np.asarray(error / number - spread)


def compute_coverage(members: ArrayLike, truth: ArrayLike) -> float:
    """Return the share of true values between the smallest and the largest ensemble member.

    With a right forecast it is (m - 1) / (m + 1). Cases with nan do not count.
    """
    drawn, seen = np.asarray(members, dtype=float), np.asarray(truth, dtype=float)
    known = np.isfinite(seen) & np.isfinite(drawn).all(axis=0)
    drawn, seen = drawn[:, known], seen[known]
    inside = (drawn.min(axis=0) <= seen) & (seen <= drawn.max(axis=0)) if len(seen) else seen
    return float(np.mean(inside)) if len(seen) else nan
