"""A grid site as a policy sees it: its free processors, and its jobs with their expected ends."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from batsched_py.errors import InvariantError
from batsched_py.model.job import Job
from batsched_py.processors.bits import make_pool, to_bits
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, to_procset, to_text
from batsched_py.workload.logs.clock import Clock

if TYPE_CHECKING:
    from procset import ProcSet


UNKNOWN = Clock()
"""The clock of a machine if nobody knows which moment second 0 is."""
Release = tuple[float, int, int, Job]
"""(expected end in seconds, processors released then, number of the job, job) of a running job."""


class Site:
    """A grid site: identical processors and the jobs that run on them, a machine or part of one."""

    __slots__ = (
        "_all",
        "_pool",
        "_releases",
        "_whole",
        "clock",
        "free",
        "name",
        "nb_ended",
        "nb_processors",
        "shared",
        "speed",
        "unavailable",
    )

    def __init__(
        self, processors: ProcessorSet, name: str = "", speed: float = 1.0, *, shared: bool = False
    ) -> None:
        self.name = name
        self.shared = shared
        """Whether jobs of other queues may start here too, so that reservations may break."""
        self.clock = UNKNOWN
        """The date, weekday and hour at each second."""
        self.speed = speed
        """Speed of its processors; run times and estimates are for speed 1."""
        self._all = processors
        self._whole, self._pool = make_pool(processors), make_pool(processors)
        """All processors, and the free ones."""
        self.nb_processors = self.free = len(processors)
        """Number of free processors."""
        self.nb_ended = 0
        """Number of jobs that ran here and ended."""
        self.unavailable = NO_PROCESSORS
        """Processors that are out of order; jobs that run there go on."""
        # (expected end, size, submission number, job): the number makes the keys unique, so that
        # a comparison never reaches the job.
        self._releases: list[Release] = []

    def releases(self) -> Iterator[Job]:
        """Give the running jobs by (expected end, size, submission order)."""
        return (release[3] for release in self._releases)

    def expected_releases(self) -> Sequence[Release]:
        """Return (expected end, processors released then, submission number, job) by running job.

        In ascending order; seconds, inf where an end is unknown. Processors that are out of order
        are not released.
        """
        if not self.unavailable.size:
            return self._releases
        usable = to_bits(self._all - self.unavailable)
        return [
            (end, (to_bits(job.processors) & usable).bit_count(), number, job)
            for end, _, number, job in self._releases
        ]

    @property
    def all_processors(self) -> ProcessorSet:
        """The processors of this site."""
        return self._all

    @property
    def nb_available(self) -> int:
        """Number of processors that are not out of order."""
        return self.nb_processors - len(self.unavailable)

    def free_at(self, time: float) -> int:
        """Return how many processors are free at ``time`` (seconds) if no further job starts."""
        releases = self.expected_releases()
        return self.free + sum(size for end, size, _, _ in releases if end <= time)

    @property
    def free_processors(self) -> ProcessorSet:
        """The processors of this site that are free now."""
        return self._pool.snapshot()

    def lowest_free(self, count: int) -> ProcessorSet:
        """Return the ``count`` lowest free processors, of at least ``count`` free ones."""
        return self._pool.lowest(count)

    def free_procset(self) -> ProcSet:
        """Return the free processors as a :class:`procset.ProcSet`."""
        return to_procset(self.free_processors)

    @property
    def sites(self) -> Sequence[Site]:
        """The grid sites that it consists of; a single site is its own only part."""
        return (self,)

    def share(self, processors: ProcessorSet) -> ProcessorSet:
        """Return the part of ``processors`` that belongs to this site."""
        return self._whole.intersect(processors)

    def set_available(self, processors: ProcessorSet, available: bool) -> None:
        """Make the site's ``processors`` unavailable, or available; running jobs are left alone."""
        if available:
            self.unavailable -= processors
        else:
            self.unavailable |= processors & self._all
        usable = self._all - self.unavailable
        self._pool = make_pool(usable)
        for job in self.releases():
            self._pool.take(job.processors & usable)
        self.free = len(self._pool)

    def occupy(self, job: Job, share: ProcessorSet) -> None:
        """Take ``share``, the processors here of a job that starts."""
        if not self._pool.take(share):
            raise InvariantError(f"processors {to_text(share)!r} are in use by two jobs")
        self._note(job, share.size)

    def _note(self, job: Job, size: int) -> None:
        """Take note of a job that runs on ``size`` processors that were taken from the pool."""
        self.free -= size
        insort(self._releases, (job.expected_end, size, job.number, job))

    def vacate(self, job: Job, freed: ProcessorSet) -> None:
        """Free the processors here of a job that has ended."""
        self.nb_ended += 1
        size = freed.size
        usable = freed - self.unavailable if self.unavailable.size else freed
        self._pool.give_back(usable)
        self.free += usable.size
        del self._releases[bisect_left(self._releases, (job.expected_end, size, job.number, job))]
