"""The interface of a policy: one method, and optional ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Protocol, runtime_checkable

from batsched_py.errors import PluginError
from batsched_py.model.decisions import Decision
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.workload.grid_sites import GridSites


class Scheduler(Protocol):
    """A policy: a function of the state of the system.

    The decision process calls :meth:`schedule` once per instant, after all job ends and
    submissions of that instant. Each decision is carried out when it is yielded, so that
    ``queue`` and ``machine`` are up to date when the generator goes on. The processors of a killed
    job are free in the next pass, which comes at the same instant.
    """

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Yield decisions for the instant ``now`` (seconds)."""


class InformedScheduler(Scheduler, Protocol):
    """A policy that learns what happens to jobs; each of these methods is optional.

    They are called in the order of events, before the pass of that instant. A subclass of a policy
    that has one of them must also call that of the policy, by ``super()``.

    Example: the processors that each user has now.

        >>> from collections import Counter
        >>> class Noting:
        ...     def __init__(self):
        ...         self.used = Counter()
        ...     def job_started(self, now, job):
        ...         self.used[job.user] += job.size
        ...     def job_ended(self, now, job):
        ...         self.used[job.user] -= job.size
    """

    def job_started(self, now: float, job: Job) -> None:
        """Learn that ``job`` starts at ``now`` (seconds), while :meth:`schedule` is at its yield.

        The job has its start and its processors. A start that a planned outage prevents is none.
        """

    def job_ended(self, now: float, job: Job) -> None:
        """Learn that ``job``, which ran, has ended or was killed; its processors are free.

        One whose processors were still woken has not run: its start is inf. It is killed or, if its
        state is ``WAITING``, waits again.
        """

    def job_withdrawn(self, now: float, job: Job) -> None:
        """Learn that the user has withdrawn ``job``, which waited; it has left the queue."""

    def job_hidden(self, now: float, job: Job) -> None:
        """Learn that starts leave no room for ``job`` within a limit of the machine file.

        It has left the queue; when there is room, it comes back as a new job does.
        """


@runtime_checkable
class ExplainingScheduler(Scheduler, Protocol):
    """A policy that explains why a job waits, for ``batsched-py explain``."""

    def held(
        self, job: Job, now: float, queue: WaitingQueue, machine: Machine
    ) -> WaitingReason | None:
        """Return the reason why ``job`` still waits after the pass at ``now``.

        It is called after a pass, with the queue and the machine that the pass has left, and must
        not change anything. None means that nothing is known.
        """


@runtime_checkable
class DilatingScheduler(Scheduler, Protocol):
    """A policy that may start jobs with a dilation or a transfer (fields of ``Start``)."""

    def dilates(self, sites: GridSites) -> bool:
        """Return whether the policy may start such jobs, with its options, on grid ``sites``.

        Batsim must then let jobs be registered.
        """


def may_dilate(scheduler: Scheduler, sites: GridSites) -> bool:
    """Return whether a policy may start jobs with a dilation or a transfer on such a machine."""
    if not isinstance(scheduler, DilatingScheduler):
        return False
    if not callable(scheduler.dilates):
        raise PluginError(
            f"{type(scheduler).__name__}.dilates is {scheduler.dilates!r}: expected a method that "
            "takes sites and returns whether jobs may run longer there"
        )
    return scheduler.dilates(sites)


def declares(
    scheduler: object,
    what: Literal["knows_partitions", "needs_estimates", "reads_reservations", "packs_nodes"],
) -> bool:
    """Return whether the class of a policy declares an attribute to be True.

    With ``knows_partitions``, one policy decides for all :attr:`Machine.partitions`, otherwise one
    for each. One that ``needs_estimates`` plans with the run time of each job, so that each must
    have an estimate. One that ``reads_reservations`` admits or rejects advance reservations. One
    that ``packs_nodes`` asks :meth:`Site.has_room` before each start, so that jobs can hold cores,
    GPUs and memory of nodes; for others one resource is counted.
    """
    return bool(getattr(scheduler, what, False))


@runtime_checkable
class CountingScheduler(Scheduler, Protocol):
    """A policy that counts what it does."""

    def statistics(self) -> Mapping[str, Any]:
        """Return the counters, once after the simulation.

        They are written to ``_run.json`` under ``statistics``, so JSON must be able to hold them.
        """


@runtime_checkable
class ObservedScheduler(Scheduler, Protocol):
    """A policy that reports its inner steps, such as the plans that dynP compares."""

    observer: Callable[[Any], None] | None
    """Called with each step of the policy; None (the default) must cost nothing.

    It must not change anything. An error that it raises ends the simulation."""
