"""What of a change is seen in the log itself: before and after it."""

from __future__ import annotations

from typing import Any

import numpy as np

from batsched_py.units import DAY, HOUR, WEEK
from batsched_studies.league.days import Floats, Jobs
from batsched_studies.league.standings import Case


def evidence(case: Case) -> list[dict[str, Any]]:
    """Return a row of what was recorded before the change, one after it, and one under our policy.

    The last has the jobs of the second, replayed.
    """
    change, jobs = case.change, case.recorded.jobs
    before = -change.learnt * WEEK, 0.0
    after = change.settle * WEEK, change.horizon * WEEK
    rows = [{"when": "before", **_seen(jobs, *before)}, {"when": "after", **_seen(jobs, *after)}]
    if case.replayed is not None:
        rows.append({"when": "after, our policy", **_seen(case.replayed.jobs, *after)})
    return rows


def _seen(jobs: Jobs, begin: float, end: float) -> dict[str, Any]:
    inside = (jobs.submit >= begin) & (jobs.submit < end)
    run, size, wait = (column[inside] for column in (jobs.run, jobs.size, jobs.wait))
    week = np.floor((jobs.submit[inside] - begin) / WEEK).astype(int).tolist()
    users = {*zip(week, jobs.user[inside].tolist(), strict=True)}
    return {
        "jobs": len(run) / (end - begin) * DAY,
        "users": len(users) / (end - begin) * WEEK,
        "work": 100 * float((run * size).sum()) / (end - begin) / jobs.nb_processors,
        "busy": float(np.quantile(busy_at(jobs, np.arange(begin, end, HOUR / 2)), 0.99)),
        "widest": float(size.max()),
        "run": float(run.mean()) / HOUR,
        "over_a_day": 100 * float((run > DAY).mean()),
        "longest": float(run.max()) / HOUR,
        "wait": float(np.nanmean(wait)) / HOUR,
        "median_wait": float(np.nanmedian(wait)) / HOUR,
    }


def busy_at(jobs: Jobs, moments: Floats) -> Floats:
    """Return how many processors jobs have at some moments."""
    return jobs.used.at(moments)
