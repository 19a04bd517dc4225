"""EASY backfilling in which users with the least recent usage come first."""

from __future__ import annotations

from batsched_py.model.job import Job
from batsched_py.model.queue.job_arrays import Floats, JobArrays
from batsched_py.model.queue.orders import ClockOrder
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

    packs_nodes = True

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

    def job_started(self, now: float, job: Job) -> None:
        """Charge a job to its user from now on."""
        self._usage.job_started(now, job)

    def job_ended(self, now: float, job: Job) -> None:
        """Charge a job no longer."""
        self._usage.job_ended(now, job)
