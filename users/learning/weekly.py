"""The parameters of weekly users (:mod:`users.models.weekly`) learnt from a log."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import InputError
from batsched_py.files import write_whole
from batsched_py.options import number, one_of
from batsched_py.workload import Workload
from users.calendar import DAY, WEEK, Calendar
from users.ideal import run_time
from users.models.weekly import Parameters, SizeClass, UserClass

_DIGITS = 6
"""Decimals of the shares in a file."""


class _Jobs(msgspec.Struct, frozen=True, eq=False):
    """Columns of the jobs of some users, each of shape (n,)."""

    user: NDArray[np.int64]
    day: NDArray[np.int64]
    """Day of the submission; day 0 is the Monday of the week of second 0."""
    clock: NDArray[np.float64]
    """Time of day of the submission, seconds."""
    size: NDArray[np.int64]
    run: NDArray[np.float64]
    """Run time in seconds."""

    def of(self, rows: NDArray[np.bool_]) -> _Jobs:
        return _Jobs(*(getattr(self, name)[rows] for name in self.__struct_fields__))


def learn_weekly(
    workload: Workload, *, per: str = "pool", weeks: str = "own", trimmed: float = 0.05
) -> Parameters:
    """Return the parameters of the users of a log.

    ``per`` is ``pool``, one class of all users, or ``user``, a class for each. The rules:

    - activity: the share of weeks in which a user submits anything. ``weeks`` says of which weeks:
      ``log``, all whole weeks of the log (from second 0 to its last submission), or ``own``, those
      between the user's first and last active week. These two are left out of ``own``, for they
      are active because they bound it; a user without weeks between does not count, or gets 1.
    - weekdays: shares of the days on which a user submits anything.
    - working day: the span of the times of day of all submissions but the shares ``trimmed`` of
      earliest and of latest ones. It lies in one calendar day, so that of those who work through
      the night is not found.
    - sizes: rounded up to powers of two. Mean and standard deviation are those of the run times;
      those below 1 s count as 1 s. Run times in logs have long tails, which the model's normal
      distribution lacks.

    Jobs without user are left out. Raises :class:`UsageError` for wrong options and
    :class:`InputError` if no job has a user, or one has a profile of unknown run time.
    """
    per_user = one_of("per", per, ("pool", "user")) == "user"
    of_log = one_of("weeks", weeks, ("own", "log")) == "log"
    trimmed = number("trimmed", trimmed, 0, 0.49)
    names, jobs = _columns(workload)
    all_weeks = _whole_weeks(workload) if of_log else None
    if not per_user:
        classes = [_learn_class("all", len(names), jobs, all_weeks, trimmed)]
    else:
        classes = [
            _learn_class(name, 1, jobs.of(jobs.user == index), all_weeks, trimmed)
            for index, name in enumerate(names)
        ]
    return Parameters(classes, f"learnt from {workload.name}, {per=!s}, {weeks=!s}, {trimmed=:g}")


def write_parameters(path: str | Path, parameters: Parameters) -> None:
    """Write a parameter file, whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(parameters), indent=2)
    write_whole(Path(path), text + b"\n")


def _columns(workload: Workload) -> tuple[list[str], _Jobs]:
    """Return the users in order of appearance, and the columns of their jobs."""
    known = [job for job in workload.jobs if job.user is not None]
    if not known:
        raise InputError(f"{workload.name}: no job has a user, so there is nobody to learn from")
    profiles: Mapping[str, dict[str, object]] = workload.profiles
    numbers = {name: index for index, name in enumerate(dict.fromkeys(job.user for job in known))}
    time = np.array([job.submit_time for job in known]) + Calendar.of(workload).at_origin
    return [str(name) for name in numbers], _Jobs(
        np.array([numbers[job.user] for job in known]),
        np.floor(time / DAY).astype(np.int64),
        time % DAY,
        np.array([job.size for job in known]),
        np.array([max(1.0, run_time(job, profiles[job.profile])) for job in known]),
    )


def _whole_weeks(workload: Workload) -> range:
    """Return the numbers of the calendar weeks between second 0 and the last submission."""
    begin = Calendar.of(workload).at_origin
    end = begin + max(job.submit_time for job in workload.jobs)
    return range(ceil(begin / WEEK), floor(end / WEEK))


def _learn_class(
    name: str, count: int, jobs: _Jobs, all_weeks: range | None, trimmed: float
) -> UserClass:
    begin, end = np.quantile(jobs.clock, (trimmed, 1 - trimmed))
    worked = np.unique(np.column_stack((jobs.user, jobs.day)), axis=0)
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


def _sizes(jobs: _Jobs) -> list[SizeClass]:
    exponents = np.ceil(np.log2(jobs.size)).astype(int)
    classes = []
    for exponent in np.unique(exponents).tolist():
        run = jobs.run[exponents == exponent]
        share = round(len(run) / len(jobs.run), _DIGITS)
        classes.append(
            SizeClass(2**exponent, share, round(float(run.mean()), 3), round(float(run.std()), 3))
        )
    return classes
