"""What the embedded simulator leaves, as the columns and the lines of ``_jobs.csv``."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import cached_property
from math import nan

import numpy as np

from batsched_py.protocol.batsim_jobs_columns import REJECTED
from batsched_py.results import columns_beyond_batsim
from batsched_py.results.job_table import ADDED_COLUMNS, FURTHER_COLUMNS, MEASURED, JobTable, Mask
from batsched_py.results.site_columns import SiteColumns
from batsched_py.simulator.engine import Outcome
from batsched_py.simulator.files.output_files import jobs_lines, schedule_csv, times
from batsched_py.simulator.finished_jobs import each_once
from batsched_py.simulator.jobs import SimulatedJob
from batsched_py.workload.sites import HOME, Sites


class EmbeddedOutput:
    """What the embedded simulator leaves of a machine with these sites, none if it is one."""

    def __init__(self, outcome: Outcome, sites: Sites = ()) -> None:
        self.outcome = outcome
        self._sites = sites
        self.nb_messages: int | None = outcome.nb_messages
        self.nb_processors = outcome.nb_processors

    @cached_property
    def table(self) -> JobTable:
        """All jobs as numpy columns, in order of completion."""
        return self._columns.table(self.nb_processors)

    def jobs_lines(self, measured: Mask) -> Iterator[str]:
        """Yield the lines of ``_jobs.csv``; ``measured`` is a column unless all jobs are."""
        further = [name for name in FURTHER_COLUMNS if name in self._columns.carried]
        names = [*ADDED_COLUMNS, *further]

        def fields(job: SimulatedJob) -> list[str]:
            return columns_beyond_batsim.fields(job.description, further)

        if measured.all():
            return jobs_lines(each_once(self.outcome.jobs), names, fields)
        marks = iter(measured.tolist())
        return jobs_lines(
            each_once(self.outcome.jobs),
            [*names, MEASURED],
            lambda job: [*fields(job), str(int(next(marks)))],
        )

    @cached_property
    def _columns(self) -> _GrowingColumns:
        columns = _GrowingColumns(self._sites)
        for job in each_once(self.outcome.jobs):
            columns.add(job)
        return columns

    def schedule_csv(self) -> str:
        """Return the text of ``_schedule.csv``."""
        return schedule_csv(self.outcome)


class _GrowingColumns:
    """What one pass over the jobs gives: 57 bytes per job, since users share their names."""

    def __init__(self, sites: Sites) -> None:
        self._sites = SiteColumns(sites) if sites else None
        self._numbers = [array("d") for _ in range(6)]
        self._user: list[str] = []
        self._names: dict[str, str] = {}
        self.carried: set[str] = set()
        """Those of :data:`FURTHER_COLUMNS` that any job carries."""
        self._rare = bytearray()  # of each job 1 if it is of rare behaviour, else 0

    def add(self, job: SimulatedJob) -> None:
        """Append a row."""
        description = job.description
        self.carried.update(columns_beyond_batsim.carried(description))
        self._rare.append(columns_beyond_batsim.is_rare(description))
        start = finish = execution = nan
        if job.final_state != REJECTED:
            start = job.start_time
            execution, finish = times(job)
        original = columns_beyond_batsim.original_submission(description)
        size = job.alloc.size
        row = (description.submit_time, start, finish, execution, size, original)
        for column, value in zip(self._numbers, row, strict=True):
            column.append(value)
        user = columns_beyond_batsim.user(description)
        self._user.append(self._names.setdefault(user, user))
        if self._sites is not None:
            self._sites.add(description.extra.get(HOME), job.alloc)

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
