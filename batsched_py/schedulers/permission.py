"""Lets a subclass of a policy hold jobs back: the method ``may_start``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from batsched_py.model.waiting_reason import WaitingReason

if TYPE_CHECKING:
    from collections.abc import Callable

    from batsched_py.model.job import Job
    from batsched_py.model.queue.orders import RankedJobs


class Permission:
    """The base class of policies whose subclasses may hold jobs back."""

    _holds_back: ClassVar[bool] = False
    """Whether the class overrides :meth:`may_start`; if not, it costs nothing."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._holds_back = cls.may_start is not Permission.may_start

    def may_start(self, now: float, job: Job) -> bool:
        """Return whether the waiting ``job`` may start at ``now`` (seconds).

        Override it to hold jobs back. The policy then acts as if such a job did not wait: others
        overtake it, and it has no reservation; only a :class:`ClockOrder` still sees it. The method
        is asked in each pass, also after each start, and must change nothing. A policy is called
        only at events: if the answer changes with time alone, yield a :class:`CallMeLater`.
        """
        return True

    def _permitted(self, now: float, ranked: RankedJobs) -> RankedJobs:
        """Return the waiting jobs that may start, in their order."""
        return PermittedJobs(ranked, partial(self.may_start, now)) if self._holds_back else ranked

    def _find_prohibition(self, now: float, job: Job) -> WaitingReason | None:
        """Return the reason why ``job`` waits if it may not start."""
        if self.may_start(now, job):
            return None
        return WaitingReason("limit", note=f"{type(self).__name__}.may_start does not allow it")


class PermittedJobs:
    """The waiting jobs of an order that may start, as of the moment when each is asked for."""

    def __init__(self, ranked: RankedJobs, may_start: Callable[[Job], bool]) -> None:
        self._ranked, self._may_start = ranked, may_start

    @property
    def head(self) -> Job | None:
        """The first job, None if no job may start."""
        return next(iter(self), None)

    def __iter__(self) -> Iterator[Job]:
        return filter(self._may_start, self._ranked)

    def first_to_backfill(self, now: float, free: int, horizon: float, extra: int) -> Job | None:
        """Return the first job that may be backfilled at ``now``, as in other orders."""
        first = self._ranked.first_to_backfill(now, free, horizon, extra)
        if first is None or self._may_start(first):
            return first
        for job in self:
            if job.size <= free and (job.size <= extra or now + job.estimate <= horizon):
                return job
        return None
