"""Jobs as columns, the one form that all measures of this package take."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError
from batsched_py.metrics.table import JobTable
from batsched_py.options import one_of
from batsched_py.workload import Workload
from batsched_py.workload.clock import clock_of
from batsched_py.workload.jobs import REFERENCE_SPEED
from batsched_py.workload.swf import SwfLog
from users.calendar import Calendar
from users.sessions import Delimitation

Column = NDArray[np.float64]
Rows = NDArray[np.intp]

ATTRIBUTES = ("size", "run_time", "requested_time")


class JobColumns(msgspec.Struct, frozen=True):
    """Columns of n jobs in submission order, each of shape (n,); nan where unknown."""

    user: NDArray[np.int64]
    """A number for each user, -1 where unknown: such jobs count in what is not per user only."""
    submit: Column
    """Seconds."""
    size: Column
    """Processors."""
    run_time: Column
    """Seconds."""
    requested_time: Column
    """Seconds: what the user said the job would take at most ("maximum run time")."""
    calendar: Calendar = Calendar()
    """Clock time of the submissions."""

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.submit)

    def attribute(self, name: str) -> Column:
        """Return one of :data:`ATTRIBUTES`; raises :class:`UsageError`."""
        column: Column = getattr(self, one_of("attribute", name, ATTRIBUTES))
        return column

    def select(self, rows: NDArray[Any]) -> JobColumns:
        """Return the jobs of the given rows (indices or a mask), in that order."""
        return JobColumns(
            user=self.user[rows],
            submit=self.submit[rows],
            size=self.size[rows],
            run_time=self.run_time[rows],
            requested_time=self.requested_time[rows],
            calendar=self.calendar,
        )

    @property
    def ran(self) -> JobColumns:
        """The jobs of a positive run time: those of the similarity tables of Zakay's thesis."""
        return self.select(self.run_time > 0)


def columns_of_log(log: SwfLog, *, size: str = "requested") -> JobColumns:
    """Return all jobs of a log, with the ``requested`` or ``allocated`` size where it is known.

    Where it is not, the size is the other one. No job is left out; unknown are sizes and requests
    that are not positive, and negative run times. Raises :class:`UsageError`.
    """
    one, other = log.column("requested_processors"), log.column("allocated_processors")
    if one_of("size", size, ("requested", "allocated")) == "allocated":
        one, other = other, one
    processors = np.where(one > 0, one, other)
    return JobColumns(
        user=log.column("user").astype(np.int64),
        submit=log.column("submit_time"),
        size=_known(processors, processors > 0),
        run_time=_known(log.column("run_time"), log.column("run_time") >= 0),
        requested_time=_known(log.column("requested_time"), log.column("requested_time") > 0),
        calendar=_calendar_of(log),
    )


def columns_of_workload(workload: Workload) -> JobColumns:
    """Return the jobs of a workload, recorded or made up.

    The run time is that of the profile on the machine of the log, unknown for profiles other than
    delays and computations without communication. The requested time is the walltime: load logs
    with ``make_rules(walltime="requested")``, for by default the walltime is no user's word.
    """
    times = {name: _run_time(profile) for name, profile in _used(workload).items()}
    numbers: dict[str, int] = {}
    rows = [
        (
            -1 if job.user is None else numbers.setdefault(job.user, len(numbers)),
            job.submit_time,
            job.size,
            times[job.profile],
            float("nan") if job.walltime is None else job.walltime,
        )
        for job in workload.jobs
    ]
    user, submit, size, run_time, requested = np.array(rows, dtype=np.float64).reshape(-1, 5).T
    columns = JobColumns(
        user=user.astype(np.int64),
        submit=submit,
        size=size,
        run_time=run_time,
        requested_time=requested,
        calendar=Calendar.of(workload),
    )
    return _in_order(columns)


def columns_of_table(table: JobTable, calendar: Calendar | None = None) -> JobColumns:
    """Return the jobs that ran in a simulation, which knows no requested times."""
    table = table.only_ran
    return _in_order(
        JobColumns(
            user=table.user_number,
            submit=table.submit,
            size=table.size.astype(np.float64),
            run_time=table.execution,
            requested_time=np.full(len(table.submit), np.nan),
            calendar=calendar or Calendar(),
        )
    )


def _in_order(columns: JobColumns) -> JobColumns:
    return columns.select(np.argsort(columns.submit, kind="stable"))


def _known(column: Column, known: NDArray[np.bool_]) -> Column:
    return np.where(known, column, np.nan)


def _calendar_of(log: SwfLog) -> Calendar:
    start, zone, _ = clock_of(log)
    clock = Workload(name="", nb_res=1, jobs=[], profiles={}, unix_start_time=start, time_zone=zone)
    return Calendar.of(clock)


def _used(workload: Workload) -> dict[str, dict[str, Any]]:
    return {name: workload.profiles[name] for name in {job.profile for job in workload.jobs}}


def _run_time(profile: dict[str, Any]) -> float:
    if profile.get("type") == "delay":
        return float(profile["delay"])
    if profile.get("type") == "parallel_homogeneous" and not profile.get("com"):
        return float(profile["cpu"]) / REFERENCE_SPEED
    return float("nan")


class SessionRows(msgspec.Struct, frozen=True):
    """The sessions of all users: m sessions, users one after the other, each in order."""

    rows: Rows
    """Places of the jobs in the columns, session by session; shape (k,), jobs of users only."""
    bounds: Rows
    """Session i has ``rows[bounds[i]:bounds[i + 1]]``; shape (m + 1,)."""
    user: NDArray[np.int64]
    """Number of the user of each session, shape (m,)."""

    @property
    def nb_jobs(self) -> Rows:
        """Jobs of each session, at least 1; shape (m,)."""
        return np.diff(self.bounds)

    @property
    def session_of_row(self) -> Rows:
        """Number of the session of each of ``rows``; shape (k,)."""
        return np.repeat(np.arange(len(self.user)), self.nb_jobs)


BY_ARRIVAL = Delimitation("arrival", 60, ">")
"""A session ends where a user submits nothing for more than an hour (Zakay, chapter 4)."""


def cut_sessions(columns: JobColumns, delimitation: Delimitation = BY_ARRIVAL) -> SessionRows:
    """Cut the jobs into sessions as :func:`users.sessions.partition` does, all users at once.

    Raises :class:`UsageError` for methods other than ``arrival``: columns have no recorded ends.
    """
    if delimitation.method != "arrival":
        raise UsageError(
            f"sessions by {delimitation}: expected arrival:MINUTES for columns of jobs"
        )
    known = np.flatnonzero(columns.user >= 0)
    rows = known[np.lexsort((known, columns.submit[known], columns.user[known]))]
    user, submit = columns.user[rows], columns.submit[rows]
    gap, threshold = np.diff(submit), delimitation.seconds
    cut = gap > threshold if delimitation.boundary == ">" else gap >= threshold
    cuts = np.flatnonzero((np.diff(user) != 0) | cut) + 1
    bounds = np.concatenate(([0], cuts, [len(rows)])) if len(rows) else np.zeros(1, dtype=np.intp)
    return SessionRows(rows, bounds.astype(np.intp), user[bounds[:-1]])
