"""The measures of each run, from which claims of the paper's text are judged without its jobs.

:func:`measure_replay` is for runs of the paper, :func:`measure` for those of ``models.toml``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from batsched_py import Result, metrics
from batsched_py.metrics import JobTable
from batsched_py.units import DAY, MONTH
from batsched_py.workload.logs.clock import local_hours

WINDOW_START = 14 * DAY
WINDOW_MONTHS = (4, 6, 8)
DAY_BEGINS, DAY_ENDS = 8, 18
_SATURDAY = 5 * 24


def measure_replay(result: Result) -> dict[str, float]:
    """Return :func:`measure_jobs` of the jobs of a run."""
    return measure_jobs(result.table)


def measure_jobs(jobs: JobTable) -> dict[str, float]:
    """Return the measures of windows of time (Fig. 9), and of users (Figs. 4 and 5).

    ``jobs_per_day_M_months`` (jobs ended) and ``busy_M_months`` (share of the nodes) are over the
    M months that begin two weeks after the first submission; they are left out where the recorded
    submissions end before. Of users, ``additional_lateness_p10`` to ``_p90`` (s) are over users of
    two jobs or more, ``user_lateness_p50`` (s) is the median of their mean lateness over all users,
    and ``lateness_rank_correlation`` and ``additional_rank_correlation`` are Spearman's, of the
    size of the lateness with the user's number of jobs, over ``nb_users`` and
    ``nb_users_of_several``. Nothing of users whose lateness is 0 or unknown, as in rigid replay.

    Source: Madon et al. 2024, section 5.
    """
    recorded = jobs.original_submit
    if not len(recorded) or np.isnan(recorded).any():
        return {}
    span, nodes = float(np.ptp(recorded)), jobs.nb_processors or 1
    measured: dict[str, float] = {}
    for months in (of for of in WINDOW_MONTHS if WINDOW_START + of * MONTH <= span):
        found = metrics.window(jobs, WINDOW_START, months * MONTH)
        measured[f"jobs_per_day_{months}_months"] = found["throughput_per_day"]
        measured[f"busy_{months}_months"] = found["mean_busy_processors"] / nodes
    if jobs.lateness.any():
        users, several = compute_user_lateness(jobs), compute_additional_lateness(jobs)
        for share in (10, 50, 90) if len(several) else ():
            quantile = several["seconds"].quantile(share / 100)
            measured[f"additional_lateness_p{share}"] = float(quantile)
        measured |= {
            "user_lateness_p50": float(users["lateness"].median()),
            "lateness_rank_correlation": _correlate(users["lateness"], users["jobs"]),
            "additional_rank_correlation": _correlate(several["seconds"], several["jobs"]),
            "nb_users": len(users),
            "nb_users_of_several": len(several),
        }
    return measured


def compute_user_lateness(jobs: JobTable) -> pd.DataFrame:
    """Return each user's name, number of jobs, and mean lateness (seconds)."""
    groups = pd.Series(jobs.lateness).groupby(np.array(jobs.user, dtype=object))
    means = {"jobs": groups.size(), "lateness": groups.mean()}
    return pd.DataFrame(means).reset_index(names="user")


def compute_additional_lateness(jobs: JobTable) -> pd.DataFrame:
    """Return the additional lateness of each user with n > 1 jobs, in the column ``seconds``.

    It is 2 * mean lateness / (n - 1); other columns are as in :func:`compute_user_lateness`.
    """
    users = compute_user_lateness(jobs)
    users = users[users["jobs"] > 1]
    return users.assign(seconds=2 * users["lateness"] / (users["jobs"] - 1))


def _correlate(lateness: pd.Series[float], jobs: pd.Series[int]) -> float:
    """Return the rank correlation of the size of a lateness with a number of jobs."""
    return float(lateness.abs().rank().corr(jobs.rank()))


def measure(result: Result) -> dict[str, float]:
    """Return the shares of jobs submitted in each hour of the day, at work, and at weekends.

    ``share_at_00`` to ``share_at_23`` by local time; ``share_at_work`` is from Monday to Friday,
    8:00 to 18:00 (50 of 168 hours). Nothing for a log that does not say when it began.
    """
    origin, zone = result.settings["unix_start_time"], result.settings["time_zone"]
    times = result.table.submit
    if origin is None or not len(times):
        return {}
    week = local_hours(times, origin, zone)
    hours = (week % 24).astype(int)
    shares = np.bincount(hours, minlength=24) / len(hours)
    weekend = week >= _SATURDAY
    at_work = ~weekend & (hours >= DAY_BEGINS) & (hours < DAY_ENDS)
    return {
        **{f"share_at_{hour:02d}": float(share) for hour, share in enumerate(shares)},
        "share_at_work": float(at_work.mean()),
        "share_at_weekends": float(weekend.mean()),
    }
