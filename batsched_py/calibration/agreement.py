"""Measures the agreement of simulated waits with recorded ones.

In the formulas ``r`` is a job's recorded wait and ``s`` its simulated one, in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import nan

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from batsched_py.calibration.week_bootstrap import (
    Estimate,
    Sums,
    SumStatistic,
    Weeks,
    estimate_median,
    estimate_rank_correlation,
)
from batsched_py.results.job_table import Column, Mask
from batsched_py.support.statistics import Floats, Interval
from batsched_py.units import MINUTE

AT_ONCE = MINUTE
"""A job that waits less starts at once, seconds."""
FACTOR = 2.0
"""A wait is near the recorded one within this factor ..."""
MARGIN = 10 * MINUTE
"""... or if it differs by at most this, seconds."""


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """The agreement of simulated waits with recorded ones; 95 % intervals, times in seconds."""

    mean_recorded: Interval
    mean_simulated: Interval
    median_recorded: Interval
    median_simulated: Interval
    bias: Interval
    """``mean (s - r)``."""
    relative_bias: Interval
    """``mean (s - r) / mean r``; nan if no job waited."""
    rank_correlation: Interval
    """Spearman's, equal waits with their mean rank; nan if all waits of a side are equal."""
    share_explained: Interval
    """``1 - sum (y - f)^2 / sum (y - mean y)^2``, ``y = log(1 min + r)``, ``f = log(1 min + s)``.

    1 if all waits are as recorded, 0 if they are no nearer than the mean would be, negative if
    they are farther; nan if all recorded waits are equal."""
    at_once_recorded: Interval
    """Share of jobs with ``r`` below :data:`AT_ONCE`."""
    at_once_simulated: Interval
    at_once_agree: Interval
    """Share of jobs that start at once in both or in neither."""
    near: Interval
    """Share of jobs whose ``s`` is within :data:`FACTOR` of ``r``, or within :data:`MARGIN`."""


def are_near(recorded: ArrayLike, simulated: ArrayLike) -> Mask:
    """Return a mask of the simulated waits within a factor or a margin of the recorded ones."""
    r, s = np.asarray(recorded), np.asarray(simulated)
    result: Mask = (np.abs(s - r) <= MARGIN) | ((s <= FACTOR * r) & (r <= FACTOR * s))
    return result


def to_log_scale(wait: Column) -> Column:
    """Return ``log(1 + wait / 1 min)``, which differs from ``log(1 min + wait)`` by a constant."""
    return np.log1p(wait / MINUTE)


def _share_explained(sums: Sums) -> ArrayLike:
    total = sums["y_squared"] - sums["y"] ** 2 / sums["jobs"]
    known = total > 1e-9 * (1 + sums["jobs"])  # else it is the rounding of 0
    return np.where(known, 1 - sums["errors"] / total, nan)


def _relative_bias(sums: Sums) -> ArrayLike:
    recorded = sums["mean_recorded"]
    return np.where(recorded > 0, sums["mean_simulated"] / recorded - 1, nan)


def _mean(name: str) -> SumStatistic:
    return lambda sums: sums[name] / sums["jobs"]


_OF_SUMS: Mapping[str, SumStatistic] = {
    **{
        name: _mean(name)
        for name in (
            *("mean_recorded", "mean_simulated", "at_once_recorded", "at_once_simulated"),
            *("at_once_agree", "near"),
        )
    },
    "bias": lambda sums: (sums["mean_simulated"] - sums["mean_recorded"]) / sums["jobs"],
    "relative_bias": _relative_bias,
    "share_explained": _share_explained,
}


def estimate_agreement(weeks: Weeks, recorded: Column, simulated: Column) -> dict[str, Estimate]:
    """Return the measures of :class:`Agreement` by name, with their values in resampled weeks.

    Columns have shape (n,), n at least 1.
    """
    sums = weeks.sum_by_week(_columns(recorded, simulated))
    made = {name: weeks.estimate(statistic, sums) for name, statistic in _OF_SUMS.items()}
    return made | {
        "median_recorded": estimate_median(weeks, recorded),
        "median_simulated": estimate_median(weeks, simulated),
        "rank_correlation": estimate_rank_correlation(weeks, recorded, simulated),
    }


def _columns(recorded: Column, simulated: Column) -> dict[str, Floats]:
    """Return what the measures are sums of, a value per job."""
    y, f = to_log_scale(recorded), to_log_scale(simulated)
    centred = y - y.mean()  # sums of squares keep more digits
    at_once = recorded < AT_ONCE, simulated < AT_ONCE
    return {
        "jobs": np.ones(len(recorded)),
        "mean_recorded": recorded,
        "mean_simulated": simulated,
        "y": centred,
        "y_squared": centred**2,
        "errors": (y - f) ** 2,
        "at_once_recorded": at_once[0].astype(np.float64),
        "at_once_simulated": at_once[1].astype(np.float64),
        "at_once_agree": (at_once[0] == at_once[1]).astype(np.float64),
        "near": are_near(recorded, simulated).astype(np.float64),
    }
