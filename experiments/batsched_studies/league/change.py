"""Splits a log at a change of machine or policy: the jobs known before it, and the jobs after."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import numpy as np

from batsched_py.errors import UsageError, parameter
from batsched_py.options.option_values import whole_number
from batsched_py.units import DAY, WEEK
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.logs.clock import local_seconds

CUT = "cut-at-request"
"""The value of the rule ``runtime`` with which waits are not known."""


class Change(msgspec.Struct, frozen=True):
    """The date of a change in a log, and how many weeks before and after the change are used.

    Raises :class:`UsageError` for impossible values.
    """

    change: str
    """The first day after it, a Monday such as ``2001-02-12``: weeks begin with it."""
    settle: int = 2
    """Weeks after the change that are predicted, and not scored."""
    weeks: int = 12
    """Weeks after these, which are scored."""
    spare: int = 4
    """Further weeks for models that replay: on a better machine their jobs end sooner."""
    members: int = 10
    """Members of each model's ensemble; each begins its replay a week before the previous one."""

    def __post_init__(self) -> None:
        for name, least in (("settle", 0), ("weeks", 1), ("spare", 0), ("members", 1)):
            whole_number(name, getattr(self, name), least)
        if self.date.weekday():
            raise UsageError(f"change={self.change} is a {self.date:%A}: expected a Monday")

    @property
    def date(self) -> datetime:
        """Midnight at which the change begins, as if the site's clock showed UTC."""
        try:
            return datetime.strptime(self.change, "%Y-%m-%d").replace(tzinfo=UTC)
        except (TypeError, ValueError):
            raise UsageError(
                f"change={self.change}: expected the date of a Monday, such as 2001-02-12"
            ) from None

    @property
    def horizon(self) -> int:
        """The number of weeks after the change that are predicted."""
        return self.settle + self.weeks

    @property
    def learnt(self) -> int:
        """The number of weeks before the change that models may learn from."""
        return self.horizon + self.spare + self.members - 1

    def count_replayed_weeks(self, member: int) -> int:
        """Return how many weeks before the change the replay of an ensemble member begins."""
        return self.horizon + self.spare + member


def select_before(workload: Workload, change: Change) -> Workload:
    """Return the jobs of the learnt weeks that had ended at the change.

    Second 0 is the change; times before it are negative. Run times of jobs that have not ended are
    not known yet. Raises :class:`UsageError` if the log begins too late.
    """
    jobs = _jobs(workload, change, -change.learnt, 0)
    known = [job for job in jobs if job.finish_time is not None and job.finish_time <= 0]
    if not known or known[0].submit_time > DAY * 7 - change.learnt * WEEK:
        raise UsageError(
            f"change={change.change}: {workload.name} does not have the {change.learnt} weeks "
            "before it; expected a later one, or fewer weeks or members"
        )
    return _with(workload, known, change)


def select_after(workload: Workload, change: Change) -> Workload:
    """Return the recorded jobs of the predicted weeks; second 0 is the change.

    Raises :class:`UsageError` if the log ends too early.
    """
    jobs = _jobs(workload, change, 0, change.horizon)
    if not jobs or jobs[-1].submit_time < change.horizon * WEEK - 7 * DAY:
        raise UsageError(
            f"change={change.change}: {workload.name} does not have the {change.horizon} weeks "
            "after it; expected an earlier one, or fewer weeks"
        )
    return _with(workload, jobs, change)


def select_around(workload: Workload, change: Change) -> Workload:
    """Return all jobs of the learnt and predicted weeks; second 0 is the change."""
    return _with(workload, _jobs(workload, change, -change.learnt, change.horizon), change)


def move_weeks(workload: Workload, weeks: float) -> Workload:
    """Return the workload with all recorded times moved by some weeks."""
    jobs = [move_job(job, weeks * WEEK) for job in workload.jobs]
    return msgspec.structs.replace(workload, jobs=jobs)


def move_job(job: WorkloadJob, seconds: float, name: str = "") -> WorkloadJob:
    """Return a job with its recorded times moved by some seconds."""
    end = None if job.finish_time is None else job.finish_time + seconds
    submit = job.submit_time + seconds
    return msgspec.structs.replace(
        job,
        id=name or job.id,
        submit_time=submit,
        finish_time=end,
        original_submission_time=submit,
    )


def _jobs(workload: Workload, change: Change, begin: int, end: int) -> list[WorkloadJob]:
    """Return the jobs submitted in some weeks, at the times that clocks showed.

    So weeks and hours are those of the site, summer time or not. Raises :class:`UsageError` if run
    times were cut: then the waits of the jobs are not known.
    """
    if workload.rules.get("runtime") == CUT:
        raise UsageError(
            f"{workload.name}: with {parameter('runtime')}={CUT} no model knows how long jobs "
            "waited; expected recorded"
        )
    origin = change.date.timestamp()
    start = 0.0 if workload.unix_start_time is None else workload.unix_start_time
    recorded = np.array([job.submit_time for job in workload.jobs])
    shown = local_seconds(recorded, start, workload.time_zone) - origin
    (inside,) = np.nonzero((shown >= begin * WEEK) & (shown < end * WEEK))
    order = inside[np.argsort(shown[inside], kind="stable")]
    shifts = shown - recorded
    return [move_job(workload.jobs[at], float(shifts[at])) for at in order.tolist()]


def _with(workload: Workload, jobs: list[WorkloadJob], change: Change) -> Workload:
    return msgspec.structs.replace(
        workload, jobs=jobs, unix_start_time=change.date.timestamp(), time_zone="UTC"
    )
