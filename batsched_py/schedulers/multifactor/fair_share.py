"""EASY backfilling in which users with the least recent usage come first."""

from __future__ import annotations

from collections.abc import Iterator

from batsched_py.model.decisions import Decision, Start
from batsched_py.model.job import RUNNING
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.job_arrays import Floats, JobArrays
from batsched_py.model.queue.orders import ClockOrder
from batsched_py.model.site import Site
from batsched_py.options.durations import Duration
from batsched_py.schedulers.backfilling import Backfilling
from batsched_py.schedulers.easy import ExtraNodes, easy_reservation
from batsched_py.schedulers.multifactor.decayed_usage import UsageOfJobs
from batsched_py.schedulers.multifactor.settings import read_half_life


class FairShare(Backfilling):
    """EASY backfilling that serves the users with the least recent usage first.

    Usage is processor-seconds of past and running jobs, each weighted by 2^(-age / ``half_life``).
    Ties go to the job that was submitted first. Jobs of unknown users count as those of one user.

    Source: the usage of Slurm's page "Classic Fairshare Algorithm", with equal shares for all.

    Args:
        half_life: Time after which usage counts half; 0: usage never fades.
    """

    def __init__(
        self, *, half_life: Duration = "7 days", extra_nodes: ExtraNodes = "first"
    ) -> None:
        super().__init__(easy_reservation(extra_nodes), ClockOrder(self._priority))
        self._users: dict[str, int] = {}
        self._of_columns: list[int] = []  # of the queue's users
        self._usage = UsageOfJobs(read_half_life(half_life), lambda job: self._number_of(job.user))

    def _number_of(self, user: str) -> int:
        return self._users.setdefault(user, len(self._users))

    def _priority(self, now: float, columns: JobArrays) -> Floats:
        if len(self._of_columns) != columns.nb_users:
            self._of_columns = [self._number_of(user) for user in columns.users]
        return -self._usage.decayed.at(now, len(self._users))[self._of_columns][columns.user]

    def schedule(self, now: float, queue: WaitingQueue, machine: Site) -> Iterator[Decision]:
        """Update the usage of the users, and do a pass of EASY."""
        self._usage.take_ends_into_account(machine, now)
        for decision in super().schedule(now, queue, machine):
            yield decision
            # It does not run if outages leave too little.
            if isinstance(decision, Start) and decision.job.state is RUNNING:
                self._usage.charge(decision.job)
