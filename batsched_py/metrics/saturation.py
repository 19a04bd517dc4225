"""Detects whether a simulation was saturated: whether the backlog grows from week to week.

Source: N. Zakay, PhD thesis, chapter 3. If users submit more work than the machine can do, the
number of outstanding jobs grows as long as the simulation lasts, and the mean waiting time depends
on that length more than on the policy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from batsched_py.results.job_table import JobTable
from batsched_py.support.quotient import ratio
from batsched_py.units import WEEK

LIMIT = 1.0
"""The largest growth of the backlog of a stable simulation, jobs/week."""
MOST_WEEKS = 100_000
"""The most weeks, some 2,000 years: beyond, times are not seconds, and weeks fill the memory."""


def backlog_growth(table: JobTable) -> float:
    """Slope of the low marks of the backlog, weeks as ``x``.

    Not defined for simulations with submissions in fewer than three weeks (or in more than
    :data:`MOST_WEEKS`).

    Unit: jobs/week. Source: Zakay, PhD thesis, chapter 3.
    """
    weeks = np.ptp(table.submit) / WEEK if len(table.submit) else 0
    return growth(backlog(table)) if weeks <= MOST_WEEKS else float("nan")


def saturated(run: JobTable | float | None) -> bool:
    """Return whether the backlog grows by more than one job a week.

    ``run`` is a table, or its metric :func:`backlog_growth`. A growth of exactly one, which the
    source leaves open, is stable, as is a run that is too short (nan, None).
    """
    slope = backlog_growth(run) if isinstance(run, JobTable) else run
    return slope is not None and slope > LIMIT


def backlog(table: JobTable) -> NDArray[np.int64]:
    """Return the number of submitted jobs that have not ended at the beginning of each week.

    Shape (weeks,). Weeks are of 7 days from the first submission; a job counts from the instant of
    its submission to before that of its end or withdrawal. Rejected jobs never count. Weeks that
    begin after the last submission are left out: the machine empties then, and all minima over
    later weeks would be 0.
    """
    if not len(table.submit):
        return np.empty(0, dtype=np.int64)
    first, last = float(np.min(table.submit)), float(np.max(table.submit))
    begins = first + WEEK * np.arange(int((last - first) // WEEK) + 1)
    counted = np.isfinite(table.left)
    arrived = np.searchsorted(np.sort(table.submit[counted]), begins, side="right")
    left = np.searchsorted(np.sort(table.left[counted]), begins, side="right")
    return np.asarray(arrived - left, dtype=np.int64)


def low_marks(counts: ArrayLike) -> NDArray[np.int64]:
    """Return for each week the least backlog from then on, without the last fifth of the weeks.

    Low marks never fall, so that a temporary peak does not look like growth. The last ones are
    minima over few weeks, and in the end the backlogs themselves; therefore a fifth is dropped
    *after* the minima are taken, rounded up (``4 n // 5`` are left; the source has 20 %).
    """
    weeks = np.asarray(counts, dtype=np.int64)
    least = np.minimum.accumulate(weeks[::-1])[::-1]
    return least[: 4 * len(least) // 5]


def growth(counts: ArrayLike) -> float:
    """Return the slope of the least-squares line through the low marks of weekly backlogs.

    Jobs/week; nan if fewer than two marks are left.
    """
    marks = low_marks(counts)
    week = np.arange(len(marks)) - (len(marks) - 1) / 2  # around 0, so that no mean is needed
    return ratio(float(week @ marks), float(week @ week))
