"""The jobs that have ended, more of them than fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from msgspec.structs import astuple

from batsched_py.errors import InvariantError
from batsched_py.protocol.messages import JobDescription
from batsched_py.simulator.jobs import FORGOTTEN, SimulatedJob
from batsched_py.simulator.profiles import Profile
from batsched_py.support.temporary_rows import Spool

IN_MEMORY = 1 << 15
"""Jobs up to which nothing is written to disk (some 25 MB)."""
BATCH = 4096
"""Jobs that leave memory together."""

_Row = tuple[Any, ...]


class FinishedJobs(Sequence[SimulatedJob]):
    """Jobs in order of completion; of many only the latest are objects, the others on disk.

    Jobs read from the disk are equal in all fields but for the bodies of their profiles, which may
    be large and mean nothing after the end, and new objects each time. The two numbers
    of jobs are for tests; raises :class:`InvariantError` unless ``1 <= batch <= in_memory``, since
    there would be batches that are not whole.
    """

    def __init__(self, in_memory: int = IN_MEMORY, batch: int = BATCH) -> None:
        if not 1 <= batch <= in_memory:
            raise InvariantError(
                f"batches of {batch} jobs, {in_memory} in memory: expected 1 <= batch <= in_memory"
            )
        self._batch = batch
        self._in_memory = self._full = in_memory
        self._spool = Spool()
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
            self._spool.append(list(map(_row, latest[:batch])))
            del latest[:batch]
        self._full = max(self._in_memory, len(latest) + batch)

    def __len__(self) -> int:
        return len(self._spool) * self._batch + len(self._latest)

    def __iter__(self) -> Iterator[SimulatedJob]:
        for rows in self._spool:
            yield from map(_job, rows)
        yield from self._latest

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
            return _job(self._spool[batch][place])
        return self._latest[at - len(self._spool) * self._batch]


def _row(job: SimulatedJob) -> _Row:
    """Return a job as plain values, which takes a tenth of the space of the object."""
    profile = job.profile
    kept = (profile.delay, profile.flops, profile.total, profile.return_code)
    return astuple(job.description), kept, astuple(job)[3:10]  # from start_time on, no messages


def _job(row: _Row) -> SimulatedJob:
    description, profile, ended = row
    return SimulatedJob(JobDescription(*description), Profile(*profile), FORGOTTEN, *ended)
