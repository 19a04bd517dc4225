"""The machine as a policy sees it: what is free, what runs, when it should end."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from batsched_py.errors import InvariantError
from batsched_py.model.job import Job, JobState
from batsched_py.model.timeline import Timeline
from batsched_py.support.processor_sets import from_procset, lowest, to_procset, to_text

if TYPE_CHECKING:
    from procset import ProcSet


class Machine:
    """Identical processors ``0 .. nb_processors - 1``, and the jobs that run on them."""

    __slots__ = ("_releases", "free", "free_processors", "nb_ended", "nb_processors", "unavailable")

    def __init__(self, nb_processors: int) -> None:
        self.nb_processors = nb_processors
        self.free = nb_processors
        """Number of free processors."""
        self.free_processors = (1 << nb_processors) - 1
        """The free processors as a bitmask."""
        self.unavailable = 0
        """Processors that are out of order, as a bitmask; jobs that run there go on."""
        self.nb_ended = 0
        """Number of jobs that ran and ended."""
        # (expected end, size, submission number, job): the number makes the keys unique, so that
        # a comparison never reaches the job.
        self._releases: list[tuple[float, int, int, Job]] = []

    def releases(self) -> Iterator[Job]:
        """Give the running jobs by (expected end, size, submission order)."""
        return (release[3] for release in self._releases)

    def expected_releases(self) -> Sequence[tuple[float, int, int, Job]]:
        """Return (expected end, processors that come back then, submission number, job).

        Of the running jobs, in ascending order; seconds, inf where an end is not known. What is
        out of order does not come back.
        """
        if not self.unavailable:
            return self._releases
        usable = ~self.unavailable
        return [
            (end, (job.processors & usable).bit_count(), number, job)
            for end, _, number, job in self._releases
        ]

    @property
    def nb_available(self) -> int:
        """Number of processors that are not out of order."""
        return self.nb_processors - self.unavailable.bit_count()

    def timeline(self, now: float) -> Timeline:
        """Return the free processors from ``now`` on if no further job starts."""
        releases = ((end, size) for end, size, _, _ in self.expected_releases())
        return Timeline.of_releases(self.free, now, releases)

    def free_at(self, time: float) -> int:
        """Return how many processors are free at ``time`` (seconds) if no further job starts."""
        releases = self.expected_releases()
        return self.free + sum(size for end, size, _, _ in releases if end <= time)

    def free_procset(self) -> ProcSet:
        """Return the free processors as a :class:`procset.ProcSet`."""
        return to_procset(self.free_processors)

    def set_available(self, processors: int, available: bool) -> None:
        """Put processors out of order, or back; running jobs are left alone."""
        if available:
            self.unavailable &= ~processors
        else:
            self.unavailable |= processors
        in_use = 0
        for job in self.releases():
            in_use |= job.processors
        everything = (1 << self.nb_processors) - 1
        self.free_processors = everything & ~self.unavailable & ~in_use
        self.free = self.free_processors.bit_count()

    def start(self, job: Job, now: float, processors: int | ProcSet | None = None) -> int:
        """Run ``job`` from ``now`` on ``processors``: a bitmask, a :class:`procset.ProcSet`, or
        None for the lowest free ones.

        Returns the processors as a bitmask. Raises :class:`InvariantError` for a job that is not
        waiting, for processors that are not free, and where their number is not the job's size.
        """
        if job.state is not JobState.WAITING:
            raise InvariantError(f"job {job.id} was started while {job.state.value}")
        free = self.free_processors
        if processors is None:
            if job.size > self.free:
                raise InvariantError(
                    f"job {job.id} needs {job.size} processors, {self.free} are free"
                )
            processors = lowest(free, job.size)
        else:
            processors = _bitmask(processors, job)
            if processors & ~free or processors.bit_count() != job.size:
                raise InvariantError(
                    f"job {job.id} of size {job.size} cannot start on processors "
                    f"{to_text(processors)!r}: free are {to_text(free)!r}"
                )
        self.free_processors = free & ~processors
        self.free -= job.size
        job.state = JobState.RUNNING
        job.start_time = now
        job.expected_end = now + job.estimate
        job.processors = processors
        insort(self._releases, (job.expected_end, job.size, job.number, job))
        return processors

    def end(self, job: Job) -> None:
        """Free the processors of ``job``, which runs; raises :class:`InvariantError` if not."""
        if job.state is not JobState.RUNNING:
            raise InvariantError(f"job {job.id} ended while {job.state.value}")
        job.state = JobState.ENDED
        self.nb_ended += 1
        freed = job.processors
        if self.unavailable:
            freed &= ~self.unavailable
        self.free_processors |= freed
        self.free += freed.bit_count() if self.unavailable else job.size
        del self._releases[
            bisect_left(self._releases, (job.expected_end, job.size, job.number, job))
        ]


def _bitmask(processors: int | ProcSet, job: Job) -> int:
    """Return the processors that a policy gave as a bitmask; raises :class:`InvariantError`."""
    if isinstance(processors, int):
        return processors
    try:
        return from_procset(processors)
    except AttributeError:
        raise InvariantError(
            f"job {job.id} was started on {processors!r}: expected a bitmask or a ProcSet"
        ) from None
