"""The jobs of logs, workloads and results as columns in one common form.

The measures of users compare these sources, so the columns are those that all sources have. Columns
that only a simulation has (starts, lateness, measurements) are in
:class:`batsched_py.results.job_table.JobTable`, from which :func:`columns_of_jobs_file` takes the
common ones.
"""

from __future__ import annotations

from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import InputError
from batsched_py.options.option_values import one_of
from batsched_py.results.jobs_file import read_jobs
from batsched_py.results.run_files import read_settings
from batsched_py.workload import Workload
from batsched_py.workload.logs.clock import find_clock
from batsched_py.workload.logs.swf import SwfLog
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.job_profiles import run_time_of

if TYPE_CHECKING:
    import pandas as pd

Column = NDArray[np.float64]
Rows = NDArray[np.intp]

ATTRIBUTES = ("size", "run_time", "requested_time")


class JobColumns(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The jobs of a log, workload or result as columns of shape (n,), in order of submission.

    Unknown values are nan.
    """

    user: NDArray[np.int64]
    """A number for each user, -1 if unknown: such jobs are left out of measures per user."""
    submit: Column
    """Seconds."""
    end: Column
    """Seconds, of a withdrawn job its withdrawal; unknown too for a job that never ended (rejected,
    or still in the system)."""
    size: Column
    """Processors."""
    run_time: Column
    """Seconds, not cut by a walltime."""
    requested_time: Column
    """Seconds: the longest run time that the user expected ("maximum run time")."""
    calendar: Calendar = Calendar()
    """Clock time of the submissions."""

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.submit)

    def attribute(self, name: str) -> Column:
        """Return the column of one of :data:`ATTRIBUTES`; raises :class:`UsageError` for others."""
        column: Column = getattr(self, one_of("attribute", name, ATTRIBUTES))
        return column

    def select(self, rows: NDArray[Any]) -> JobColumns:
        """Return the jobs in these rows (indices or a mask), in that order."""
        columns = (name for name in self.__struct_fields__ if name != "calendar")
        return msgspec.structs.replace(
            self, **{name: getattr(self, name)[rows] for name in columns}
        )

    @property
    def ran(self) -> JobColumns:
        """The jobs with a positive run time, as in the similarity tables of Zakay's thesis."""
        return self.select(self.run_time > 0)

    @property
    def ended(self) -> JobColumns:
        """The jobs with a known end."""
        return self.select(~np.isnan(self.end))

    def user_order(self, *, ties: str = "log") -> Rows:
        """Return the rows of the jobs of known users, user by user in submission order.

        Simultaneous jobs of a user are in order of the rows (``log``) or of their ends (``end``).
        """
        rows = np.flatnonzero(self.user >= 0)
        second = rows if one_of("ties", ties, ("log", "end")) == "log" else self.end[rows]
        return rows[np.lexsort((second, self.submit[rows], self.user[rows]))]

    def by_user(self, *, ties: str = "log") -> JobColumns:
        """Return the jobs of known users in the order of :meth:`user_order`."""
        return self.select(self.user_order(ties=ties))

    @property
    def same_user(self) -> NDArray[np.bool_]:
        """Whether each job and the next have the same user, shape (n - 1,)."""
        same: NDArray[np.bool_] = self.user[1:] == self.user[:-1]
        return same

    @property
    def think_times(self) -> Column:
        """Seconds from the end of each job to the user's next submission, for jobs :meth:`by_user`.

        Negative if the next job did not wait, inf after a user's last job, nan after a job that
        never ended; shape (n,).
        """
        times = np.where(self.same_user, self.submit[1:] - self.end[:-1], np.inf)
        return np.append(times, np.inf)[: len(self)]


# Sources -----------------------------------------------------------------------------------------


def columns_of_log(log: SwfLog, *, size: str = "requested") -> JobColumns:
    """Return all jobs of a log as columns, with the ``requested`` or ``allocated`` size.

    If that size is unknown, the other one is taken. No job is left out. Sizes and requests that are
    not positive, negative waits and run times, and ends that depend on them are unknown. Raises
    :class:`UsageError`.
    """
    wanted, other = log.column("requested_processors"), log.column("allocated_processors")
    if one_of("size", size, ("requested", "allocated")) == "allocated":
        wanted, other = other, wanted
    processors = np.where(wanted > 0, wanted, other)
    submit, wait, run = map(log.column, ("submit_time", "wait_time", "run_time"))
    start, zone, _ = find_clock(log)
    return JobColumns(
        user=log.column("user").astype(np.int64),
        submit=submit,
        end=_where(submit + wait + run, (wait >= 0) & (run >= 0)),
        size=_where(processors, processors > 0),
        run_time=_where(run, run >= 0),
        requested_time=_where(log.column("requested_time"), log.column("requested_time") > 0),
        calendar=Calendar.of_clock(start, zone),
    )


def columns_of_workload(workload: Workload) -> JobColumns:
    """Return the jobs of a workload as columns; users are numbered in order of appearance.

    The run time is :func:`batsched_users.behaviour.job_profiles.run_time_of` the profile. The
    requested time is the walltime: load logs with ``make_rules(walltime="requested")``, as the
    default walltime is not what users asked for.
    """
    numbers: dict[str, int] = {}
    run_times = {
        name: run_time_of(workload.profiles[name]) for name in {j.profile for j in workload.jobs}
    }
    rows = [
        (
            -1 if job.user is None else numbers.setdefault(job.user, len(numbers)),
            job.submit_time,
            nan if job.finish_time is None else job.finish_time,
            job.size,
            run_times[job.profile],
            nan if job.walltime is None else job.walltime,
        )
        for job in workload.jobs
    ]
    columns = np.array(rows, dtype=np.float64).reshape(-1, 6)
    user, submit, end, size, run_time, requested = columns[
        np.argsort(columns[:, 1], kind="stable")
    ].T
    return JobColumns(
        user=user.astype(np.int64),
        submit=submit,
        end=end,
        size=size,
        run_time=run_time,
        requested_time=requested,
        calendar=Calendar.of(workload),
    )


def columns_of_jobs_file(path: Path) -> JobColumns:
    """Read the jobs of a simulation from its ``PREFIX_jobs.csv``, as columns.

    Batsim's own file has no users, which are then read from ``PREFIX_users.csv`` beside it. The
    clock is read from ``PREFIX_run.json`` beside it, and unknown without that file. Rejected jobs
    have no end. Sizes, run times and requests are unknown if the file lacks their columns. Raises
    :class:`InputError`, naming file and line, for a missing column, a value that is no number, and
    a job without user.
    """
    table = read_jobs(path, needed=("submission_time", "finish_time", "user"))
    if not table.user:
        raise InputError(f"{path}: no job is in it")
    if "" in table.user:
        raise InputError(f"{path}:{table.user.index('') + 2}: the job has no user")
    if len(early := np.flatnonzero(table.finish < table.submit)):
        row = int(early[0])
        raise InputError(
            f"{path}:{row + 2}: finish_time {table.finish[row]:g} is before submission_time "
            f"{table.submit[row]:g}"
        )
    requested = table.number_column("requested_time")
    run = read_settings(path)
    columns = JobColumns(
        user=table.user_number,
        submit=table.submit,
        end=table.left,
        size=table.number_column("requested_number_of_resources"),
        run_time=table.execution,
        requested_time=_where(requested, requested > 0),
        calendar=Calendar.of_clock(run.get("unix_start_time"), run.get("time_zone") or "UTC"),
    )
    return columns.select(np.argsort(table.submit, kind="stable"))


def columns_of_frame(jobs: pd.DataFrame) -> JobColumns:
    """Return the jobs of a data frame with the columns of ``PREFIX_jobs.csv``.

    They are in order of submission, simultaneous jobs by number. The clock is unknown, and so are
    requests without the column ``requested_time``.
    """
    import pandas as pd

    number = pd.to_numeric(jobs["job_id"], errors="coerce")  # some are not numbers
    frame = jobs.iloc[np.lexsort((number, jobs["submission_time"]))]
    unknown = np.full(len(frame), nan)
    withdrawal = frame.get("withdrawal_time", pd.Series(unknown, frame.index))
    return JobColumns(
        user=pd.factorize(frame["user"])[0].astype(np.int64),
        submit=frame["submission_time"].to_numpy(np.float64),
        end=frame["finish_time"].fillna(withdrawal).to_numpy(np.float64),
        size=frame["requested_number_of_resources"].to_numpy(np.float64),
        run_time=frame["execution_time"].to_numpy(np.float64),
        requested_time=frame.get("requested_time", pd.Series(unknown)).to_numpy(np.float64),
    )


def _where(column: Column, is_known: NDArray[np.bool_]) -> Column:
    return np.where(is_known, column, np.nan)
