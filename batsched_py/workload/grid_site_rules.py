"""Rules on grid sites: the homes of a log's jobs, and the splitting of jobs that are too wide.

A. Streit's thesis, 2003, gives jobs to grid sites in turn, and splits jobs that are wider than a
machine, so that all scenarios have the same work (chapter 7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from batsched_py.errors import UsageError, parameter
from batsched_py.workload.conversion_rules import Homes, Rules, Split
from batsched_py.workload.grid_sites import HOME, GridSite, GridSites, find_home, find_home_of_user
from batsched_py.workload.logs.swf import SwfLog
from batsched_py.workload.workload import WorkloadJob

MOST_PARTS = 10_000_000
"""The most jobs after wide jobs of a log are split."""


def depends_on_sites(rules: Rules) -> bool:
    """Return whether the jobs that the rules make depend on the grid sites."""
    return rules.homes != "user" or rules.split is not None


def give_homes(
    jobs: Sequence[WorkloadJob], rows: NDArray[np.intp], log: SwfLog, homes: Homes, sites: GridSites
) -> None:
    """Write the home of each job into its further fields; ``rows`` are its rows in ``log``.

    A job whose home is that of its user, or whose group is unknown, gets none. Raises
    :class:`UsageError` for a partition that is not a grid site.
    """
    if homes == "user":
        return
    if homes == "round-robin":
        for job, site in zip(jobs, cycle(sites), strict=False):
            job.extra[HOME] = site.name
        return
    for job, number in zip(jobs, log.column(homes)[rows].tolist(), strict=True):
        if homes == "group":
            if number >= 0:
                job.extra[HOME] = sites[find_home_of_user(sites, str(int(number)))].name
        elif 1 <= number <= len(sites):
            job.extra[HOME] = sites[int(number) - 1].name
        else:
            raise UsageError(
                f"{parameter('homes')} partition: job {job.id} of {log.path} has partition "
                f"{number:.0f}, expected 1..{len(sites)}, the numbers of the sites"
            )


def split_jobs(
    jobs: Sequence[WorkloadJob], split: Split, sites: GridSites, notes: list[str]
) -> list[WorkloadJob]:
    """Split the jobs that are too wide into parts ``15.1``, ``15.2``, ...; return all jobs.

    Each part is as wide as it may be, and the last is the remainder, so the work stays. A part
    differs from its job in id and size only. With grid sites, each part names the home of its job.
    With the rule ``local``, all jobs name their homes.
    """
    limit = split if isinstance(split, int) else max(site.size for site in sites)
    wider = "their home" if split == "local" else f"{limit} processors"
    changed: list[WorkloadJob] = []
    nb_whole = 0
    for job in jobs:
        home = sites[find_home(sites, job.extra, job.user, job.id)] if sites else None
        if split == "local" and home is not None:
            job.extra[HOME] = home.name
            limit = home.size
        if job.size <= limit:
            changed.append(job)
            nb_whole += 1
        else:
            if len(changed) + job.size // limit > MOST_PARTS:
                raise UsageError(
                    f"{parameter('split')} {split}: with job {job.id} of {job.size} processors "
                    f"they become more than {MOST_PARTS} jobs"
                )
            changed += _parts(job, limit, home)
    if nb_split := len(jobs) - nb_whole:
        notes.append(
            f"{nb_split} jobs wider than {wider} were split into {len(changed) - nb_whole}"
        )
    return changed


def _parts(job: WorkloadJob, limit: int, home: GridSite | None) -> Iterator[WorkloadJob]:
    """Yield the parts of a job, none wider than ``limit``."""
    extra = job.extra if home is None else {**job.extra, HOME: home.name}
    for number, before in enumerate(range(0, job.size, limit), 1):
        size = min(limit, job.size - before)
        yield replace(job, id=f"{job.id}.{number}", size=size, extra=dict(extra))
