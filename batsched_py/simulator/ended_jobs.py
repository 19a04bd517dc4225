"""Jobs that ended as columns: what tables and output files are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from math import nan

import numpy as np
from numpy.typing import NDArray

from batsched_py.protocol.batsim_jobs_columns import LEAST_EXECUTION_TIME, REJECTED
from batsched_py.simulator.jobs import SimulatedJob

_AT_ONCE = 4096
"""Jobs: so few stay in the cache, and what is made of them takes no memory to speak of."""
_LEAST = np.longdouble(str(LEAST_EXECUTION_TIME))

Column = NDArray[np.float64]


def columns_of(jobs: Iterable[SimulatedJob]) -> Iterator[EndedJobs]:
    """Yield jobs that ended, some thousands at a time, in their order."""
    jobs = iter(jobs)
    while some := list(islice(jobs, _AT_ONCE)):
        yield EndedJobs(some)


class EndedJobs:
    """Some jobs that ended, in order of completion; columns of shape (n,), each made once.

    Times are in seconds, as Batsim writes them; nan of jobs that were rejected.
    """

    def __init__(self, jobs: list[SimulatedJob]) -> None:
        self.jobs = jobs
        self.descriptions = [job.description for job in jobs]

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
        return np.array([job.alloc.bit_count() for job in self.jobs], dtype=np.float64)

    @cached_property
    def energy(self) -> Column:
        """Joules of its processors, -1 if nobody counted."""
        return self._of_ran([job.consumed_energy for job in self.jobs])

    @cached_property
    def _took_none(self) -> NDArray[np.bool_]:
        return np.asarray(self.end - self.start <= 0)

    def _of_ran(self, values: list[float]) -> Column:
        return np.where(self.ran, values, nan)
