"""Finds the jobs of a run in its log, and selects the ones that can be compared."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import LogError, UsageError
from batsched_py.results.job_table import Column, JobTable, Mask
from batsched_py.workload.logs.swf import SwfLog

_SAME = 1.0
"""Seconds within which two times are the same: those of logs are whole."""


class JobCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The number of compared jobs, and of left-out jobs by reason; a job counts once."""

    in_log: int
    compared: int
    dropped: int
    """In the log, not in the run: the rules left them out."""
    refused: int
    """In the run, but it never started them."""
    never_began: int
    """Cancelled in the log while they waited: their wait did not end with a start."""
    unknown_wait: int
    not_measured: int
    """Of the warm-up, the cool-down, or of rare behaviour."""
    not_in_log: int
    """In the run only, such as parts of split jobs; not among those :attr:`in_log`."""
    other_run_time: int
    """Compared, but run for another time than recorded: cut, killed, or on other processors."""


class MatchedJobs(msgspec.Struct, frozen=True, eq=False):
    """Jobs whose wait was both recorded and simulated, in the order of the log.

    All columns have shape (n,); times in seconds.
    """

    row: NDArray[np.intp]
    """Of the log."""
    submit: Column
    recorded: Column
    """Recorded wait."""
    simulated: Column
    """Simulated wait."""
    recorded_run: Column
    simulated_run: Column
    size: Column
    """Processors in the simulation, which may be nodes."""
    user: NDArray[Any]
    """Names, ``""`` where unknown."""
    measured: Mask

    def select(self, rows: NDArray[Any]) -> MatchedJobs:
        """Return the jobs of a mask or of indices."""
        return MatchedJobs(*(getattr(self, name)[rows] for name in self.__struct_fields__))

    @property
    def only_measured(self) -> MatchedJobs:
        """The jobs whose waits are compared; the others load the machine."""
        return self.select(self.measured)


def check_waits(log: SwfLog) -> None:
    """Raise :class:`LogError` if a log has no recorded waits."""
    if not len(log.known_waits):
        raise LogError(
            f"{log.path}: none of its {len(log)} jobs has a recorded wait (field 3, wait_time, is "
            "unknown): expected a log with recorded waits to compare with"
        )


def match_jobs(log: SwfLog, table: JobTable) -> tuple[MatchedJobs, JobCounts]:
    """Find the jobs of a rigid run in its log by their ids; count the jobs that are left out.

    Raises :class:`LogError` for a log without waits, :class:`UsageError` for a table without ids,
    and for one whose jobs were submitted at other times: users reacted, or it is of another log.
    """
    check_waits(log)
    log_row, table_row, not_in_log = _pairs(log, table)
    _check_submissions(log, table, log_row, table_row)
    wait, run = (log.column(name)[log_row] for name in ("wait_time", "run_time"))
    refused = ~table.ran[table_row]
    never_began = ~refused & log.withdrawn[log_row]
    unknown = ~refused & ~never_began & (wait < 0)
    kept = ~(refused | never_began | unknown)
    log_row, table_row = log_row[kept], table_row[kept]
    jobs = MatchedJobs(
        row=log_row,
        submit=log.column("submit_time")[log_row],
        recorded=wait[kept],
        simulated=np.maximum(table.waiting[table_row], 0.0),
        recorded_run=run[kept],
        simulated_run=(table.finish - table.start)[table_row],
        size=table.size[table_row],
        user=np.where(
            log.column("user")[log_row] < 0,  # which rules may call -1, or give a name each
            "",
            np.array(table.user, dtype=object)[table_row],
        ),
        measured=table.measured[table_row],
    )
    other = np.abs(jobs.simulated_run - jobs.recorded_run) > _SAME
    return jobs, JobCounts(
        in_log=len(log),
        compared=int(jobs.measured.sum()),
        dropped=len(log) - len(kept),
        refused=int(refused.sum()),
        never_began=int(never_began.sum()),
        unknown_wait=int(unknown.sum()),
        not_measured=int((~jobs.measured).sum()),
        not_in_log=not_in_log,
        other_run_time=int((other & jobs.measured).sum()),
    )


def keep_common(jobs: list[MatchedJobs]) -> list[MatchedJobs]:
    """Return for each of several runs only the jobs that all of them have."""
    rows = jobs[0].row
    for other in jobs[1:]:
        rows = np.intersect1d(rows, other.row, assume_unique=True)
    return [each.select(np.isin(each.row, rows)) for each in jobs]


def _pairs(log: SwfLog, table: JobTable) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """Return rows of log and table of the same jobs, and how many jobs the log does not have."""
    ids = table.text_column("job_id")
    if not any(ids):
        raise UsageError(
            "the table of jobs has no ids: expected that of a file, or result.table_as_written()"
        )
    row_of = {str(int(number)): row for row, number in enumerate(log.column("job_number"))}
    rows = np.array([row_of.get(name, -1) for name in ids], dtype=np.intp)
    there = np.flatnonzero(rows >= 0)
    there = there[np.argsort(rows[there], kind="stable")]
    found = rows[there]
    if (twice := np.flatnonzero(np.diff(found) == 0)).size:
        raise UsageError(
            f"two jobs of the run have the id {ids[there[twice[0]]]}: expected a run of one log"
        )
    return found, there, len(ids) - len(found)


def _check_submissions(
    log: SwfLog, table: JobTable, log_row: NDArray[np.intp], table_row: NDArray[np.intp]
) -> None:
    if not len(log_row):
        raise UsageError(f"no job of the run is in {log.path}: expected a run of this log")
    submit, recorded = table.submit[table_row], log.column("submit_time")[log_row]
    if (moved := np.flatnonzero(np.abs(submit - recorded) > _SAME)).size:
        job = moved[0]
        raise UsageError(
            f"job {table.text_column('job_id')[table_row[job]]} was submitted at "
            f"{submit[job]:g} s, in {log.path} at {recorded[job]:g} s: expected a run of this log "
            "with rigid users"
        )
