"""Fits the think times of users to the response times of their jobs, in logs.

Source: Schlagkamp 2015, section 3.1, which fits a straight line to six logs. The paper bounds the
think time by eight hours. That it also bounds the response time is our assumption: without it, few
jobs of several days decide the slope (0.06 instead of 0.40 on the five logs at hand).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

import msgspec
import numpy as np

from batsched_py.errors import InputError
from batsched_py.units import HOUR
from batsched_users.behaviour.think_times import ThinkTime
from batsched_users.measures.job_columns import Column, JobColumns

BOUND = 8 * HOUR
"""The paper's bound of a think time, in seconds."""


class Pairs(msgspec.Struct, frozen=True, eq=False):
    """Response times of jobs and the think times after them, in seconds; shape (n,) each."""

    response: Column
    think: Column

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.response)


class ThinkTimeFit(msgspec.Struct, frozen=True):
    """A straight line for think times over response times, fitted by least squares."""

    slope: float
    intercept: float
    """Seconds."""
    nb_pairs: int
    mean_absolute_residual: float
    """Seconds."""
    explained: float
    """Share of the variance of think times that the line explains (R squared)."""

    @property
    def function(self) -> ThinkTime:
        """The fitted line as a think time that user models take."""
        return ThinkTime(self.slope, self.intercept)


def find_think_time_pairs(jobs: JobColumns, most_think: float = BOUND) -> Pairs:
    """Find pairs of consecutive jobs of a user: the response time, and the think time after it.

    The next job is the user's next submission, simultaneous jobs in order of their ends. The think
    time is the submission of the next job minus the end of this one. Pairs with think times outside
    (0, most_think) are left out: the jobs overlap or touch, or the user was away. A job that never
    ended gives no pair. To skip such jobs, pass ``jobs.ended``: the jobs before and after them are
    then consecutive.
    """
    by_user = jobs.by_user(ties="end")
    think = by_user.think_times
    kept = (think > 0) & (think < most_think)
    return Pairs((by_user.end - by_user.submit)[kept], think[kept])


def pool_pairs(parts: Iterable[Pairs]) -> Pairs:
    """Join the pairs of several logs."""
    parts = list(parts)
    empty = np.empty(0)
    return Pairs(
        np.concatenate([empty, *(part.response for part in parts)]),
        np.concatenate([empty, *(part.think for part in parts)]),
    )


def fit_think_times(pairs: Pairs, most_response: float = inf) -> ThinkTimeFit:
    """Fit a line to the pairs with response times below ``most_response``, by least squares.

    Raises :class:`InputError` without two pairs of different response times.
    """
    used = pairs.response < most_response
    response, think = pairs.response[used], pairs.think[used]
    if len(response) < 2 or not np.ptp(response) > 0:
        raise InputError(
            f"{len(response)} pairs of consecutive jobs with a think time: expected at least two, "
            "of different response times, to put a line through"
        )
    from_mean = response - response.mean()
    slope = float(from_mean @ think / (from_mean @ from_mean))
    intercept = float(think.mean() - slope * response.mean())
    residual = think - (slope * response + intercept)
    spread = float(np.var(think))
    return ThinkTimeFit(
        slope,
        intercept,
        len(response),
        float(np.abs(residual).mean()),
        1 - float(np.var(residual)) / spread if spread > 0 else 1.0,
    )


def fit_logs(logs: Mapping[str, Pairs], bound: float = BOUND) -> dict[str, list[ThinkTimeFit]]:
    """Fit each log, and all together as ``pooled``, without and with bounded response times."""
    parts = {**logs, "pooled": pool_pairs(logs.values())}
    return {
        name: [fit_think_times(pairs), fit_think_times(pairs, bound)]
        for name, pairs in parts.items()
    }
