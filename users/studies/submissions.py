"""Who submitted when, and when it ended: of a log, or of a simulation's ``PREFIX_jobs.csv``."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from math import isfinite, nan
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import InputError, UsageError
from batsched_py.workload import Workload
from users.calendar import Calendar

Values = NDArray[np.float64]

SUFFIX = "_jobs.csv"
_NEEDED = ("submission_time", "finish_time")
_Rows = Iterator[tuple[str, dict[str, str]]]
"""Where a row is, and its fields by column."""


class Submissions(msgspec.Struct, frozen=True, eq=False):
    """Who submitted when, and when it ended: one entry per job, all shapes (jobs,).

    In order of users, and of submission (then end) within each.
    """

    label: str
    user: NDArray[np.int64]
    """A number per user, 0, 1, ..."""
    submit: Values
    """Seconds."""
    end: Values
    """Seconds; nan for a job that never ended (rejected, or still in the system)."""
    calendar: Calendar = Calendar()
    clock_known: bool = True
    """Whether the weekday of second 0 is known; else it counts as Monday 0:00."""


def make_submissions(
    label: str, users: Sequence[str], submit: Values, end: Values, calendar: Calendar | None
) -> Submissions:
    """Return the columns in the order that portraits need; no calendar: the clock is unknown."""
    _, numbers = np.unique(np.asarray(users, dtype=str), return_inverse=True)
    order = np.lexsort((end, submit, numbers))
    return Submissions(
        label,
        numbers[order].astype(np.int64),
        submit[order],
        end[order],
        calendar or Calendar(),
        calendar is not None,
    )


def from_workload(workload: Workload, label: str | None = None) -> Submissions:
    """Return what the users of a log did; raises :class:`UsageError` for jobs without user."""
    jobs = workload.jobs
    users = [job.user for job in jobs if job.user is not None]
    if not jobs or len(users) < len(jobs):
        raise UsageError(
            f"{workload.name}: {len(jobs) - len(users)} of {len(jobs)} jobs have no user, but a "
            "portrait is one of users; for a log, --unknown-user each takes each as one of its own"
        )
    return make_submissions(
        label or workload.name,
        users,
        np.array([job.submit_time for job in jobs], dtype=float),
        np.array([job.finish_time for job in jobs], dtype=float),  # None becomes nan
        None if workload.unix_start_time is None else Calendar.of(workload),
    )


def from_jobs_file(path: Path, label: str | None = None) -> Submissions:
    """Return what users did in a simulation, from its ``PREFIX_jobs.csv``.

    Where that is Batsim's own file, which has no users, ``PREFIX_users.csv`` beside it says who
    submitted. The clock is that of ``PREFIX_run.json`` beside it, unknown without that file.
    Raises :class:`InputError`, naming file and line, for a missing column or what is no time.
    """
    name = path.name.removesuffix(SUFFIX)
    user_of = _users_beside(path)
    users, submits, ends = [], [], []
    for where, row in _rows(path, _NEEDED if user_of else (*_NEEDED, "user")):
        user = user_of[_key(row)] if _key(row) in user_of else row.get("user")
        if not user:
            raise InputError(f"{where}: the job has no user, but a portrait is one of users")
        users.append(user)
        submits.append(_seconds(row, "submission_time", where))
        # Of a rejected job, the file has no finish.
        rejected = row["finish_time"] == "" or row.get("final_state") == "REJECTED"
        ends.append(nan if rejected else _seconds(row, "finish_time", where))
        if ends[-1] < submits[-1]:
            raise InputError(
                f"{where}: finish_time {ends[-1]:g} is before submission_time {submits[-1]:g}"
            )
    if not users:
        raise InputError(f"{path}: no job is in it")
    columns = np.array(submits), np.array(ends)
    return make_submissions(label or name, users, *columns, _calendar_beside(path))


def _users_beside(path: Path) -> dict[tuple[str | None, ...], str]:
    """Return who submitted each job, from ``PREFIX_users.csv``; nothing without that file."""
    beside = path.with_name(f"{path.name.removesuffix(SUFFIX)}_users.csv")
    if not path.name.endswith(SUFFIX) or not beside.is_file():
        return {}
    return {_key(row): row["user"] for _, row in _rows(beside, ("job_id", "user"))}


def _key(row: dict[str, str]) -> tuple[str | None, ...]:
    return row.get("workload_name"), row.get("job_id")


class _Run(msgspec.Struct):
    """What is needed of ``PREFIX_run.json``."""

    unix_start_time: float | None = None
    time_zone: str = "UTC"


def _calendar_beside(path: Path) -> Calendar | None:
    beside = path.with_name(f"{path.name.removesuffix(SUFFIX)}_run.json")
    if not beside.is_file():
        return None
    try:
        run = msgspec.json.decode(beside.read_bytes(), type=_Run)
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{beside}: no clock can be read: {error}") from None
    if run.unix_start_time is None:
        return None
    clock = Workload(name=str(beside), nb_res=0, jobs=[], profiles={})
    clock.unix_start_time, clock.time_zone = run.unix_start_time, run.time_zone
    return Calendar.of(clock)


def _rows(path: Path, needed: Sequence[str]) -> _Rows:
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")), restval="")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is no text in UTF-8") from None
    header = list(reader.fieldnames or [])
    if missing := [name for name in needed if name not in header]:
        hint = "; Batsim alone does not say who submitted" if missing == ["user"] else ""
        raise InputError(
            f"{path}:1: no column {', '.join(missing)}; expected {', '.join(needed)}, found "
            f"{','.join(header)[:200]!r}{hint}"
        )
    try:
        for row in reader:
            yield f"{path}:{reader.line_num}", row
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: {error}") from None


def _seconds(row: dict[str, str], column: str, where: str) -> float:
    text = row[column]
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not isfinite(value):
        raise InputError(f"{where}: {column} is {text[:40]!r}, expected seconds")
    return value
