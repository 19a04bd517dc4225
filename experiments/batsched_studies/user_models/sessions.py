"""Sessions, batches and pools of users, compared with Zakay's thesis."""

from __future__ import annotations

from functools import cache
from math import log10
from pathlib import Path

from batsched_py.workload import WorkloadJob
from batsched_studies.filled_page import format_line
from batsched_studies.user_models.logs import HERE, PRINTED, find_path, format_files, load_jobs
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


def make_counts_rows(shared: Path, log: str) -> list[str]:
    """Return the table line of a log's jobs, batches and sessions."""
    counts = count_log_sessions(shared, log, BY_ARRIVAL)
    ours = (counts.jobs, counts.batches, counts.sessions)
    theirs = PRINTED["zakay"]["counts"][log]
    texts = (" / ".join(f"{number:,}" for number in numbers) for numbers in (theirs, ours))
    gaps = (own - printed for own, printed in zip(ours, theirs, strict=True))
    off = " / ".join(f"{gap:+d}" if gap else "0" for gap in gaps)
    singles = f"{counts.single_job_batches:.1%} | {counts.single_job_sessions:.1%}"
    return [format_line(format_files(log), *texts, off, singles.replace("%", " %"))]


def make_length_rows(shared: Path, log: str) -> list[str]:
    """Return the table lines of a log's long sessions, one for each rule with printed values."""
    lines = []
    for rule, (share, longest) in PRINTED["zakay"]["lengths"][log].items():
        counts = count_log_sessions(shared, log, rule)
        ours = f"{100 * counts.long_sessions:.1f} %"
        if "+" in rule:
            ours = f"10^{log10(counts.long_sessions):.1f}"
        minutes = f"{counts.longest_session:,.0f}"
        lines.append(format_line(format_files(log), f"`{rule}`", share, ours, longest, minutes))
    return lines


def make_think_rows(shared: Path, log: str) -> list[str]:
    """Return the table line of how the methods of delimiting sessions differ in think times."""
    times = compare_think_times(select_jobs_that_ran(shared, log))
    last = ks_distance_of_samples(times.unique_last, times.common_last)
    both = ks_distance_of_samples(times.common_last, times.common_max)
    most = ks_distance_of_samples(times.unique_max, times.common_max)
    shares = (f"{share:.3f}" for share in (both, last, most))
    return [format_line(format_files(log), f"{len(times.common_last):,}", *shares)]


def make_session_rows(shared: Path, log: str) -> dict[str, list[str]]:
    """Return the lines of a log for all three tables of sessions."""
    lengths = make_length_rows(shared, log) if log in PRINTED["zakay"]["lengths"] else []
    counts, think = make_counts_rows(shared, log), make_think_rows(shared, log)
    return {"counts": counts, "lengths": lengths, "think": think}


def measure_pools(shared: Path, log: str, edge_weeks: float) -> list[tuple[int, int]]:
    """Return users and jobs of the pool of long-term users, and of the pool of temporary users."""
    delimitation = Delimitation.parse(BY_ARRIVAL)
    pools = make_pools(select_jobs_that_ran(shared, log), delimitation, edge_weeks=edge_weeks)
    return [
        (len(pool), sum(len(batch.jobs) for trace in pool for batch in trace.batches))
        for pool in (pools.long_term, pools.temporary)
    ]


def make_pool_rows(shared: Path, log: str) -> dict[str, list[str]]:
    """Return the line of a log in the table of pools."""
    users, jobs, *temporary = PRINTED["zakay"]["pools"][log]
    cells = [f"{users:,} / {jobs:,}"]
    for weeks in EDGES:
        long_term, of_edges = measure_pools(shared, log, weeks)
        if weeks == EDGES[0]:
            cells += [format_pool(long_term, (users, jobs)), "{:,} / {:,}".format(*temporary)]
        cells.append(format_pool(of_edges, tuple(temporary)))
    return {"pools": [format_line(format_files(log), *cells)]}


def format_pool(ours: tuple[int, int], theirs: tuple[int, ...]) -> str:
    """Return the users and jobs of a pool as text, bold if they are the printed ones."""
    text = f"{ours[0]:,} / {ours[1]:,}"
    return f"**{text}**" if ours == theirs else text
