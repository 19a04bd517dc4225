"""The jobs that have ended; if they are many, all but the latest are packed as columns.

Tables and files are made of these columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import compress, islice
from math import nan
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from batsched_py.files.packed_rows import PackedBatches
from batsched_py.processors.sets import ProcessorSet
from batsched_py.protocol.batsim_jobs_columns import LEAST_EXECUTION_TIME, NEVER_RAN, WITHDRAWN
from batsched_py.protocol.dilated_jobs import PLACED, find_original_id, is_replaced
from batsched_py.protocol.messages import JobDescription
from batsched_py.simulator.jobs import FORGOTTEN, SimulatedJob
from batsched_py.simulator.profiles import Profile

IN_MEMORY = 1 << 15
"""Number of jobs up to which none are packed (some 25 MB)."""
BATCH = 1024
"""Jobs that are packed together."""
_LEAST = np.longdouble(str(LEAST_EXECUTION_TIME))
_UNKNOWN = Profile(None)

Column = NDArray[np.float64]


class DescribedJobs(msgspec.Struct):
    """The fields of several :class:`JobDescription`: a list of values for each field."""

    id: list[str]
    submit_time: list[float]
    size: list[int]
    profile: list[str]
    walltime: list[float | None]
    estimate: list[float | None]
    user: list[str | None]
    extra: list[dict[str, Any]]

    @classmethod
    def of(cls, descriptions: Sequence[JobDescription]) -> DescribedJobs:
        """Return the columns of job descriptions, a row for each."""
        return cls(*_lists(descriptions, DescribedJobs.__struct_fields__))

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.id)

    @property
    def withdrawal(self) -> Column:
        """When each job was withdrawn (seconds), nan if it was not, as far as it is known."""
        return np.full(len(self), nan)


_NB_DESCRIBED = len(DescribedJobs.__struct_fields__)


class EndedJobs(DescribedJobs, dict=True):
    """Jobs that ended, in order of completion: their fields as lists, and derived columns.

    Derived columns are of shape (n,), each made once. Times are in seconds, as Batsim writes
    them; nan of jobs that never ran.
    """

    start_time: list[float]
    finish_time: list[float]
    alloc: list[ProcessorSet]
    final_state: list[str]
    return_code: list[int]
    metadata: list[str]
    consumed_energy: list[float]

    @classmethod
    def of_jobs(cls, jobs: Sequence[SimulatedJob]) -> EndedJobs:
        """Return the columns of ended jobs, a row for each."""
        described = _lists([job.description for job in jobs], cls.__struct_fields__[:_NB_DESCRIBED])
        return cls(*described, *_lists(jobs, cls.__struct_fields__[_NB_DESCRIBED:]))

    def jobs(self) -> Iterator[SimulatedJob]:
        """Yield the jobs as new objects, without their profiles."""
        for row in zip(*astuple(self), strict=True):
            description = JobDescription(*row[:_NB_DESCRIBED])
            yield SimulatedJob(description, _UNKNOWN, FORGOTTEN, *row[_NB_DESCRIBED:])

    def merge_forms(self) -> EndedJobs:
        """Return the jobs with each dilated job once, under the name that it was submitted with."""
        jobs = self
        if any(self.metadata):
            stay = [not is_replaced(metadata) for metadata in self.metadata]
            jobs = EndedJobs(*(list(compress(column, stay)) for column in astuple(self)))
        if f"{PLACED}!" in "".join(jobs.id):  # asked of all at once, since hardly any run has such
            jobs = msgspec.structs.replace(jobs, id=list(map(find_original_id, jobs.id)))
        return jobs

    @cached_property
    def ran(self) -> NDArray[np.bool_]:
        """Mask of the jobs that ran: they were neither rejected nor withdrawn."""
        return np.array([state not in NEVER_RAN for state in self.final_state], dtype=np.bool_)

    @property
    def withdrawal(self) -> Column:
        """When each job was withdrawn, nan if it was not."""
        if WITHDRAWN not in self.final_state:
            return np.full(len(self), nan)
        withdrawn = np.array([state == WITHDRAWN for state in self.final_state], dtype=np.bool_)
        return np.where(withdrawn, self.finish_time, nan)

    @property
    def waited(self) -> Column:
        """The time from submission to start or withdrawal; nan of rejected jobs."""
        return np.where(self.ran, self.start, self.withdrawal) - self.submit

    @cached_property
    def submit(self) -> Column:
        """The submission time of each job."""
        return np.array(self.submit_time, dtype=np.float64)

    @cached_property
    def start(self) -> Column:
        """The start time of each job."""
        return self.make_column(self.start_time)

    @cached_property
    def end(self) -> Column:
        """The time at which each job freed its processors."""
        return self.make_column(self.finish_time)

    @cached_property
    def execution(self) -> Column:
        """The execution time of each job, at least 1e-5 s."""
        return np.where(self._took_none, LEAST_EXECUTION_TIME, self.end - self.start)

    @cached_property
    def finish(self) -> Column:
        """The finish time in Batsim's tables: 1e-5 s after the end of a job that took no time."""
        return np.where(self._took_none, self.end + LEAST_EXECUTION_TIME, self.end)

    @cached_property
    def stretch(self) -> Column:
        """The stretch of each job: turnaround time / run time.

        Batsim computes with 80 bits. That matters for zero-length jobs: after some weeks of
        simulated time, 64 bits keep too little of the 1e-5 s that such a job counts as.
        """
        stretch = (self.finish - self.submit) / self.execution
        if len(rows := np.flatnonzero(self._took_none)):
            waited = self.start[rows].astype(np.longdouble) + _LEAST - self.submit[rows]
            stretch[rows] = waited / _LEAST
        return stretch

    @cached_property
    def nb_processors(self) -> Column:
        """The number of processors of each job; 0 if it never ran."""
        return np.array([alloc.size for alloc in self.alloc], dtype=np.float64)

    def make_column(self, values: list[float]) -> Column:
        """Return ``values``, one per job, as an array with nan for jobs that never ran."""
        return np.where(self.ran, values, nan)

    @cached_property
    def _took_none(self) -> NDArray[np.bool_]:
        return np.asarray(self.end - self.start <= 0)


def _lists(objects: Sequence[Any], names: Iterable[str]) -> Iterator[list[Any]]:
    """Yield the attributes of some objects, a list of each."""
    return (list(map(attrgetter(name), objects)) for name in names)


class FinishedJobs(Sequence[SimulatedJob]):
    """All jobs of a simulation that ended, in order of completion.

    A packed job becomes a new object at each access. Its fields are equal, except its profile,
    which may be large and has no use after the end.
    """

    def __init__(self) -> None:
        self._packed: PackedBatches[EndedJobs] = PackedBatches()
        self._latest: list[SimulatedJob] = []

    def append(self, job: SimulatedJob) -> None:
        """Add a job that has ended."""
        latest = self._latest
        latest.append(job)
        if len(latest) > IN_MEMORY and len(latest) % BATCH == 0:
            batch = latest[:BATCH]
            # Where the scheduler does not know yet of an end, it may still set metadata.
            if all(job.state is FORGOTTEN for job in batch):
                self._packed.append(EndedJobs.of_jobs(batch))
                del latest[:BATCH]

    def __len__(self) -> int:
        return len(self._packed) * BATCH + len(self._latest)

    def __iter__(self) -> Iterator[SimulatedJob]:
        for some in self._packed:
            yield from some.jobs()
        yield from self._latest

    def columns(self) -> Iterator[EndedJobs]:
        """Yield the jobs as columns of many jobs at a time."""
        yield from self._packed
        yield from _columns(self._latest)

    def __getitem__(self, index: Any) -> Any:
        """Return jobs by number; all jobs are unpacked for it."""
        return list(self)[index]


def iterate_columns(jobs: Iterable[SimulatedJob]) -> Iterator[EndedJobs]:
    """Yield columns of the ended ``jobs``, many at a time, in their order."""
    return jobs.columns() if isinstance(jobs, FinishedJobs) else _columns(jobs)


def merge_forms(jobs: Iterable[SimulatedJob]) -> Iterator[SimulatedJob]:
    """Yield the jobs with each dilated job once, under the name that it was submitted with."""
    for some in iterate_columns(jobs):
        yield from some.merge_forms().jobs()


def _columns(jobs: Iterable[SimulatedJob]) -> Iterator[EndedJobs]:
    jobs = iter(jobs)
    while some := list(islice(jobs, BATCH)):
        yield EndedJobs.of_jobs(some)
