"""Think times of users against the response times of their jobs, learnt from logs.

Source: Schlagkamp 2015, section 3.1, which fits a straight line to six logs. The paper bounds the
think time by eight hours; that it bounds the response time too is our reading, for without it the
few jobs of several days decide the slope (0.06 instead of 0.40 on the five logs at hand).
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
    """Response times of jobs and the think times that followed, in seconds, each of shape (n,)."""

    response: Column
    think: Column

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.response)


class ThinkTimeFit(msgspec.Struct, frozen=True):
    """A straight line through pairs by least squares."""

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
        """The line as the think time of a user model."""
        return ThinkTime(self.slope, self.intercept)


def find_think_time_pairs(jobs: JobColumns, most_think: float = BOUND) -> Pairs:
    """Return the pairs of consecutive jobs of one user that do not overlap.

    A job is followed by the user's next in order of submission, simultaneous ones in order of
    their ends. The think time is the next job's submission minus this one's end; pairs with think
    times outside (0, most_think) are left out: the jobs overlap or touch, or the user was away.
    A job that never ended is followed by nothing: give ``jobs.ended`` of a log that does not know
    all ends, in which the jobs before and after such a job are then consecutive.
    """
    by_user = jobs.by_user(ties="end")
    think = by_user.think_times
    kept = (think > 0) & (think < most_think)
    return Pairs((by_user.end - by_user.submit)[kept], think[kept])


def pool_pairs(parts: Iterable[Pairs]) -> Pairs:
    """Return all pairs of several logs as one."""
    parts = list(parts)
    empty = np.empty(0)
    return Pairs(
        np.concatenate([empty, *(part.response for part in parts)]),
        np.concatenate([empty, *(part.think for part in parts)]),
    )


def fit_think_times(pairs: Pairs, most_response: float = inf) -> ThinkTimeFit:
    """Fit think times by least squares to the pairs with response times below ``most_response``.

    Raises :class:`InputError` if there are no two pairs of different response times.
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
    """Return by log, and for ``pooled`` of all, the fits without and with bounded response time."""
    parts = {**logs, "pooled": pool_pairs(logs.values())}
    return {
        name: [fit_think_times(pairs), fit_think_times(pairs, bound)]
        for name, pairs in parts.items()
    }
