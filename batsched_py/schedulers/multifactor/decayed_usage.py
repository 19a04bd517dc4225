"""The recent usage of each user: processor-seconds that fade with a half-life."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from math import exp, expm1, inf, log

import numpy as np

from batsched_py.model.job import Job
from batsched_py.model.queue.job_arrays import Floats


class DecayedUsage:
    """Processor-seconds used by numbered accounts; the older a second is, the less it counts.

    At time t a second at s counts 2^(-(t - s) / half_life), or 1 without a half-life (inf). With p
    processors in use, usage grows as dU/dt = p - U ln(2) / half_life, which has a closed form: so
    an account is stored as its usage at its last change, and the processors in use since then.

    Source: Slurm's page "Classic Fairshare Algorithm", section "Normalized Usage"; its sum over
    periods becomes an integral here, as if they were short.
    """

    def __init__(self, half_life: float = inf) -> None:
        self._rate = log(2) / half_life  # the part of the usage that fades per second
        self._usage, self._processors, self._since = array("d"), array("d"), array("d")

    def add_missing_accounts(self, nb_accounts: int) -> None:
        """Add accounts without usage until there are accounts ``0 .. nb_accounts - 1``."""
        more = nb_accounts - len(self._usage)
        if more > 0:
            for column in (self._usage, self._processors, self._since):
                column.extend([0.0] * more)

    def change_use(self, account: int, processors: int, now: float) -> None:
        """Change by ``processors`` (negative: fewer) how many an account uses from ``now`` on."""
        past, rate = now - self._since[account], self._rate
        in_use = self._processors[account]
        used = -expm1(-rate * past) / rate if rate else past
        self._usage[account] = self._usage[account] * exp(-rate * past) + in_use * used
        self._processors[account] = in_use + processors
        self._since[account] = now

    def at(self, now: float, nb_accounts: int) -> Floats:
        """Return the usage (processor-seconds) of the first accounts at ``now``: (nb_accounts,)."""
        self.add_missing_accounts(nb_accounts)
        usage = np.frombuffer(self._usage, count=nb_accounts)
        in_use = np.frombuffer(self._processors, count=nb_accounts)
        since = np.frombuffer(self._since, count=nb_accounts)
        if not self._rate:
            return usage + in_use * (now - since)
        faded = np.expm1(self._rate * (since - now))  # by which part, below 0
        return usage + (usage - in_use / self._rate) * faded


class UsageOfJobs:
    """The decayed usage of accounts, kept up to date as their jobs start and end.

    ``account`` returns the number, from 0 on, of the account of a job.
    """

    def __init__(self, half_life: float, account: Callable[[Job], int]) -> None:
        self.decayed = DecayedUsage(half_life)
        self._account = account

    def job_started(self, now: float, job: Job) -> None:
        """Charge a job to its account from ``now`` (seconds) on."""
        account = self._account(job)
        self.decayed.add_missing_accounts(account + 1)
        self.decayed.change_use(account, job.size, now)

    def job_ended(self, now: float, job: Job) -> None:
        """Stop charging a job that has ended ``now`` (seconds)."""
        self.decayed.change_use(self._account(job), -job.size, now)
