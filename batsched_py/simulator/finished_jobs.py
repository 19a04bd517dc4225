"""The jobs that have ended, more of them than fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import overload

from batsched_py.errors import InvariantError
from batsched_py.simulator.ended_jobs import EndedJobs
from batsched_py.simulator.jobs import FORGOTTEN, SimulatedJob
from batsched_py.support.temporary_rows import Spool

IN_MEMORY = 1 << 15
"""Jobs up to which nothing is written to disk (some 25 MB)."""
BATCH = 1024
"""Jobs that leave memory together, and are read together: so few stay in the processor's cache."""


class FinishedJobs(Sequence[SimulatedJob]):
    """Jobs in order of completion; of many only the latest are objects, the others on disk.

    Jobs read from the disk are equal in all fields but for their profiles, which may be large and
    mean nothing after the end, and new objects each time. The two numbers of jobs are for tests;
    raises :class:`InvariantError` unless ``1 <= batch <= in_memory``, since there would be batches
    that are not whole.
    """

    def __init__(self, in_memory: int = IN_MEMORY, batch: int = BATCH) -> None:
        if not 1 <= batch <= in_memory:
            raise InvariantError(
                f"batches of {batch} jobs, {in_memory} in memory: expected 1 <= batch <= in_memory"
            )
        self._batch = batch
        self._in_memory = self._full = in_memory
        self._spool: Spool[EndedJobs] = Spool()
        self._latest: list[SimulatedJob] = []

    def append(self, job: SimulatedJob) -> None:
        """Add a job."""
        self._latest.append(job)
        if len(self._latest) >= self._full:
            self._write()

    def _write(self) -> None:
        """Write the earliest jobs, but none that may change: its end was not told yet."""
        latest, batch = self._latest, self._batch
        while len(latest) >= self._in_memory:
            if any(job.state is not FORGOTTEN for job in latest[:batch]):
                break
            self._spool.append(EndedJobs.of_jobs(latest[:batch]))
            del latest[:batch]
        self._full = max(self._in_memory, len(latest) + batch)

    def __len__(self) -> int:
        return len(self._spool) * self._batch + len(self._latest)

    def __iter__(self) -> Iterator[SimulatedJob]:
        for some in self._spool:
            yield from some.jobs()
        yield from self._latest

    def columns(self) -> Iterator[EndedJobs]:
        """Yield the jobs, many at a time."""
        yield from self._spool
        yield from _columns(self._latest)

    @overload
    def __getitem__(self, index: int) -> SimulatedJob: ...

    @overload
    def __getitem__(self, index: slice) -> list[SimulatedJob]: ...

    def __getitem__(self, index: int | slice) -> SimulatedJob | list[SimulatedJob]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = range(len(self))[index]  # from the end too; raises IndexError
        batch, place = divmod(at, self._batch)
        if batch < len(self._spool):
            return next(islice(self._spool[batch].jobs(), place, None))
        return self._latest[at - len(self._spool) * self._batch]


def columns_of(jobs: Iterable[SimulatedJob]) -> Iterator[EndedJobs]:
    """Yield jobs that ended, many at a time, in their order."""
    return jobs.columns() if isinstance(jobs, FinishedJobs) else _columns(jobs)


def each_once(jobs: Iterable[SimulatedJob]) -> Iterator[SimulatedJob]:
    """Give each of the jobs once, by its own name, whatever form of it ran."""
    for some in columns_of(jobs):
        yield from some.each_once().jobs()


def _columns(jobs: Iterable[SimulatedJob]) -> Iterator[EndedJobs]:
    jobs = iter(jobs)
    while some := list(islice(jobs, BATCH)):
        yield EndedJobs.of_jobs(some)
