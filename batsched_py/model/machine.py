"""The machine as a policy sees it: what is free, what runs, when it should end."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from math import inf

from batsched_py.errors import InvariantError
from batsched_py.model.job import Job, JobState
from batsched_py.model.timeline import Timeline
from batsched_py.support.processor_sets import lowest, to_text


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

    def reservation(self, size: int, whole_instant: bool = False) -> tuple[float, int]:
        """Return shadow time and extra nodes for a waiting job that needs ``size`` processors.

        The walk over the running jobs, by (expected end, size, job), adds their processors to
        the free ones and stops at the *first* job that lets the waiting one fit. Its expected
        end is the shadow time; what is then free beyond ``size`` are the extra nodes, so a job
        that ends at the same instant but later in the walk does not count, unless
        ``whole_instant`` asks for it. The shadow time is infinite where the ends are
        not known; for sizes beyond the machine there are no extra nodes either.

        Source: Mu'alem and Feitelson 2001, section 2; in the definite form that the results of
        Madon et al. 2024 need.
        """
        available = self.free
        shadow_time, extra = inf, 0
        releases = self._releases if not self.unavailable else self._usable_releases()
        for expected_end, job_size, _, _ in releases:
            if expected_end > shadow_time:
                break
            available += job_size
            if available >= size:
                shadow_time, extra = expected_end, available - size
                if not whole_instant or expected_end == inf:  # unknown ends are no instant
                    break
        return shadow_time, extra

    @property
    def nb_available(self) -> int:
        """Number of processors that are not out of order."""
        return self.nb_processors - self.unavailable.bit_count()

    def timeline(self, now: float) -> Timeline:
        """Return the free processors from ``now`` on if no further job starts."""
        releases = self._releases if not self.unavailable else self._usable_releases()
        return Timeline.of_releases(self.free, now, ((end, size) for end, size, _, _ in releases))

    def free_at(self, time: float) -> int:
        """Return how many processors are free at ``time`` (seconds) if no further job starts."""
        releases = self._releases if not self.unavailable else self._usable_releases()
        return self.free + sum(size for end, size, _, _ in releases if end <= time)

    def _usable_releases(self) -> list[tuple[float, int, int, Job]]:
        """Return the releases with the number of processors that can be used again."""
        usable = ~self.unavailable
        return [
            (end, (job.processors & usable).bit_count(), number, job)
            for end, _, number, job in self._releases
        ]

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

    def start(self, job: Job, now: float, processors: int | None = None) -> int:
        """Run ``job`` from ``now`` on ``processors`` (default: the lowest free ones).

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
        elif processors & ~free or processors.bit_count() != job.size:
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
