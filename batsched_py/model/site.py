"""A grid site as a policy sees it: its free processors, and its jobs with their expected ends."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING

from batsched_py.errors import InvariantError
from batsched_py.model.job import Job
from batsched_py.processors.bits import make_pool, to_bits
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, to_procset, to_text
from batsched_py.workload.logs.clock import Clock

if TYPE_CHECKING:
    from procset import ProcSet

    from batsched_py.model.nodes import NodeRoom
    from batsched_py.model.sleepers import Sleepers, Times

UNKNOWN = Clock()
"""The clock of a machine if nobody knows which moment second 0 is."""
Release = tuple[float, int, int, Job]
"""(expected end in seconds, processors released then, number of the job, job) of a running job."""
Coming = tuple[float, int, int, Job | None]
"""A release, or free processors that are not on yet, which have no job: a number of -1."""
BY_TIME = itemgetter(0, 1, 2)
"""The key that sorts them."""


class Site:
    """A grid site: identical processors and the jobs that run on them, a machine or part of one."""

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
        """Number of free processors, those that sleep or are being switched included."""
        self.sleepers: Sleepers | None = None
        """The sleeping processors of the machine; None if none can sleep."""
        self.nodes: NodeRoom | None = None
        """What jobs can hold of the nodes, if that is more than their processors."""
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
        """Return how many processors are free at ``time`` (seconds) if no further job starts.

        Those that sleep are free when they are ready, if they are woken now.
        """
        late = sum(some.size for ready, some in self.waking_times() if ready > time)
        released = sum(each[1] for each in self.expected_releases() if each[0] <= time)
        return self.free - late + released

    @property
    def free_processors(self) -> ProcessorSet:
        """The processors of this site that are free now."""
        return self._pool.snapshot()

    @property
    def idle(self) -> ProcessorSet:
        """The free processors that are on and are not being switched."""
        free = self._pool.snapshot()
        return free - self.sleepers.away if self.sleepers is not None else free

    @property
    def nb_idle(self) -> int:
        """Number of free processors that are on and are not being switched."""
        away = NO_PROCESSORS if self.sleepers is None else self.sleepers.away
        return self.free - self._pool.intersect(away).size

    def waking_times(self) -> Times:
        """Return when the free processors that are not on would be ready, ascending."""
        if self.sleepers is None or not self.sleepers.away.size:
            return []
        times = ((time, self._pool.intersect(some)) for time, some in self.sleepers.times())
        return [each for each in times if each[1].size]

    def ready_times(self) -> Times:
        """Return when the free processors can begin a job, ascending (seconds).

        Those that are on come first, at the present time, -inf if no processor can sleep.
        """
        times = self.waking_times()
        ready = self._pool.snapshot()
        for _, some in times:
            ready -= some
        now = -inf if self.sleepers is None else self.sleepers.now
        return [(now, ready), *times] if ready else times

    def begins(self, size: int) -> float:
        """Return when a job of ``size`` would begin if it were started now (seconds).

        This is when the last of its processors is awake: the present time, or -inf if no processor
        can sleep. inf if fewer are free.
        """
        left = self.free
        if size > left:
            return inf
        for time, some in reversed(self.waking_times()):
            left -= some.size
            if size > left:
                return time
        return -inf if self.sleepers is None else self.sleepers.now

    def outlook(self) -> tuple[int, Sequence[Coming]]:
        """Return how many processors are free and on, and when others will be.

        The latter is as :meth:`expected_releases` returns it. Free processors that are not on are
        in it too, without a job: each is there when it is ready, if it is woken now.
        """
        releases = self.expected_releases()
        if self.sleepers is None or not (times := self.waking_times()):
            return self.free, releases
        waking = [(time, some.size, -1, None) for time, some in times]
        free = self.free - sum(size for _, size, _, _ in waking)
        return free, sorted([*releases, *waking], key=BY_TIME)

    def choose_free(self, count: int, among: ProcessorSet | None = None) -> ProcessorSet:
        """Return the ``count`` free processors that are ready first, of equals the lowest.

        Only those ``among`` some free ones if given. At least as many must be there.
        """
        if not self.waking_times():
            return self._pool.lowest(count) if among is None else among.lowest(count)
        chosen = NO_PROCESSORS
        for _, some in self.ready_times():
            part = some if among is None else some & among
            chosen |= part.lowest(min(part.size, count - chosen.size))
        return chosen

    def has_room(self, job: Job) -> bool:
        """Return whether ``job`` can start now."""
        return job.size <= self.free and (self.nodes is None or self.nodes.find(job))

    def choose_for(self, job: Job, among: ProcessorSet | None = None) -> ProcessorSet:
        """Return free processors for ``job``, as :meth:`choose_free` does, of nodes with room.

        They are none if no nodes have room.
        """
        if self.nodes is None:
            return self.choose_free(job.size, among)
        return self.nodes.choose(job, self.free_processors, among)

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

    def nodes_of(self, processors: ProcessorSet) -> ProcessorSet:
        """Return ``processors`` with the rest of their nodes, if jobs take whole nodes here."""
        return processors

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

    def postpone(self, job: Job, end: float) -> None:
        """Expect the end of ``job``, which is here, at another time (seconds)."""
        self._releases = sorted(
            (end, *release[1:]) if release[3] is job else release for release in self._releases
        )

    def vacate(self, job: Job, freed: ProcessorSet) -> None:
        """Free the processors here of a job that has ended."""
        self.nb_ended += 1
        size = freed.size
        usable = freed - self.unavailable if self.unavailable.size else freed
        self._pool.give_back(usable)
        self.free += usable.size
        del self._releases[bisect_left(self._releases, (job.expected_end, size, job.number, job))]
