"""The output of the embedded simulator: the columns and the lines of ``_jobs.csv``."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from sys import intern

import msgspec
import numpy as np

from batsched_py.processors.sets import ProcessorSet
from batsched_py.protocol.batsim_jobs_columns import SUCCESS
from batsched_py.protocol.own_job_fields import ADDED_COLUMNS, FURTHER_COLUMNS, WAKING, WITHDRAWAL
from batsched_py.results import columns_beyond_batsim
from batsched_py.results.job_table import (
    MEASURED,
    Column,
    JobTable,
    Mask,
    SiteColumns,
    compute_requested_work,
    mark_on_time,
)
from batsched_py.results.machine_power import MachinePower
from batsched_py.simulator.ended_jobs import IN_MEMORY, EndedJobs, iterate_columns
from batsched_py.simulator.files.output_files import Summary, format_schedule_csv, make_lines
from batsched_py.simulator.outcome import Outcome
from batsched_py.workload.grid_sites import HOME, GridSites


class EmbeddedOutput:
    """The output of the embedded simulator, with columns of grid sites if the machine has any."""

    def __init__(self, outcome: Outcome, sites: GridSites = ()) -> None:
        self.outcome = outcome
        self._sites = sites
        self.nb_messages: int | None = outcome.nb_messages
        self.nb_processors = outcome.nb_processors
        self.power: MachinePower | None = None
        """To be set before the table is made."""

    @cached_property
    def table(self) -> JobTable:
        """All jobs as numpy columns, in order of completion."""
        columns = self._columns
        table = columns.table(self.nb_processors)
        rare: dict[str, Column] = {}
        if WITHDRAWAL in columns.carried:
            rare["withdrawal"] = self._column(lambda jobs: jobs.withdrawal)
            rare["requested"] = self._column(_compute_requested_work)
        if "deadline" in columns.carried:
            rare["on_time"] = self._column(_mark_on_time)
        if WAKING in columns.carried:
            rare[WAKING] = np.nan_to_num(self._column(lambda jobs: _numbers(jobs, WAKING)))
        table = msgspec.structs.replace(table, **rare) if rare else table
        return table if self.power is None else table.with_power(self.power, self._allocated)

    def _allocated(self) -> list[ProcessorSet]:
        return [alloc for some in self._ended() for alloc in some.merge_forms().alloc]

    def _column(self, of_jobs: Callable[[EndedJobs], Column]) -> Column:
        """Return a column that few runs have, in a pass of its own over all jobs."""
        return np.concatenate([of_jobs(some.merge_forms()) for some in self._ended()])

    def job_ids(self) -> list[str]:
        """Return the id of each job of the table, without its workload."""
        jobs = (job_id for some in self._ended() for job_id in some.merge_forms().id)
        return [job_id.partition("!")[2] for job_id in jobs]

    def jobs_lines(self, measured: Mask) -> Iterator[str]:
        """Yield the lines of ``_jobs.csv``; ``measured`` is a column unless all jobs are."""
        further = [name for name in FURTHER_COLUMNS if name in self._columns.carried]
        names = [*ADDED_COLUMNS, *further]
        marks = None
        if not measured.all():
            names.append(MEASURED)
            marks = iter(measured.tolist())

        def columns(jobs: EndedJobs) -> list[list[str]]:
            texts = columns_beyond_batsim.make_columns(jobs, further)
            if marks is not None:
                texts.append([str(int(mark)) for mark in islice(marks, len(jobs))])
            return texts

        return make_lines((some.merge_forms() for some in self._ended()), names, columns)

    def _ended(self) -> Iterable[EndedJobs]:
        return iterate_columns(self.outcome.jobs) if self._few is None else self._few

    @cached_property
    def _few(self) -> list[EndedJobs] | None:
        """The batches, kept in memory; None if the jobs are too many to keep."""
        jobs = self.outcome.jobs
        return list(iterate_columns(jobs)) if len(jobs) <= IN_MEMORY else None

    def schedule_csv(self) -> str:
        """Return the text of ``_schedule.csv``."""
        return format_schedule_csv(self.outcome, self._sums)

    @cached_property
    def _sums(self) -> Summary:
        sums = Summary(self.outcome.nb_processors)
        for some in self._ended():
            sums.add(some)
        return sums

    @cached_property
    def _columns(self) -> _GrowingColumns:
        """The columns of all jobs; with the sums if the jobs are unpacked for each pass."""
        columns = _GrowingColumns(self._sites)
        sums = Summary(self.outcome.nb_processors) if self._few is None else None
        for some in self._ended():
            if sums is not None:
                sums.add(some)
            columns.add(some.merge_forms())
        if sums is not None:
            self._sums = sums
        return columns


def _compute_requested_work(jobs: EndedJobs) -> Column:
    walltime, estimate = (np.array(times, np.float64) for times in (jobs.walltime, jobs.estimate))
    return compute_requested_work(np.array(jobs.size, np.float64), walltime, estimate)


def _mark_on_time(jobs: EndedJobs) -> Column:
    succeeded = np.array([state == SUCCESS for state in jobs.final_state], dtype=np.bool_)
    return mark_on_time(_numbers(jobs, "deadline"), jobs.finish, succeeded)


def _numbers(jobs: EndedJobs, name: str) -> Column:
    values = [extra.get(name) if extra else None for extra in jobs.extra]
    return np.array(values, np.float64)


class _GrowingColumns:
    """Columns of the table, which grow by batches of jobs: 57 bytes per job."""

    def __init__(self, sites: GridSites) -> None:
        self._sites = SiteColumns(sites) if sites else None
        self._numbers = [array("d") for _ in range(6)]
        self._user: list[str] = []
        self.carried: set[str] = set()
        """Those of :data:`FURTHER_COLUMNS` that any job carries."""
        self._rare = bytearray()  # of each job 1 if it is of rare behaviour, else 0

    def add(self, some: EndedJobs) -> None:
        """Append a batch of jobs; equal names of users share memory."""
        original = columns_beyond_batsim.list_original_submissions(some)
        size = some.nb_processors
        numbers = (some.submit, some.start, some.finish, some.execution, size, original)
        for column, values in zip(self._numbers, numbers, strict=True):
            column.frombytes(values.tobytes())
        self._user.extend(map(intern, columns_beyond_batsim.list_users(some)))
        self.carried |= columns_beyond_batsim.find_used_columns(some)
        self._rare.extend(columns_beyond_batsim.mark_rare(some).tobytes())
        if self._sites is not None:
            for extra, alloc in zip(some.extra, some.alloc, strict=True):
                self._sites.add(extra.get(HOME), alloc)

    def table(self, nb_processors: int) -> JobTable:
        """Return all jobs; nothing may be added any more."""
        submit, start, finish, execution, size, original = map(np.asarray, self._numbers)
        table = JobTable(
            submit=submit,
            start=start,
            finish=finish,
            execution=execution,
            size=size,
            original_submit=original,
            user=self._user,
            nb_processors=nb_processors,
            rare=np.frombuffer(self._rare, dtype=np.bool_),
        )
        return table if self._sites is None else self._sites.added_to(table)
