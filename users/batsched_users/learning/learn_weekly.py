"""Learns the parameters of weekly users (:mod:`batsched_users.models.weekly`) from a log."""

from __future__ import annotations

from math import ceil, floor
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import InputError
from batsched_py.files.writers import write_whole
from batsched_py.options.option_values import number, one_of
from batsched_py.units import DAY, WEEK
from batsched_py.workload import Workload
from batsched_users.behaviour.calendar import Calendar
from batsched_users.learning.ideal_machine import require_run_time
from batsched_users.measures.job_columns import JobColumns, columns_of_workload
from batsched_users.models.weekly import Parameters, SizeClass, UserClass

_DIGITS = 6
"""Decimals of the shares in a file."""


def learn_weekly(
    workload: Workload, *, per: str = "pool", weeks: str = "own", trimmed: float = 0.05
) -> Parameters:
    """Learn the parameters of weekly users from a log: activity, weekdays, hours, jobs.

    ``per`` is ``pool``, one class of all users, or ``user``, a class for each. The rules:

    - activity: the share of weeks in which a user submits anything. ``weeks`` selects the weeks:
      ``log``, all whole weeks of the log (from second 0 to its last submission), or ``own``, the
      weeks between the user's first and last active week. These two are left out, as they are
      active by definition; a user without weeks between does not count, or gets 1.
    - weekdays: shares of the days on which a user submits anything.
    - working day: the span of the times of day of all submissions, without the share ``trimmed``
      of the earliest and of the latest. It lies in one calendar day, so that the working day of
      night users is not found.
    - sizes: rounded up to powers of two, with mean and standard deviation of the run times, where
      run times below 1 s count as 1 s. Run times in logs have long tails, which the model's normal
      distribution lacks.

    Jobs without user are left out. Raises :class:`UsageError` for wrong options and
    :class:`InputError` if no job has a user, or one has a profile of unknown run time.
    """
    per_user = one_of("per", per, ("pool", "user")) == "user"
    of_log = one_of("weeks", weeks, ("own", "log")) == "log"
    trimmed = number("trimmed", trimmed, 0, 0.49)
    names = list(dict.fromkeys(job.user for job in workload.jobs if job.user is not None))
    if not names:
        raise InputError(f"{workload.name}: no job has a user, so there is nobody to learn from")
    jobs = _columns(workload)
    all_weeks = _whole_weeks(workload) if of_log else None
    if not per_user:
        classes = [_learn_class("all", len(names), jobs, all_weeks, trimmed)]
    else:
        classes = [
            _learn_class(name, 1, jobs.select(jobs.user == index), all_weeks, trimmed)
            for index, name in enumerate(names)
        ]
    return Parameters(classes, f"learnt from {workload.name}, {per=!s}, {weeks=!s}, {trimmed=:g}")


def write_parameters(path: str | Path, parameters: Parameters) -> None:
    """Write a parameter file of the model ``weekly`` (JSON), completely or not at all."""
    text = msgspec.json.format(msgspec.json.encode(parameters), indent=2)
    write_whole(Path(path), text + b"\n")


def _columns(workload: Workload) -> JobColumns:
    """Return the jobs of known users; run times are cut by the walltime, and at least 1 s."""
    for job in workload.jobs:
        if job.user is not None:
            require_run_time(job, workload.profiles[job.profile])  # raises if it is unknown
    columns = columns_of_workload(workload)
    columns = columns.select(columns.user >= 0)
    ran = np.maximum(1.0, np.fmin(columns.run_time, columns.requested_time))
    return msgspec.structs.replace(columns, run_time=ran)


def _whole_weeks(workload: Workload) -> range:
    """Return the numbers of the calendar weeks between second 0 and the last submission."""
    begin = Calendar.of(workload).at_origin
    end = begin + max(job.submit_time for job in workload.jobs)
    return range(ceil(begin / WEEK), floor(end / WEEK))


def _learn_class(
    name: str, count: int, jobs: JobColumns, all_weeks: range | None, trimmed: float
) -> UserClass:
    time = jobs.submit + jobs.calendar.at_origin
    begin, end = np.quantile(time % DAY, (trimmed, 1 - trimmed))
    day = np.floor(time / DAY).astype(np.int64)  # day 0 is the Monday of the week of second 0
    worked = np.unique(np.column_stack((jobs.user, day)), axis=0)
    weekdays = np.bincount(worked[:, 1] % 7, minlength=7) / len(worked)
    return UserClass(
        name,
        count,
        round(_activity(worked, count, all_weeks), _DIGITS),
        [round(float(share), _DIGITS) for share in weekdays],
        float(np.floor(begin)),
        float(np.floor(end)),
        _sizes(jobs),
    )


def _activity(worked: NDArray[np.int64], count: int, all_weeks: range | None) -> float:
    """Return the share of active weeks from the pairs (user, day) of days worked, shape (n, 2)."""
    active = np.unique(np.column_stack((worked[:, 0], worked[:, 1] // 7)), axis=0)
    user, week = active.T
    if all_weeks is not None:
        inside = (week >= all_weeks.start) & (week < all_weeks.stop)
        return float(inside.sum()) / (count * len(all_weeks)) if all_weeks else 1.0
    first = np.flatnonzero(np.diff(user, prepend=user[0] - 1))  # rows are sorted by user and week
    last = np.append(first[1:], len(user)) - 1
    between = np.maximum(last - first - 1, 0).sum()
    possible = np.maximum(week[last] - week[first] - 1, 0).sum()
    return float(between / possible) if possible else 1.0


def _sizes(jobs: JobColumns) -> list[SizeClass]:
    exponents = np.ceil(np.log2(jobs.size)).astype(int)
    classes = []
    for exponent in np.unique(exponents).tolist():
        run = jobs.run_time[exponents == exponent]
        share = round(len(run) / len(jobs), _DIGITS)
        classes.append(
            SizeClass(2**exponent, share, round(float(run.mean()), 3), round(float(run.std()), 3))
        )
    return classes
