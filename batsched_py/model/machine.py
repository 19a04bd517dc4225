"""The machine as a policy sees it: what is free, what runs, when it should end."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from batsched_py.errors import InvariantError
from batsched_py.model.job import ENDED, RUNNING, WAITING, Job
from batsched_py.model.timeline import Timeline
from batsched_py.support.processor_bits import pool_of
from batsched_py.support.processor_pool import ProcessorPool
from batsched_py.support.processor_sets import (
    NO_PROCESSORS,
    ProcessorSet,
    from_procset,
    to_procset,
    to_text,
)
from batsched_py.workload.sites import SiteDescription

if TYPE_CHECKING:
    from procset import ProcSet


Release = tuple[float, int, int, Job]
"""Of a running job: its expected end (seconds), how many processors come back, its number, it."""


class Site:
    """Identical processors, and the jobs that run on them: a machine, or a part of one."""

    __slots__ = (
        "_all",
        "_pool",
        "_releases",
        "free",
        "name",
        "nb_processors",
        "speed",
        "unavailable",
    )

    def __init__(self, processors: ProcessorSet, name: str = "", speed: float = 1.0) -> None:
        self.name = name
        self.speed = speed
        """Of its processors, as a multiple of those that run times and estimates are for."""
        self._all = processors
        self._pool = pool_of(processors)
        """The free processors."""
        self.nb_processors = self.free = len(processors)
        """Number of free processors."""
        self.unavailable = NO_PROCESSORS
        """Processors that are out of order; jobs that run there go on."""
        # (expected end, size, submission number, job): the number makes the keys unique, so that
        # a comparison never reaches the job.
        self._releases: list[Release] = []

    def releases(self) -> Iterator[Job]:
        """Give the running jobs by (expected end, size, submission order)."""
        return (release[3] for release in self._releases)

    def expected_releases(self) -> Sequence[Release]:
        """Return (expected end, processors that come back then, submission number, job).

        Of the running jobs, in ascending order; seconds, inf where an end is not known. What is
        out of order does not come back.
        """
        if not self.unavailable.size:
            return self._releases
        return [
            (end, len((job.processors & self._all) - self.unavailable), number, job)
            for end, _, number, job in self._releases
        ]

    @property
    def nb_available(self) -> int:
        """Number of processors that are not out of order."""
        return self.nb_processors - len(self.unavailable)

    def timeline(self, now: float) -> Timeline:
        """Return the free processors from ``now`` on if no further job starts."""
        releases = ((end, size) for end, size, _, _ in self.expected_releases())
        return Timeline.of_releases(self.free, now, releases)

    def free_at(self, time: float) -> int:
        """Return how many processors are free at ``time`` (seconds) if no further job starts."""
        releases = self.expected_releases()
        return self.free + sum(size for end, size, _, _ in releases if end <= time)

    @property
    def free_processors(self) -> ProcessorSet:
        """The free processors of now."""
        return self._pool.snapshot()

    def free_procset(self) -> ProcSet:
        """Return the free processors as a :class:`procset.ProcSet`."""
        return to_procset(self.free_processors)

    @property
    def sites(self) -> Sequence[Site]:
        """The parts that it was described with; if with none, itself."""
        return (self,)

    def share(self, processors: ProcessorSet) -> ProcessorSet:
        """Return those of the ``processors`` that are here."""
        return processors & self._all

    def set_available(self, processors: ProcessorSet, available: bool) -> None:
        """Put those of the ``processors`` that are here out of order, or back.

        Running jobs are left alone.
        """
        if available:
            self.unavailable -= processors
        else:
            self.unavailable |= processors & self._all
        usable = self._all - self.unavailable
        self._pool = pool_of(usable)
        for job in self.releases():
            _take(self._pool, job.processors & usable)
        self.free = len(self._pool)

    def _note(self, job: Job, size: int) -> None:
        """Take note of a job that runs on ``size`` processors that were taken from the pool."""
        self.free -= size
        insort(self._releases, (job.expected_end, size, job.number, job))

    def _give_back(self, job: Job, freed: ProcessorSet) -> None:
        """Free the processors here of a job that ran."""
        size = freed.size
        usable = freed - self.unavailable if self.unavailable.size else freed
        self._pool.give_back(usable)
        self.free += usable.size
        del self._releases[bisect_left(self._releases, (job.expected_end, size, job.number, job))]


class Machine(Site):
    """Processors ``0 .. nb_processors - 1``, and the jobs that run on them.

    They may belong to ``sites``, which cover them all.
    """

    __slots__ = ("_parts", "nb_ended")

    def __init__(self, nb_processors: int, sites: Sequence[SiteDescription] = ()) -> None:
        super().__init__(ProcessorSet.interval(0, nb_processors))
        self._parts = tuple(Site(site.processors, site.name, site.speed) for site in sites)
        self.nb_ended = 0
        """Number of jobs that ran and ended."""

    @property
    def sites(self) -> Sequence[Site]:
        """The parts that it was described with; if with none, itself."""
        return self._parts or super().sites

    def set_available(self, processors: ProcessorSet, available: bool) -> None:
        """Put processors out of order, or back; running jobs are left alone."""
        super().set_available(processors, available)
        for site in self._parts:
            site.set_available(processors, available)

    def start(
        self,
        job: Job,
        now: float,
        processors: ProcessorSet | ProcSet | Iterable[int] | None = None,
        dilation: float = 1.0,
        transfer: float = 0.0,
    ) -> ProcessorSet:
        """Run ``job`` from ``now`` on ``processors``: a set, a :class:`procset.ProcSet`, numbers
        of processors, or None for the lowest free ones. For ``dilation`` and ``transfer``
        (seconds) see :class:`~batsched_py.model.decisions.Start`.

        Returns the processors. Raises :class:`InvariantError` for a job that is not
        waiting, for processors that are not free, and where their number is not the job's size.
        """
        if job.state is not WAITING:
            raise InvariantError(f"job {job.id} was started while {job.state.value}")
        dilated = dilation != 1 or bool(transfer)
        if dilated and not (0 < dilation < inf and 0 <= transfer < inf):
            raise InvariantError(
                f"job {job.id} was started with the dilation {dilation} and the transfer "
                f"{transfer}: expected a number above 0, and seconds of at least 0"
            )
        if processors is None:
            if job.size > self.free:
                raise InvariantError(
                    f"job {job.id} needs {job.size} processors, {self.free} are free"
                )
            taken = self._pool.take_lowest(job.size)
        else:
            taken = self._take_chosen(job, processors, any_number=dilated)
        if dilated:
            job.dilation, job.transfer = float(dilation), float(transfer)
            job.expected_end = now + job.lasts(dilation, transfer)
        else:
            job.expected_end = now + job.estimate
        job.state = RUNNING
        job.start_time = now
        job.processors = taken
        self._note(job, taken.size)
        for site in self._parts:
            if share := site.share(taken):
                _take(site._pool, share)
                site._note(job, share.size)
        return taken

    def _take_chosen(
        self, job: Job, processors: ProcessorSet | ProcSet | Iterable[int], any_number: bool
    ) -> ProcessorSet:
        """Take the processors that a policy gave; with ``any_number`` they are the job's size.

        Raises :class:`InvariantError`.
        """
        wanted = _processor_set(processors, job)
        if any_number:
            job.size = wanted.size or job.size
        if wanted.size != job.size or not self._pool.take(wanted):
            raise InvariantError(
                f"job {job.id} of size {job.size} cannot start on processors "
                f"{to_text(wanted)!r}: free are {to_text(self.free_processors)!r}"
            )
        return wanted

    def end(self, job: Job) -> None:
        """Free the processors of ``job``, which runs; raises :class:`InvariantError` if not."""
        if job.state is not RUNNING:
            raise InvariantError(f"job {job.id} ended while {job.state.value}")
        job.state = ENDED
        self.nb_ended += 1
        self._give_back(job, job.processors)
        for site in self._parts:
            if share := site.share(job.processors):
                site._give_back(job, share)


def _processor_set(processors: ProcSet | Iterable[int], job: Job) -> ProcessorSet:
    """Return the processors that a policy gave as a set; raises :class:`InvariantError`."""
    if isinstance(processors, ProcessorSet):
        return processors
    if hasattr(processors, "intervals"):
        return from_procset(processors)
    try:
        return ProcessorSet.of(processors)
    except (TypeError, ValueError):
        raise InvariantError(
            f"job {job.id} was started on {processors!r}: expected a ProcessorSet, a ProcSet, or "
            "numbers of processors such as [0, 1]"
        ) from None


def _take(pool: ProcessorPool, processors: ProcessorSet) -> None:
    if not pool.take(processors):
        raise InvariantError(f"processors {to_text(processors)!r} are in use by two jobs")
