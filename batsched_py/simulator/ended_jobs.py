"""Jobs that ended as columns: what tables and output files are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from math import nan

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from batsched_py.protocol.batsim_jobs_columns import LEAST_EXECUTION_TIME, REJECTED
from batsched_py.protocol.dilated_jobs import is_placed, is_replaced, original_id
from batsched_py.simulator.jobs import SimulatedJob

_AT_ONCE = 1024
"""Jobs: so few stay in the cache, and what is made of them takes no memory to speak of."""
_LEAST = np.longdouble(str(LEAST_EXECUTION_TIME))

Column = NDArray[np.float64]


def columns_of(jobs: Iterable[SimulatedJob]) -> Iterator[EndedJobs]:
    """Yield jobs that ended, many at a time, in their order."""
    jobs = iter(jobs)
    while some := list(islice(jobs, _AT_ONCE)):
        yield EndedJobs(some)


def each_once(jobs: Iterable[SimulatedJob]) -> Iterator[SimulatedJob]:
    """Give each of the jobs once, by its own name, whatever form of it ran."""
    for some in columns_of(jobs):
        yield from some.each_once().jobs


class EndedJobs:
    """Some jobs that ended, in order of completion; columns of shape (n,), each made once.

    Times are in seconds, as Batsim writes them; nan of jobs that were rejected.
    """

    def __init__(self, jobs: list[SimulatedJob]) -> None:
        self.jobs = jobs
        self.descriptions = [job.description for job in jobs]

    def each_once(self) -> EndedJobs:
        """Return the jobs by their own names, but for those of which another form ran."""
        placed = any(is_placed(job.id) for job in self.descriptions)
        if not placed and not any(job.metadata for job in self.jobs):
            return self
        return EndedJobs([_by_own_name(job) for job in self.jobs if not is_replaced(job.metadata)])

    @cached_property
    def ran(self) -> NDArray[np.bool_]:
        """Which jobs ran, that is were not rejected."""
        return np.array([job.final_state != REJECTED for job in self.jobs], dtype=np.bool_)

    @cached_property
    def submit(self) -> Column:
        """Submission."""
        return np.array([job.submit_time for job in self.descriptions], dtype=np.float64)

    @cached_property
    def walltime(self) -> Column:
        """Kill limit, -1 where there is none; of rejected jobs too."""
        walltimes = [job.walltime for job in self.descriptions]
        return np.array([-1.0 if time is None else time for time in walltimes], dtype=np.float64)

    @cached_property
    def start(self) -> Column:
        """Start."""
        return self._of_ran([job.start_time for job in self.jobs])

    @cached_property
    def end(self) -> Column:
        """When the job gave its processors back."""
        return self._of_ran([job.finish_time for job in self.jobs])

    @cached_property
    def execution(self) -> Column:
        """From start to finish; at least 1e-5 s."""
        return np.where(self._took_none, LEAST_EXECUTION_TIME, self.end - self.start)

    @cached_property
    def finish(self) -> Column:
        """What Batsim calls so: 1e-5 s after the end of a job that took no time."""
        return np.where(self._took_none, self.end + LEAST_EXECUTION_TIME, self.end)

    @cached_property
    def stretch(self) -> Column:
        """Turnaround / run time.

        Batsim computes with 80 bits. That shows if a job took no time: beside a date of some weeks,
        64 bits keep too little of the 1e-5 s that it counts with.
        """
        stretch = (self.finish - self.submit) / self.execution
        if len(rows := np.flatnonzero(self._took_none)):
            waited = self.start[rows].astype(np.longdouble) + _LEAST - self.submit[rows]
            stretch[rows] = waited / _LEAST
        return stretch

    @cached_property
    def size(self) -> Column:
        """Processors that the job got; 0 if it was rejected."""
        return np.array([job.alloc.size for job in self.jobs], dtype=np.float64)

    @cached_property
    def energy(self) -> Column:
        """Joules of its processors, -1 if nobody counted."""
        return self._of_ran([job.consumed_energy for job in self.jobs])

    @cached_property
    def _took_none(self) -> NDArray[np.bool_]:
        return np.asarray(self.end - self.start <= 0)

    def _of_ran(self, values: list[float]) -> Column:
        return np.where(self.ran, values, nan)


def _by_own_name(job: SimulatedJob) -> SimulatedJob:
    job_id = job.description.id
    if not is_placed(job_id):
        return job
    return replace(job, description=replace(job.description, id=original_id(job_id)))
