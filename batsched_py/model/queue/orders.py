"""Orders of the waiting queue: by a fixed key, or by a priority that changes with the clock.

:data:`ORDERS` names those that policies offer as an option. Ties go to the job that was
submitted first, everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import inf, log10, sqrt
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from msgspec import Meta

from batsched_py.errors import InvariantError, UsageError
from batsched_py.model.job import WAITING, Job
from batsched_py.model.queue.waiting_queue import Key, WaitingQueue, by_submission
from batsched_py.support.json_values import did_you_mean

if TYPE_CHECKING:
    from batsched_py.model.queue.job_arrays import Floats, JobArrays


class RankedJobs(Protocol):
    """The waiting jobs in some order, during one scheduling pass."""

    @property
    def head(self) -> Job | None:
        """The first job, None if no job waits."""

    def __iter__(self) -> Iterator[Job]:
        """Give the jobs in order."""

    def first_to_backfill(self, now: float, free: int, horizon: float, extra: int) -> Job | None:
        """Return the first job that may be backfilled at ``now`` (seconds), None if there is none.

        It fits into ``free`` processors, and ends by ``horizon`` or needs at most ``extra``.
        """


def find_place(ranked: Iterable[Job], job: Job) -> int:
    """Return the place of ``job`` among the waiting jobs in some order, 1 for the first."""
    for place, other in enumerate(ranked, 1):
        if other is job:
            return place
    raise InvariantError(f"job {job.id} does not wait")


class Order(Protocol):
    """An order of the waiting queue, such as shortest job first."""

    def at(self, now: float, queue: WaitingQueue) -> RankedJobs:
        """Return the waiting jobs in the order of the time ``now`` (seconds)."""


class FixedOrder:
    """Ascending order of a key, a function of a job that does not change while the job waits.

    Equals are in submission order. Example: shortest job first.

        >>> order = FixedOrder(lambda job: job.estimate)
    """

    def __init__(self, key: Key) -> None:
        self.key = key

    def at(self, now: float, queue: WaitingQueue) -> RankedJobs:
        """Return the waiting jobs by the key of this order."""
        return queue if self.key is by_submission else queue.ranked(self.key)


Priority = Callable[[float, "JobArrays"], "Floats"]
"""Priorities of all rows of :class:`JobArrays` at a time (seconds), larger first."""


class ClockOrder:
    """Descending order of a priority that depends on the clock, computed anew at each pass.

    ``priority`` is a function of the time (seconds) and the :class:`JobArrays` of the waiting jobs.
    It returns an array with a number for each row; larger ones are first, equals in submission
    order. A pass costs some nanoseconds per waiting job. Example: the longest waiting time for the
    size first.

        >>> order = ClockOrder(lambda now, jobs: (now - jobs.submit_time) / jobs.size)
    """

    def __init__(self, priority: Priority) -> None:
        self.priority = priority

    def at(self, now: float, queue: WaitingQueue) -> RankedJobs:
        """Return the waiting jobs by their priorities at ``now`` (seconds)."""
        if not queue:  # after most events: there are no priorities to compute
            return _NOBODY
        from batsched_py.model.queue.job_arrays import JobArrays

        columns = queue.view(JobArrays)
        return _AtClock(columns, self.priority(now, columns))


_NOBODY = WaitingQueue()


class _AtClock:
    """The waiting jobs by priorities that were computed for this pass."""

    def __init__(self, columns: JobArrays, priorities: Floats) -> None:
        import numpy as np

        self._columns = columns
        self._priorities = np.where(columns.waiting, priorities, -np.inf)
        self._candidates: Any = None

    @property
    def head(self) -> Job | None:
        from batsched_py.model.queue.job_arrays import GONE

        columns, priorities = self._columns, self._priorities
        if not len(columns):
            return None
        while True:  # argmax gives the first of equals, which was submitted first
            row = int(priorities.argmax())
            if columns.size[row] < GONE:
                return columns.jobs[row]
            if priorities[row] == -inf:
                return None
            priorities[row] = -inf  # it was started in this pass

    def __iter__(self) -> Iterator[Job]:
        import numpy as np

        waiting = self._columns.waiting
        for row in np.argsort(-self._priorities, kind="stable").tolist():
            job = self._columns.jobs[row]
            if waiting[row] and job.state is WAITING:
                yield job

    def first_to_backfill(self, now: float, free: int, horizon: float, extra: int) -> Job | None:
        """Return the first job that may be backfilled; one that failed in this pass still fails."""
        import numpy as np

        rows = self._candidates
        size, estimate = self._columns.size, self._columns.estimate
        if rows is not None:
            size, estimate = size[rows], estimate[rows]
        may = (size <= free) & ((size <= extra) | (now + estimate <= horizon))
        rows = self._candidates = np.flatnonzero(may) if rows is None else rows[may]
        if not len(rows):
            return None
        row = int(rows[self._priorities[rows].argmax()])
        return self._columns.jobs[row]


# Keys and priorities -------------------------------------------------------------------------

_SHORTEST = 1e-9
"""Seconds that an estimate counts at least where a time is divided by it."""


def _largest_smith_ratio(job: Job) -> float:
    area = job.size * job.estimate
    weight = job.extra.get("weight", 1.0)
    weight = weight if type(weight) is float or type(weight) is int else 1.0
    return -weight / area if area else -inf


def expansion_factor(least: float, now: float, columns: JobArrays) -> Floats:
    """Return (waited + estimate) / estimate of each row, with estimates of at least ``least`` s."""
    import numpy as np

    return 1 + (now - columns.submit_time) / np.maximum(columns.estimate, least)


def _wfp3(now: float, columns: JobArrays) -> Floats:
    """Return (waited / estimate)^3 x size (Tang, Lan, Desai and Buettner, IEEE CLUSTER 2009)."""
    import numpy as np

    ratio: Floats = (now - columns.submit_time) / np.maximum(columns.estimate, _SHORTEST)
    return ratio * ratio * ratio * columns.size


def _unicep(now: float, columns: JobArrays) -> Floats:
    """Return waited / (log2(size) x estimate) of each row.

    1e-15 is added to the wait and to the size, as in RLScheduler. So a job of one processor, whose
    log2 is 0, comes before wider jobs once it has waited. Source: as for ``wfp3``, named UNICEF.
    """
    import numpy as np

    area: Floats = np.log2(columns.size + 1e-15) * np.maximum(columns.estimate, _SHORTEST)
    return (now - columns.submit_time + 1e-15) / area


def _learned(value: Callable[[float, int], float], weight: float) -> FixedOrder:
    """Return the order by ``value(estimate, size) + weight x log10(submission time)``.

    Times are seconds on the clock of the simulation. In logarithms they are at least 0.1 s.
    Source: Carastan-Santos and de Camargo, "Obtaining dynamic scheduling policies with simulation
    and machine learning", SC 2017.
    """
    return FixedOrder(lambda job: value(job.estimate, job.size) + weight * _log10(job.submit_time))


def _log10(seconds: float) -> float:
    return log10(max(seconds, 0.1))


ORDERS: dict[str, Order] = {
    "fcfs": FixedOrder(by_submission),
    "lcfs": FixedOrder(lambda job: -job.number),
    "sjf": FixedOrder(lambda job: job.estimate),
    "ljf": FixedOrder(lambda job: -job.estimate),
    "narrowest": FixedOrder(lambda job: job.size),
    "widest": FixedOrder(lambda job: -job.size),
    "ffia": FixedOrder(lambda job: job.size * job.estimate),
    "largest_area": FixedOrder(lambda job: -job.size * job.estimate),
    "smith": FixedOrder(_largest_smith_ratio),
    "f1": _learned(lambda estimate, size: _log10(estimate) * size, 8.70e2),
    "f2": _learned(lambda estimate, size: sqrt(estimate) * size, 2.56e4),
    "f3": _learned(lambda estimate, size: estimate * size, 6.86e6),
    "f4": _learned(lambda estimate, size: estimate * sqrt(size), 5.30e5),
    "expansion_factor": ClockOrder(partial(expansion_factor, _SHORTEST)),
    "bounded_expansion_factor": ClockOrder(partial(expansion_factor, 10.0)),
    "wfp3": ClockOrder(_wfp3),
    "unicep": ClockOrder(_unicep),
}
"""Queue orders by name; estimates stand for run times."""

OrderName = Annotated[
    str,
    Meta(
        title="Order of the waiting jobs (ffia: smallest area first).",
        description=f"one of {', '.join(ORDERS)}",
    ),
]
"""The type of a policy's option ``order``, with its help."""
BackfillOrder = Annotated[
    str,
    Meta(
        title="Order of the jobs behind the first one (null: that of ``order``).",
        description="as for order",
    ),
]
FixedOrderName = Annotated[
    str,
    Meta(
        title="Order of the waiting jobs, which must not change with time.",
        description=f"one of {', '.join(n for n in ORDERS if isinstance(ORDERS[n], FixedOrder))}",
    ),
]
"""The same of policies whose order must not change with the clock."""

SAME_ORDERS = {
    "asc_walltime": "sjf",
    "desc_walltime": "ljf",
    "asc_size": "narrowest",
    "desc_size": "widest",
    "desc_slowdown": "expansion_factor",
    "desc_bounded_slowdown": "bounded_expansion_factor",
}
"""Our names of the orders by batsched's names (``fcfs`` and ``lcfs`` are the same)."""


def find_order(name: str | Order, option: str = "order") -> Order:
    """Return the order called ``name``, or the one given.

    Raises :class:`UsageError` that names the ``option``.
    """
    if hasattr(name, "at"):
        return name
    names = [*ORDERS, *SAME_ORDERS]
    order = ORDERS.get(SAME_ORDERS.get(name, name)) if isinstance(name, str) else None
    if order is None:
        hint = did_you_mean(str(name), names) if name != "area" else " (ffia: smallest area first)"
        raise UsageError(f"{option}={name}{hint}: expected one of {', '.join(names)}")
    return order


def find_two_orders(order: str | Order, backfill_order: str | Order | None) -> tuple[Order, Order]:
    """Return the orders of the queue and of the jobs behind its head (None: the same)."""
    first = find_order(order)
    return first, first if backfill_order is None else find_order(backfill_order, "backfill_order")


def find_fixed_key(name: str) -> Key:
    """Return the key of the fixed order ``name``; raises :class:`UsageError` for other orders."""
    order = find_order(name)
    if not isinstance(order, FixedOrder):
        raise UsageError(f"order={name}: expected an order that does not change with the clock")
    return order.key
