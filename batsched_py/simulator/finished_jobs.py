"""The jobs that have ended: of many, all but the latest are packed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import overload

from batsched_py.files.packed_rows import PackedBatches
from batsched_py.simulator.ended_jobs import EndedJobs
from batsched_py.simulator.jobs import FORGOTTEN, SimulatedJob

IN_MEMORY = 1 << 15
"""Jobs up to which nothing is packed (some 25 MB)."""
BATCH = 1024
"""Jobs that are packed together."""


class FinishedJobs(Sequence[SimulatedJob]):
    """Jobs in order of completion.

    A packed job becomes a new object at each access. All its fields are equal but for its profile,
    which may be large and means nothing after the end.
    """

    def __init__(self) -> None:
        self._packed: PackedBatches[EndedJobs] = PackedBatches()
        self._latest: list[SimulatedJob] = []

    def append(self, job: SimulatedJob) -> None:
        """Add a job."""
        self._latest.append(job)
        if len(self._latest) > IN_MEMORY and len(self._latest) % BATCH == 0:
            self._pack_earliest()

    def _pack_earliest(self) -> None:
        """Pack a batch, unless the scheduler does not know yet of an end, and may set metadata."""
        batch = self._latest[:BATCH]
        if all(job.state is FORGOTTEN for job in batch):
            self._packed.append(EndedJobs.of_jobs(batch))
            del self._latest[:BATCH]

    def __len__(self) -> int:
        return len(self._packed) * BATCH + len(self._latest)

    def __iter__(self) -> Iterator[SimulatedJob]:
        for some in self._packed:
            yield from some.jobs()
        yield from self._latest

    def columns(self) -> Iterator[EndedJobs]:
        """Yield the jobs, many at a time."""
        yield from self._packed
        yield from _columns(self._latest)

    @overload
    def __getitem__(self, index: int) -> SimulatedJob: ...

    @overload
    def __getitem__(self, index: slice) -> list[SimulatedJob]: ...

    def __getitem__(self, index: int | slice) -> SimulatedJob | list[SimulatedJob]:
        """Return jobs by number; all jobs are unpacked for it."""
        return list(self)[index]


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
