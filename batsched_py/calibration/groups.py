"""Compares recorded and simulated waits of groups of jobs: by hour, size, user, and so on."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from math import nan

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from batsched_py.calibration.agreement import FACTOR, MARGIN, are_near
from batsched_py.calibration.job_classes import Classes
from batsched_py.calibration.matched_jobs import MatchedJobs
from batsched_py.calibration.week_bootstrap import Sums, Weeks, correlate_ranks
from batsched_py.support.quotient import ratio
from batsched_py.support.statistics import Interval

FEWEST_JOBS = 30
"""A smaller group has no correlation and no verdict."""
MOST_USERS = 10
"""Users who are groups: those with most jobs."""
USER = "user"


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded and simulated waits of a group of jobs, seconds."""

    kind: str
    name: str
    jobs: int
    mean_recorded: float
    mean_simulated: float
    bias: Interval
    """``mean (simulated - recorded)``."""
    rank_correlation: float
    """nan, too, for fewer than :data:`FEWEST_JOBS` jobs."""
    reproduced: bool | None
    """Whether the mean wait is within :data:`~.agreement.FACTOR` of the recorded one, or within
    :data:`~.agreement.MARGIN`; None if the interval does not tell, or the jobs are few."""

    @property
    def is_small(self) -> bool:
        """Whether the group has fewer than :data:`FEWEST_JOBS` jobs."""
        return self.jobs < FEWEST_JOBS


class UserShare(msgspec.Struct, frozen=True):
    """The number of users, and the number of those whose mean wait is near the recorded one."""

    nb: int
    nb_near: int

    @property
    def share(self) -> float:
        """The share of users; nan if no user is known."""
        return ratio(self.nb_near, self.nb)


def make_groups(jobs: MatchedJobs, weeks: Weeks, classes: Iterable[Classes]) -> list[Group]:
    """Return the groups of each kind that have jobs; of users, only the ones with most jobs."""
    made: list[Group] = []
    for kind in classes:
        order = np.argsort(kind.number, kind="stable")
        ends = np.cumsum(np.bincount(kind.number, minlength=len(kind.names)))
        parts = zip(kind.names, np.split(order, ends[:-1]), strict=True)
        groups = (_group(jobs, weeks, rows, kind.kind, name) for name, rows in parts if len(rows))
        made += islice(groups, MOST_USERS if kind.kind == USER else None)
    return made


def count_near_users(jobs: MatchedJobs) -> UserShare:
    """Count the known users, and the ones whose mean wait is near the recorded one."""
    known = jobs.user != ""
    if not known.any():
        return UserShare(0, 0)
    _, number = np.unique(jobs.user[known].astype(str), return_inverse=True)
    sizes = np.bincount(number)
    means = (
        np.bincount(number, weights=column[known]) / sizes
        for column in (jobs.recorded, jobs.simulated)
    )
    return UserShare(len(sizes), int(are_near(*means).sum()))


def _group(jobs: MatchedJobs, weeks: Weeks, rows: NDArray[np.intp], kind: str, name: str) -> Group:
    recorded, simulated = jobs.recorded[rows], jobs.simulated[rows]
    columns = {"jobs": np.ones(len(rows)), "recorded": recorded, "simulated": simulated}
    part = weeks.select(rows)
    sums = part.sum_by_week(columns)
    bias, beyond = (part.estimate(of, sums).interval for of in (_bias, _beyond))
    is_small = len(rows) < FEWEST_JOBS
    if is_small:
        bias, beyond = (Interval(each.value, nan, nan, each.nb) for each in (bias, beyond))
    out_of_bounds = beyond.above(0)
    return Group(
        kind=kind,
        name=name,
        jobs=len(rows),
        mean_recorded=float(recorded.mean()),
        mean_simulated=float(simulated.mean()),
        bias=bias,
        rank_correlation=nan if is_small else correlate_ranks(recorded, simulated),
        reproduced=None if out_of_bounds is None else not out_of_bounds,
    )


def _bias(sums: Sums) -> ArrayLike:
    return (sums["simulated"] - sums["recorded"]) / sums["jobs"]


def _beyond(sums: Sums) -> ArrayLike:
    """Return by how much the mean simulated wait is out of the bounds; negative if it is inside."""
    r, s = sums["recorded"] / sums["jobs"], sums["simulated"] / sums["jobs"]
    above = s - np.maximum(FACTOR * r, r + MARGIN)
    below = np.minimum(r / FACTOR, r - MARGIN) - s
    return np.maximum(above, below)
