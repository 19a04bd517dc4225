"""Sessions, batches and pools of users beside Zakay's thesis."""

from __future__ import annotations

from functools import cache
from math import log10
from pathlib import Path

from batsched_py.workload import WorkloadJob
from batsched_studies.filled_page import line
from batsched_studies.user_models.logs import HERE, apart, jobs_of, path_of, printed, versions
from batsched_users.resampling.user_pools import make_pools
from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.studies.thresholds import Counts, count, distance, think_times

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
    return count(partition(jobs_that_ran(shared, log), delimitation), delimitation)


def counts_rows(shared: Path, log: str) -> list[str]:
    """Return the line of jobs, batches and sessions."""
    found = counts_of(shared, log, BY_ARRIVAL)
    ours = (found.jobs, found.batches, found.sessions)
    theirs = printed()["zakay"]["counts"][log]
    texts = (" / ".join(f"{number:,}" for number in numbers) for numbers in (theirs, ours))
    off = " / ".join(apart(*pair) for pair in zip(ours, theirs, strict=True))
    singles = f"{found.single_job_batches:.1%} | {found.single_job_sessions:.1%}"
    return [line(versions(log), *texts, off, singles.replace("%", " %"))]


def length_rows(shared: Path, log: str) -> list[str]:
    """Return the lines of long sessions, one for each delimitation that has something printed."""
    lines = []
    for rule, (share, longest) in printed()["zakay"]["lengths"][log].items():
        found = counts_of(shared, log, rule)
        ours = f"{100 * found.long_sessions:.1f} %"
        if "+" in rule:
            ours = f"10^{log10(found.long_sessions):.1f}"
        lines.append(line(versions(log), f"`{rule}`", share, ours, longest, whole(found)))
    return lines


def whole(found: Counts) -> str:
    """Return the length of the longest session, minutes."""
    return f"{found.longest_session:,.0f}"


def think_rows(shared: Path, log: str) -> list[str]:
    """Return the line of how far think times after batches of one method only are off."""
    times = think_times(jobs_that_ran(shared, log))
    last = distance(times.unique_last, times.common_last)
    both = distance(times.common_last, times.common_max)
    return [
        line(
            versions(log),
            f"{len(times.common_last):,}",
            f"{both:.3f}",
            f"{last:.3f}",
            f"{distance(times.unique_max, times.common_max):.3f}",
        )
    ]


def session_rows(shared: Path, log: str) -> dict[str, list[str]]:
    """Return the lines of a log for all three tables of sessions."""
    lengths = length_rows(shared, log) if log in printed()["zakay"]["lengths"] else []
    return {
        "counts": counts_rows(shared, log),
        "lengths": lengths,
        "think": think_rows(shared, log),
    }


def pool_rows(shared: Path, log: str) -> dict[str, list[str]]:
    """Return the line of a log in the table of pools."""
    users, jobs, *temporary = printed()["zakay"]["pools"][log]
    cells = [f"{users:,} / {jobs:,}"]
    for place, weeks in enumerate(EDGES):
        pools = make_pools(
            jobs_that_ran(shared, log), Delimitation.parse(BY_ARRIVAL), edge_weeks=weeks
        )
        found = [
            (len(pool), sum(len(batch.jobs) for trace in pool for batch in trace.batches))
            for pool in (pools.long_term, pools.temporary)
        ]
        if not place:
            cells += [bold(found[0], (users, jobs)), "{:,} / {:,}".format(*temporary)]
        cells.append(bold(found[1], tuple(temporary)))
    return {"pools": [line(versions(log), *cells)]}


def bold(ours: tuple[int, int], theirs: tuple[int, ...]) -> str:
    """Return users and jobs, bold where they are the printed ones."""
    text = f"{ours[0]:,} / {ours[1]:,}"
    return f"**{text}**" if ours == theirs else text
