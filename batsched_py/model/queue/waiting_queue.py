"""The waiting queue: jobs in submission order, and other orders of them kept up to date.

A policy needs the first job of an order, and the first that may be backfilled. Both must stay
cheap when tens of thousands wait: an order that does not depend on the clock is a
:class:`Ranking`, which finds either in logarithmic time. For one that does, the view
:class:`~batsched_py.model.queue.job_arrays.JobArrays` has the waiting jobs as numpy arrays, so that
a pass over all costs some nanoseconds a job.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import chain, islice, takewhile
from typing import Any, Protocol, TypeVar

from batsched_py.errors import InvariantError
from batsched_py.model.job import WAITING, Job
from batsched_py.model.queue.sorted_jobs import SortedJobs

V = TypeVar("V", bound="QueueView")
Key = Callable[[Job], Any]


MOST_RANKINGS = 16
MOST_FRESH = 32
"""More jobs than these are sorted by size for a search."""
_LEAST_ARRIVED = 64
_FIRST = 16
"""Jobs that a walk along the queue copies at first."""


def by_submission(job: Job) -> int:
    """Return the submission number of a job: the key of the queue's own order."""
    return job.number


def _still_waiting(jobs: Callable[[], Iterator[Job]]) -> Iterator[Job]:
    """Give the jobs in order, but those that have been started or rejected before their turn.

    Many a walk ends after few jobs: of the others twice as many are copied each time that it goes
    on.
    """
    last, most = -1, _FIRST
    while True:
        copied = list(islice(jobs(), most))
        for job in copied[bisect_right(copied, last, key=by_submission) :]:
            if job.state is WAITING:
                yield job
        if len(copied) < most:
            return
        last, most = copied[-1].number, 2 * most


class _BySize:
    """Jobs of each size in ascending order of a key, for a search.

    The ``fresh`` ones, the queue's latest, are only looked through: most are gone before they are
    too many for that.
    """

    __slots__ = ("_buckets", "_fresh", "_key", "_sizes")

    def __init__(self, key: Key, fresh: dict[int, Job]) -> None:
        self._key, self._fresh = key, fresh
        self._sizes: list[int] = []
        self._buckets: list[SortedJobs] = []

    def add(self, job: Job) -> None:
        at = bisect_left(self._sizes, job.size)
        if at == len(self._sizes) or self._sizes[at] != job.size:
            self._sizes.insert(at, job.size)
            self._buckets.insert(at, SortedJobs())
        self._buckets[at].add(self._key(job), job)

    def remove(self, job: Job) -> None:
        at = bisect_left(self._sizes, job.size)
        bucket = self._buckets[at]
        bucket.remove(self._key(job))
        if not bucket:
            del self._sizes[at], self._buckets[at]

    def first(self, now: float, free: int, horizon: float, extra: int) -> Job | None:
        best_key, best = None, None
        if self._sizes and self._sizes[0] <= free:
            best_key, best = self._first_sorted(now, free, horizon, extra)
        latest_last = self._key is by_submission
        if latest_last and best is not None:
            return best
        for job in self._fresh.values():
            if job.size <= free and (job.size <= extra or now + job.estimate <= horizon):
                if latest_last:
                    return job
                key = self._key(job)
                if best is None or key < best_key:
                    best_key, best = key, job
        return best

    def _first_sorted(
        self, now: float, free: int, horizon: float, extra: int
    ) -> tuple[Any, Job | None]:
        best_key, best = None, None
        at = 0
        buckets = self._buckets
        for size in self._sizes:
            if size > free:
                break
            bucket = buckets[at]
            at += 1
            if size <= extra:
                key, job = bucket.first()
            elif now + bucket.least_estimate <= horizon:
                key, job = bucket.first_ending(now, horizon)
            else:
                continue
            if best is None or key < best_key:
                best_key, best = key, job
        return best_key, best


class Ranking:
    """Waiting jobs in ascending order of a key, equals in submission order.

    The jobs of each size are sorted on their own: a search for a job to backfill looks at each
    size that fits, never at each job.
    """

    __slots__ = ("_by_size", "_key", "_queue", "_whole")

    def __init__(self, key: Key, queue: WaitingQueue) -> None:
        self._key: Key = lambda job: (key(job), job.number)
        self._queue = queue
        self._whole = SortedJobs()
        self._by_size: _BySize | None = None
        for job in queue:
            self.add(job)

    def __iter__(self) -> Iterator[Job]:
        """Give the waiting jobs; a policy may start or reject any of them meanwhile."""
        return iter(self._whole)

    @property
    def head(self) -> Job | None:
        """The first job, None if no job waits."""
        return self._whole.first()[1] if self._whole else None

    def add(self, job: Job) -> None:
        """Add a job; only the queue does this."""
        self._whole.add(self._key(job), job)

    def remove(self, job: Job) -> None:
        """Remove a job; only the queue does this."""
        self._whole.remove(self._key(job))

    def first_to_backfill(self, now: float, free: int, horizon: float, extra: int) -> Job | None:
        """Return the first job that may start ``now`` without delaying a reservation.

        That is a job which fits into ``free`` processors and either ends by ``horizon`` (seconds)
        or needs at most ``extra`` processors. None if there is none.
        """
        if self._by_size is None:
            self._by_size = self._queue.by_size(self._key)
        return self._by_size.first(now, free, horizon, extra)


class QueueView(Protocol):
    """The waiting jobs in another form, such as arrays, which the queue keeps up to date."""

    def __init__(self, queue: WaitingQueue) -> None:
        """Add the jobs that already wait."""

    def add(self, job: Job) -> None:
        """Add the newest job."""

    def insert(self, job: Job) -> None:
        """Add a job that was submitted before others that wait."""

    def remove(self, job: Job) -> None:
        """Remove a job that no longer waits."""


class WaitingQueue:
    """The waiting jobs in submission order.

    Only the scheduler adds and removes jobs. A policy reads :attr:`head`, length and iteration,
    :meth:`ranked` for another order, and :meth:`view` for another form of all jobs.
    """

    def __init__(self) -> None:
        self.head: Job | None = None
        """The job that waits longest, None if no job waits."""
        self._fresh: dict[int, Job] = {}
        """The latest jobs, not sorted by size yet: so few that its first one is found at once."""
        self._older: OrderedDict[int, Job] = OrderedDict()
        """All others."""
        self.nb_arrived = 0
        """Number of jobs that have arrived so far."""
        self._arrived: list[tuple[int, Job]] = []
        """Jobs with the number of their arrival: all waiting jobs, and some that have left."""
        self._most_arrived = _LEAST_ARRIVED
        """The length of that list at which the jobs that have left are removed."""
        self._newest = -1
        """The largest number of a job that has been here."""
        self._searched: list[_BySize] = []
        """The orders in which jobs are searched."""
        self._by_size: _BySize | None = None
        self._rankings: dict[Key, Ranking] = {}
        self._views: dict[type, QueueView] = {}

    def __len__(self) -> int:
        return len(self._older) + len(self._fresh)

    def __iter__(self) -> Iterator[Job]:
        """Give the waiting jobs; a policy may start or reject any of them meanwhile."""
        return _still_waiting(self._jobs)

    def _jobs(self) -> Iterator[Job]:
        return chain(self._older.values(), self._fresh.values())

    def since(self, nb_arrived: int) -> list[Job]:
        """Return the waiting jobs that arrived after the first ``nb_arrived``, in order of arrival.

        That is the order of submission, but for jobs that were held back.
        """
        arrived = self._arrived
        at = len(arrived)
        while at and arrived[at - 1][0] >= nb_arrived:
            at -= 1
        if at == len(arrived):
            return []
        fresh, older = self._fresh, self._older
        jobs = (job for _, job in arrived[at:] if job.number in fresh or job.number in older)
        return list(dict.fromkeys(jobs))  # some have come back

    def _take_note(self, job: Job) -> None:
        self._arrived.append((self.nb_arrived, job))
        self.nb_arrived += 1
        if len(self._arrived) > self._most_arrived:
            waiting = {**self._older, **self._fresh}
            self._arrived = [arrival for arrival in self._arrived if arrival[1].number in waiting]
            self._most_arrived = _LEAST_ARRIVED + 2 * len(waiting)

    def view(self, kind: type[V]) -> V:
        """Return the waiting jobs in another form, kept up to date from the first use on."""
        view = self._views.get(kind)
        if view is None:
            view = self._views[kind] = kind(self)
        return view  # type: ignore[return-value]

    def ranked(self, key: Key = by_submission) -> Ranking | WaitingQueue:
        """Return the jobs in ascending order of ``key``, kept up to date from the first use on.

        Equals stay in submission order. ``key`` is a function of a job whose value does not
        change while the job waits; give the same function object at each pass, not a new lambda.
        Raises :class:`InvariantError` for too many different keys.
        """
        if key is by_submission:
            return self
        ranking = self._rankings.get(key)
        if ranking is None:
            if len(self._rankings) >= MOST_RANKINGS:
                raise InvariantError(
                    f"the policy asked for more than {MOST_RANKINGS} orders of the queue: keep one "
                    "key function, rather than a new lambda at each pass"
                )
            ranking = self._rankings[key] = Ranking(key, self)
        return ranking

    def first_to_backfill(self, now: float, free: int, horizon: float, extra: int) -> Job | None:
        """Return the first job that may start ``now``; see :meth:`Ranking.first_to_backfill`."""
        if self._by_size is None:
            self._by_size = self.by_size(by_submission)
        return self._by_size.first(now, free, horizon, extra)

    def by_size(self, key: Key) -> _BySize:
        """Return an index of the jobs by size and ``key``, whose values must differ, for searches.

        Only rankings use it.
        """
        by_size = _BySize(key, self._fresh)
        for job in self._older.values():
            by_size.add(job)
        self._searched.append(by_size)
        return by_size

    def _sort_fresh(self) -> None:
        for by_size in self._searched:
            for job in self._fresh.values():
                by_size.add(job)
        self._older.update(self._fresh)
        self._fresh.clear()

    def append(self, job: Job) -> None:
        """Add the newest job (its submission number is the largest)."""
        if self.head is None:
            self.head = job
        self._newest = job.number
        self._fresh[job.number] = job
        if len(self._fresh) > MOST_FRESH:
            self._sort_fresh()
        for ranking in self._rankings.values():
            ranking.add(job)
        for view in self._views.values():
            view.add(job)
        self._take_note(job)

    def insert(self, job: Job) -> None:
        """Add a job at its place in submission order, which need not be the last.

        It may have been here and left. Takes time for each job that waits.
        """
        self._newest = max(self._newest, job.number)
        self._sort_fresh()
        older = self._older
        later = list(takewhile(lambda number: number > job.number, reversed(older)))
        older[job.number] = job
        for number in reversed(later):
            older.move_to_end(number)
        self.head = next(iter(older.values()))
        for by_size in self._searched:
            by_size.add(job)
        for ranking in self._rankings.values():
            ranking.add(job)
        for view in self._views.values():
            view.insert(job)
        self._arrived = [arrival for arrival in self._arrived if arrival[1] is not job]
        self._take_note(job)

    def add(self, job: Job) -> None:
        """Add a job that is the newest, or that has come back."""
        (self.append if job.number > self._newest else self.insert)(job)

    def __contains__(self, job: Job) -> bool:
        """Return whether ``job`` waits here."""
        return job.number in self._fresh or job.number in self._older

    def discard(self, job: Job) -> None:
        """Remove ``job`` if it waits here."""
        if job in self:
            self.remove(job)

    def remove(self, job: Job) -> None:
        """Remove ``job``; raises :class:`ValueError` if it does not wait here."""
        if self._fresh.pop(job.number, None) is None:
            if self._older.pop(job.number, None) is None:
                raise ValueError(f"job {job.id} does not wait")
            for by_size in self._searched:
                by_size.remove(job)
        if job is self.head:
            self.head = next(iter(self._older.values() or self._fresh.values()), None)
        for ranking in self._rankings.values():
            ranking.remove(job)
        for view in self._views.values():
            view.remove(job)
