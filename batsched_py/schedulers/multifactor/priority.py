"""Multifactor priorities: a weighted sum of factors such as age, size and fair share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import inf
from typing import Any

import msgspec
import numpy as np

from batsched_py.errors import UsageError
from batsched_py.model.job import Job
from batsched_py.model.queue.job_arrays import Floats, ValuesByNumber
from batsched_py.schedulers.multifactor.decayed_usage import DecayedUsage, UsageOfJobs
from batsched_py.schedulers.multifactor.fair_share_tree import FairShareTree
from batsched_py.support.json_values import is_number, quote
from batsched_py.units import DAY, MINUTE

MANY = 50
"""The number of keys from which they are computed as arrays."""
ACCOUNT, QOS = "group", "queue"
"""The fields of a job that name its account and its quality of service."""


class Weights(msgspec.Struct, frozen=True):
    """The weight of each factor of a priority. (Slurm's defaults are 0: submission order.)"""

    age: float = 1000.0
    fairshare: float = 10_000.0
    jobsize: float = 1000.0
    partition: float = 1000.0
    qos: float = 2000.0
    assoc: float = 0.0


class SizeFactor(msgspec.Struct, frozen=True):
    """The job size factor: the part of the machine that a job asks for, or 1 minus it.

    ``relative_to_time`` divides the size by the minutes of the estimate, at least one (Slurm's flag
    SMALL_RELATIVE_TO_TIME). ``favor_small`` takes 1 minus it.
    """

    favor_small: bool = False
    relative_to_time: bool = False

    def compute(self, job: Job, nb_processors: int) -> float:
        """Return the size factor of a job, 0 to 1."""
        part = job.size / max(1, nb_processors)
        if self.relative_to_time:
            part /= max(1.0, job.estimate / MINUTE)
        part = min(1.0, part)
        return 1.0 - part if self.favor_small else part


class Priority:
    """Computes the priorities of waiting jobs.

    ``weights.age * min(1, waited / max_age)`` plus the weighted fair-share, association, job size,
    partition and QOS factors, minus the field ``nice`` of a job. Fair-share factors are computed
    at most every ``calc_period`` seconds, and at once for a new user. ``qos`` are priorities by
    name, as a fraction of the highest; 0 for other names.

    Source: Slurm's page "Multifactor Priority Plugin". Its priorities are rounded to integers,
    these are not.
    """

    def __init__(
        self,
        weights: Weights,
        tree: FairShareTree,
        *,
        half_life: float,
        calc_period: float,
        max_age: float = 7 * DAY,
        size_factor: SizeFactor = SizeFactor(),  # noqa: B008 - it cannot change
        qos: Mapping[str, float] | None = None,
    ) -> None:
        self.weights, self._tree, self._size_factor = weights, tree, size_factor
        self._calc_period, self.max_age = calc_period, max_age
        self._by_second = weights.age / max_age
        highest = max((qos or {}).values(), default=0.0)
        self._qos = {name: value / highest for name, value in (qos or {}).items() if highest}
        self.usage = UsageOfJobs(half_life, self.user_of)
        self._users_of_names: dict[tuple[Any, str], int] = {}
        self._fixed = ValuesByNumber(0.0)
        """Of each job: the part of its priority that does not change while it waits."""
        self._user = ValuesByNumber(-1)
        """The number of its user in the tree, -1 if :meth:`add_jobs` has not seen the job."""
        self._by_user: Floats = np.zeros(0)
        self._nb_users = 0  # when it was refreshed last
        self._since: tuple[float, DecayedUsage] | None = None  # of then, if not computed yet
        self._next = inf  # when they may be computed anew
        self.nb_computed = 0
        """How often fair-share factors were computed."""

    def add_jobs(self, news: list[Job], nb_processors: int, partitions: Sequence[float]) -> None:
        """Store what the priorities of new jobs need; ``partitions`` are factors by partition."""
        for job in news:
            self._fixed[job.number] = self._fixed_part(job, nb_processors, partitions)
            self._user[job.number] = self._user_in_tree(job)

    def _fixed_part(self, job: Job, nb_processors: int, partitions: Sequence[float]) -> float:
        weights, extra = self.weights, job.extra
        fixed = weights.jobsize * self._size_factor.compute(job, nb_processors)
        fixed += weights.partition * partitions[job.partition]
        if not extra:
            return fixed
        if self._qos and QOS in extra:
            fixed += weights.qos * self._qos.get(str(extra[QOS]), 0.0)
        nice = extra.get("nice", 0)
        if not is_number(nice):
            raise UsageError(f"job {job.id}: nice is {quote(nice)}, expected a number")
        return fixed - nice

    def user_of(self, job: Job) -> int:
        """Return the number that the user of a job has in the tree."""
        user = int(self._user[job.number])
        return user if user >= 0 else self._user_in_tree(job)

    def _user_in_tree(self, job: Job) -> int:
        key = job.extra.get(ACCOUNT) if job.extra else None, job.user
        user = self._users_of_names.get(key)
        if user is None:
            account = None if key[0] is None else str(key[0])
            user = self._users_of_names[key] = self._tree.get_user_number(job.user, account)
        return user

    def refresh(self, now: float) -> None:
        """Let fair-share factors be those of ``now`` if ``calc_period`` is over or a user is new.

        They are computed only when they are needed.
        """
        nb_users = self._tree.nb_users
        if self._nb_users == nb_users and now < self._next:
            return
        self._nb_users = nb_users
        self._since = now, deepcopy(self.usage.decayed)
        if self.weights.fairshare:
            self._next = now + self._calc_period

    def compute_user_parts(self, now: float) -> Floats:
        """Return the part of a priority that depends on the user, by user, as of the last refresh.

        Until the next refresh it is the same array. If there are new users, it is that of ``now``.
        """
        if self._nb_users != self._tree.nb_users:
            return self._of_users(now, deepcopy(self.usage.decayed))
        if self._since is not None:
            self._by_user, self._since = self._of_users(*self._since), None
            self.nb_computed += self.weights.fairshare > 0
        return self._by_user

    def _of_users(self, now: float, usage: DecayedUsage) -> Floats:
        weights = self.weights
        by_user = np.zeros(self._tree.nb_users)
        if weights.assoc:
            by_user += weights.assoc * self._tree.priorities()
        if weights.fairshare:
            by_user += weights.fairshare * self._tree.compute_factors(usage.at(now, len(by_user)))
        return by_user

    def compute_keys(self, now: float, by_user: Floats, jobs: Sequence[Job]) -> list[float]:
        """Return the sort keys of jobs, larger first: priorities without a term that all share.

        ``by_user`` is :meth:`compute_user_parts`. Jobs that have not waited for ``max_age`` yet
        keep their keys while that is the same.
        """
        oldest = now - self.max_age
        if len(jobs) < MANY:
            fixed, user, by_second = self._fixed, self._user, self._by_second
            return [
                float(fixed[job.number] + by_user[user[job.number]])
                - by_second * max(job.submit_time, oldest)
                for job in jobs
            ]
        numbers = np.array([job.number for job in jobs])
        since = np.maximum(np.array([job.submit_time for job in jobs]), oldest)
        of_users = by_user[self._user[numbers]]
        keys = self._fixed[numbers] + of_users - self._by_second * since
        known: list[float] = keys.tolist()
        return known

    def compute(self, job: Job, now: float) -> float:
        """Return the priority of a waiting job at ``now``, with the fair share computed last."""
        age = min(1.0, (now - job.submit_time) / self.max_age)
        of_user = self.compute_user_parts(now)[self._user[job.number]]
        return float(self._fixed[job.number] + of_user + self.weights.age * age)
