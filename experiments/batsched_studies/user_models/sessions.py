"""Sessions, batches and pools of users beside Zakay's thesis."""

from __future__ import annotations

from functools import cache
from math import log10
from pathlib import Path

from batsched_py.workload import WorkloadJob
from batsched_studies.filled_page import line
from batsched_studies.user_models.logs import HERE, PRINTED, apart, jobs_of, path_of, versions
from batsched_users.resampling.user_pools import make_pools
from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.studies.thresholds import (
    Counts,
    compare_think_times,
    count_sessions,
    ks_distance,
)

BY_ARRIVAL = "arrival:60:>"
EDGES = (4, 60 / 7)
"""Weeks: as the thesis says, and 60 days."""


def jobs_that_ran(shared: Path, log: str) -> list[WorkloadJob]:
    """Return the jobs that got processors: the thesis cannot have counted others."""
    return jobs_of(path_of(shared, HERE[log]), drop="no-allocation").jobs


@cache
def counts_of(shared: Path, log: str, rule: str) -> Counts:
    """Return the counts of a log by a delimitation."""
    delimitation = Delimitation.parse(rule)
    return count_sessions(partition(jobs_that_ran(shared, log), delimitation), delimitation)


def counts_rows(shared: Path, log: str) -> list[str]:
    """Return the line of jobs, batches and sessions."""
    counts = counts_of(shared, log, BY_ARRIVAL)
    ours = (counts.jobs, counts.batches, counts.sessions)
    theirs = PRINTED["zakay"]["counts"][log]
    texts = (" / ".join(f"{number:,}" for number in numbers) for numbers in (theirs, ours))
    off = " / ".join(apart(*pair) for pair in zip(ours, theirs, strict=True))
    singles = f"{counts.single_job_batches:.1%} | {counts.single_job_sessions:.1%}"
    return [line(versions(log), *texts, off, singles.replace("%", " %"))]


def length_rows(shared: Path, log: str) -> list[str]:
    """Return the lines of long sessions, one for each delimitation that has something printed."""
    lines = []
    for rule, (share, longest) in PRINTED["zakay"]["lengths"][log].items():
        counts = counts_of(shared, log, rule)
        ours = f"{100 * counts.long_sessions:.1f} %"
        if "+" in rule:
            ours = f"10^{log10(counts.long_sessions):.1f}"
        minutes = f"{counts.longest_session:,.0f}"
        lines.append(line(versions(log), f"`{rule}`", share, ours, longest, minutes))
    return lines


def think_rows(shared: Path, log: str) -> list[str]:
    """Return the line of how far think times after batches of one method only are off."""
    times = compare_think_times(jobs_that_ran(shared, log))
    last = ks_distance(times.unique_last, times.common_last)
    both = ks_distance(times.common_last, times.common_max)
    most = ks_distance(times.unique_max, times.common_max)
    shares = (f"{share:.3f}" for share in (both, last, most))
    return [line(versions(log), f"{len(times.common_last):,}", *shares)]


def session_rows(shared: Path, log: str) -> dict[str, list[str]]:
    """Return the lines of a log for all three tables of sessions."""
    lengths = length_rows(shared, log) if log in PRINTED["zakay"]["lengths"] else []
    counts, think = counts_rows(shared, log), think_rows(shared, log)
    return {"counts": counts, "lengths": lengths, "think": think}


def sizes_of_pools(shared: Path, log: str, edge_weeks: float) -> list[tuple[int, int]]:
    """Return users and jobs of the pool of long-term users, and of that of temporary ones."""
    delimitation = Delimitation.parse(BY_ARRIVAL)
    pools = make_pools(jobs_that_ran(shared, log), delimitation, edge_weeks=edge_weeks)
    return [
        (len(pool), sum(len(batch.jobs) for trace in pool for batch in trace.batches))
        for pool in (pools.long_term, pools.temporary)
    ]


def pool_rows(shared: Path, log: str) -> dict[str, list[str]]:
    """Return the line of a log in the table of pools."""
    users, jobs, *temporary = PRINTED["zakay"]["pools"][log]
    cells = [f"{users:,} / {jobs:,}"]
    for weeks in EDGES:
        long_term, of_edges = sizes_of_pools(shared, log, weeks)
        if weeks == EDGES[0]:
            cells += [bold(long_term, (users, jobs)), "{:,} / {:,}".format(*temporary)]
        cells.append(bold(of_edges, tuple(temporary)))
    return {"pools": [line(versions(log), *cells)]}


def bold(ours: tuple[int, int], theirs: tuple[int, ...]) -> str:
    """Return users and jobs, bold where they are the printed ones."""
    text = f"{ours[0]:,} / {ours[1]:,}"
    return f"**{text}**" if ours == theirs else text
