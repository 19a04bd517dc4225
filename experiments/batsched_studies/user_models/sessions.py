"""Sessions, batches and pools of users, compared with Zakay's thesis."""

from __future__ import annotations

from functools import cache
from math import log10
from pathlib import Path

from batsched_py.workload import WorkloadJob
from batsched_studies.filled_page import Row
from batsched_studies.user_models.logs import HERE, PRINTED, find_path, load_jobs, name_files
from batsched_users.resampling.user_pools import make_pools
from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.studies.thresholds import (
    Counts,
    compare_think_times,
    count_sessions,
    ks_distance_of_samples,
)

BY_ARRIVAL = "arrival:60:>"
EDGES = (4, 60 / 7)
"""Weeks at the edges of a log: as in the thesis, and 60 days."""


def select_jobs_that_ran(shared: Path, log: str) -> list[WorkloadJob]:
    """Return the jobs of a log that got processors: the thesis cannot have counted others."""
    return load_jobs(find_path(shared, HERE[log]), drop="no-allocation").jobs


@cache
def count_log_sessions(shared: Path, log: str, rule: str) -> Counts:
    """Return the counts of batches and sessions of a log, with a rule that delimits sessions."""
    delimitation = Delimitation.parse(rule)
    return count_sessions(partition(select_jobs_that_ran(shared, log), delimitation), delimitation)


def make_counts_rows(shared: Path, log: str) -> list[Row]:
    """Return the row of a log's jobs, batches and sessions."""
    counts = count_log_sessions(shared, log, BY_ARRIVAL)
    here = (counts.jobs, counts.batches, counts.sessions)
    singles = counts.single_job_batches, counts.single_job_sessions
    shares = (f"{100 * share:.1f}" for share in singles)
    return [(*name_files(log), *PRINTED["zakay"]["counts"][log], *here, *shares)]


def make_length_rows(shared: Path, log: str) -> list[Row]:
    """Return the rows of a log's long sessions, one for each rule with printed values."""
    lines: list[Row] = []
    for rule, (share, longest) in PRINTED["zakay"]["lengths"].get(log, {}).items():
        counts = count_log_sessions(shared, log, rule)
        here = f"{100 * counts.long_sessions:.1f} %"
        if "+" in rule:
            here = f"10^{log10(counts.long_sessions):.1f}"
        lines.append((*name_files(log), rule, share, here, longest, round(counts.longest_session)))
    return lines


def make_think_rows(shared: Path, log: str) -> list[Row]:
    """Return the row of how the methods of delimiting sessions differ in think times."""
    times = compare_think_times(select_jobs_that_ran(shared, log))
    last = ks_distance_of_samples(times.unique_last, times.common_last)
    both = ks_distance_of_samples(times.common_last, times.common_max)
    most = ks_distance_of_samples(times.unique_max, times.common_max)
    shares = (f"{share:.3f}" for share in (both, last, most))
    return [(*name_files(log), len(times.common_last), *shares)]


def make_session_rows(shared: Path, log: str) -> dict[str, list[Row]]:
    """Return the rows of a log for all three tables of sessions."""
    return {
        "sessions": make_counts_rows(shared, log),
        "session-lengths": make_length_rows(shared, log),
        "last-or-max": make_think_rows(shared, log),
    }


def measure_pools(shared: Path, log: str, edge_weeks: float) -> list[tuple[int, int]]:
    """Return users and jobs of the pool of long-term users, and of the pool of temporary users."""
    delimitation = Delimitation.parse(BY_ARRIVAL)
    pools = make_pools(select_jobs_that_ran(shared, log), delimitation, edge_weeks=edge_weeks)
    return [
        (len(pool), sum(len(batch.jobs) for trace in pool for batch in trace.batches))
        for pool in (pools.long_term, pools.temporary)
    ]


def make_pool_rows(shared: Path, log: str) -> dict[str, list[Row]]:
    """Return the row of a log in the table of pools."""
    (long_term, by_weeks), (_, by_days) = (measure_pools(shared, log, weeks) for weeks in EDGES)
    printed = PRINTED["zakay"]["pools"][log]
    row = (*name_files(log), *printed[:2], *long_term, *printed[2:], *by_weeks, *by_days)
    return {"pools": [row]}
