"""Finds flurries: stretches of a log that one user dominates.

A flurry is a surge of activity by one user that dominates the workload for a while (D. Tsafrir,
D. Feitelson, "Instability in parallel job scheduling simulation: the role of workload flurries",
IPDPS 2006). The archive finds them by eye. The definition here is new: a stretch of submissions in
which a user's jobs outnumber those of all others by as many as the log has in an ordinary week, and
by :data:`FEWEST_JOBS`. The ordinary week is the median of those that have jobs.

Stretches are as long as pays: each is the one with the largest difference between the user's jobs
and those of others (a maximal scoring subsequence; W. Ruzzo, M. Tompa, "A linear time algorithm for
finding all maximal scoring subsequences", ISMB 1999), then likewise before and after it.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.units import WEEK
from batsched_py.workload.logs.swf import Column, SwfLog

FEWEST_JOBS = 100
"""Fewer jobs are never a burst, however quiet the log is."""
FEWEST_WEEKS = 4
"""A shorter log does not show what an ordinary week is."""


class Flurry(msgspec.Struct, frozen=True):
    """A flurry: a number of jobs of one user, from one second of the log to another."""

    user: int
    first_job: int
    last_job: int
    jobs: int
    jobs_of_all: int
    """The number of jobs of all users between the first and the last of them, inclusive."""
    begin: float
    end: float
    alike: int
    """How many of them are of the commonest size."""

    @property
    def filter(self) -> str:
        """The filter for these jobs, in the form of the headers of the archive's cleaned logs."""
        return f"user={self.user} and (job>={self.first_job} and job<={self.last_job})"


def find_flurries(log: SwfLog) -> list[Flurry]:
    """Return the flurries of a log, those with the most jobs first.

    There are none in a log of less than :data:`FEWEST_WEEKS` or of fewer than two known users.
    """
    week = count_ordinary_week(log.column("submit_time"))
    users, user_of, jobs = np.unique(log.column("user"), return_inverse=True, return_counts=True)
    if week is None or (users >= 0).sum() < 2:
        return []
    least = max(week, FEWEST_JOBS)
    found = [
        _flurry(log, places[first : last + 1])
        for place in np.flatnonzero((users >= 0) & (jobs >= least))
        for places in [np.flatnonzero(user_of == place)]
        for first, last in _dominated(places, least)
    ]
    return sorted(found, key=lambda flurry: -flurry.jobs)


def count_ordinary_week(submit: Column) -> float | None:
    """Return the median number of jobs of the weeks that have any, None for a short log.

    Weeks count from the first submission; the last one, which is not whole, does not count.
    """
    weeks = np.floor((submit - submit[0]) / WEEK)
    if weeks[-1] < FEWEST_WEEKS:
        return None
    _, jobs = np.unique(weeks[weeks < weeks[-1]], return_counts=True)
    return float(np.median(jobs))


def _dominated(places: NDArray[np.intp], least: float) -> Iterator[tuple[int, int]]:
    """Yield the first and last job of each stretch, as indices of ``places``.

    ``places`` are the rows of one user's jobs. From job i to job j the user has j - i + 1 jobs,
    and they are that many more than those of others: lead[j] - lead[i] + 1.
    """
    lead = 2 * np.arange(len(places)) - places
    left = [(0, len(places))]
    while left:
        start, stop = left.pop()
        part = lead[start:stop]
        if len(part) < least:
            continue
        lowest = np.minimum.accumulate(part)
        last = int((part - lowest).argmax())
        if part[last] - lowest[last] + 1 < least:
            continue
        first = int(part[: last + 1].argmin())
        yield start + first, start + last
        left += [(start, start + first), (start + last + 1, stop)]


def _flurry(log: SwfLog, places: NDArray[np.intp]) -> Flurry:
    """Return what the filter selects: a job's number need not follow the order of submission."""
    numbers, submit = log.column("job_number"), log.column("submit_time")
    user = log.column("user")[places[0]]
    low, high = numbers[places].min(), numbers[places].max()
    rows = np.flatnonzero((log.column("user") == user) & (numbers >= low) & (numbers <= high))
    return Flurry(
        user=int(user),
        first_job=int(low),
        last_job=int(high),
        jobs=len(rows),
        jobs_of_all=int(rows[-1] - rows[0] + 1),
        begin=float(submit[rows[0]]),
        end=float(submit[rows[-1]]),
        alike=int(np.unique(log.sizes[rows], return_counts=True)[1].max()),
    )
