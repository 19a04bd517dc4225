"""Runs a user model on a machine without limits, where every job starts at once.

This gives the workload that users submit if no job ever waits. It also checks models that replay a
log: if every job ends as recorded, they must submit every job as recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count
from math import inf, isnan

import msgspec

from batsched_py.errors import WorkloadError
from batsched_py.model.endless_work import SubmissionWatch
from batsched_py.model.user_model import EndedJob, StartedJob, UserModel, ask_next_due, find_method
from batsched_py.options.budgets import Budgets
from batsched_py.protocol.batsim_jobs_columns import SUCCESS
from batsched_py.workload import WorkloadJob
from batsched_users.behaviour.job_profiles import run_time_of

EndOf = Callable[[WorkloadJob, float], float]
"""Gives the end of a job from the job and its submission, in seconds."""


class PlayedJob(msgspec.Struct, gc=False):
    """A submitted job with its submission and its end, in seconds."""

    job: WorkloadJob
    submit: float
    end: float


def play_model(
    users: UserModel, end_of: EndOf | None = None, watch: SubmissionWatch | None = None
) -> Iterator[PlayedJob]:
    """Run a user model on a machine without limits, and yield its jobs in order of submission.

    ``end_of`` gives the end of a job (None: after :func:`require_run_time`). At one instant, ends
    come before submissions, as in a simulation. Every job starts at its submission, so withdrawals
    come too late and have no effect. Raises
    :class:`batsched_py.errors.InvariantError` where a simulation would, for a model that is due
    and submits nothing, and :class:`batsched_py.errors.BudgetError` if ``watch`` finds that the
    model never stops (None: with the default budgets).
    """
    watch = watch or SubmissionWatch(Budgets())
    job_started = find_method(users, "job_started")
    if end_of is None:
        profiles = users.profiles

        def end_of(job: WorkloadJob, now: float) -> float:
            return now + require_run_time(job, profiles[job.profile])

    ends: list[tuple[float, int, PlayedJob]] = []
    order = count()
    while True:
        due = ask_next_due(users)
        if ends and ends[0][0] <= due:
            _, _, played = heappop(ends)
            job = EndedJob(played.job, played.submit, played.submit, played.end)
            users.job_ended(played.end, job, SUCCESS)
        elif due < inf:
            for submitted in watch.jobs_due(users, due):
                played = PlayedJob(submitted, due, end_of(submitted, due))
                heappush(ends, (played.end, next(order), played))
                if job_started is not None:
                    job_started(due, StartedJob(submitted, due, due))
                yield played
            watch.withdrawals.clear()
        else:
            return


def require_run_time(job: WorkloadJob, profile: dict[str, object]) -> float:
    """Return a job's run time on the log's machine in seconds, at most its walltime.

    Raises :class:`WorkloadError` if only a simulator knows the run time of the profile.
    """
    duration = run_time_of(profile)
    if isnan(duration):
        raise WorkloadError(
            f"job {job.id}: the run time of its profile {job.profile!r} ({profile.get('type')}) is "
            "known to a simulator only; expected delay, or parallel_homogeneous without com"
        )
    return duration if job.walltime is None else min(duration, job.walltime)
