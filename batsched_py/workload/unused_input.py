"""Finds information of an input that a run does not use and that may change results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from batsched_py.workload.grid_sites import HOME, GridSites
from batsched_py.workload.logs.recorded_schedule import recorded_schedule
from batsched_py.workload.logs.swf import SwfLog
from batsched_py.workload.machine_description import PARTITION, MachineDescription
from batsched_py.workload.workload import RUN_AFTER, WorkloadJob

RESERVATION = ("reserved_start", "reserved_end")
"""Fields of a job that asks for an advance reservation, in seconds of the log."""


def find_unused_in_log(log: SwfLog, described: MachineDescription | None) -> list[str]:
    """Return notes on information of a log that is lost in the jobs.

    If neither the log nor a machine file (``described``) gives the size of the machine, these are
    processors in use beyond it.
    """
    notes = []
    schedule = None if log.says_size or described else recorded_schedule(log)
    if schedule is not None and schedule.is_known:
        most, _ = schedule.peak()
        if most > log.max_processors:
            notes.append(
                f"the recorded schedule has {most:g} processors in use at once, more than the "
                f"machine of {log.max_processors}: set the machine size (nodes)"
            )
    return notes


def find_unused_in_jobs(
    jobs: Sequence[WorkloadJob],
    policy: str,
    users: str,
    *,
    reads_reservations: bool,
    follows_dependencies: bool,
    sites: GridSites,
    described: MachineDescription | None,
) -> list[str]:
    """Return notes on fields of jobs that a run of ``users`` under ``policy`` does not use."""
    extras = [job.extra for job in jobs if job.extra]
    notes = []
    follows = [  # but later runs, which wait for the run before
        job.think_time is not None
        for job in jobs
        if job.preceding_job is not None and RUN_AFTER not in job.extra
    ]
    if follows and not follows_dependencies:
        notes.append(
            f"{len(follows)} jobs name a preceding job (field 17), {sum(follows)} of them a think "
            f"time (field 18): the users ({users}) do not wait for it"
        )
    nb = sum(not extra.keys().isdisjoint(RESERVATION) for extra in extras)
    if nb and not reads_reservations:
        notes.append(
            f"{nb} jobs ask for an advance reservation, which {policy} does not support: they are "
            "scheduled like other jobs"
        )
    if not sites and (nb := sum(HOME in extra for extra in extras)):
        notes.append(f"{nb} jobs name a home, but there are no sites")
    named = [extra[PARTITION] for extra in extras if isinstance(extra.get(PARTITION), str)]
    if named and described is None:
        notes.append(f"{len(named)} jobs name a partition, but there is no machine file")
    elif described is not None:
        unknown = [name for name in named if name not in described.by_name]
        if unknown:
            notes.append(
                f"{len(unknown)} jobs name a partition that the machine file does not have, such "
                f"as {unknown[0]!r:.40}: they go to its first, {described.partitions[0].name}"
            )
        notes += dict.fromkeys(_check_limits(jobs, described))
    return notes


def _check_limits(jobs: Sequence[WorkloadJob], machine: MachineDescription) -> Iterator[str]:
    """Give notes on limits that bind no job, and on jobs with unknown resources."""
    for limit in machine.limits:
        pairs = ((job, machine.find_partition(job.extra)) for job in jobs)
        bound = [(job, part) for job, part in pairs if limit.binds(job, part.name)]
        if jobs and not bound:
            yield f"no job is of {limit.of}, which the machine file limits"
        for resource in limit.most if bound else ():
            nb = sum(part.count(resource, job) is None for job, part in bound)
            if nb == len(bound) or (nb and resource != "gpus"):  # jobs without GPUs need not say so
                of = f"{nb} of {len(bound)} jobs that a limit binds"
                yield f"{of} have unknown {resource}: they count as 0"
