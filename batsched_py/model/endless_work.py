"""Budgets that end endless work: messages without progress, decisions and submissions."""

from __future__ import annotations

import sys
from itertools import islice
from math import inf
from typing import Any

from batsched_py.errors import BudgetError
from batsched_py.model.policy import Scheduler
from batsched_py.model.user_model import UserModel, Withdraw, take_submissions
from batsched_py.options.budgets import Budgets, make_budget_error
from batsched_py.workload.workload import WorkloadJob

_FEW = 100
"""Messages without progress that never count as too long, since a log may have long gaps."""

_ONLY_JOBS = frozenset([WorkloadJob])


class ProgressWatch:
    """Ends a simulation in which many messages change nothing; ``policy`` may be its name."""

    def __init__(self, budgets: Budgets, policy: Scheduler | str) -> None:
        self._budgets = budgets
        self._policy = policy if isinstance(policy, str) else type(policy).__name__
        self._state: tuple[object, ...] = ()
        self._nb_idle = 0
        self._idle_since = 0.0
        self.policy_called = False
        """Whether the policy has asked for a call since anything changed."""

    def count_message(self, now: float, tag: str, state: tuple[object, ...]) -> None:
        """Count a message if ``state`` is the same as before it; otherwise count anew.

        ``state`` ends with the numbers of jobs that wait and run, ``tag`` is the last event's name.
        Raises :class:`BudgetError` for too many such messages, or for too long a time of them.
        """
        if state != self._state:
            self._state, self._nb_idle, self._idle_since = state, 0, now
            self.policy_called = False
            return
        self._nb_idle += 1
        budgets, idle_time = self._budgets, now - self._idle_since
        if self._nb_idle > budgets.messages:
            name, most = "messages", budgets.messages
        elif idle_time > budgets.idle_time and self._nb_idle > _FEW:
            name, most = "idle_time", budgets.idle_time
        else:
            return
        who = f"; {self._policy} asked to be called" if self.policy_called else ""
        *_, nb_waiting, nb_running = state
        raise make_budget_error(
            name,
            most,
            now,
            f"{self._nb_idle} messages in {idle_time:g} s, the latest {tag}, have changed nothing "
            f"({nb_waiting} jobs wait, {nb_running} run{who})",
        )

    def make_decisions_error(self, now: float) -> BudgetError:
        """Return the error for more calls and kills than the budget allows."""
        most = self._budgets.decisions
        return make_budget_error(
            "decisions",
            most,
            now,
            f"{self._policy} asked for more than {most:.15g} calls and kills in one pass, or has "
            "as many calls outstanding",
        )


class SubmissionWatch:
    """Takes the jobs that users submit, and ends a simulation in which they are too many.

    ``nb_recorded`` is the number of jobs that they may submit before the budget ``jobs`` counts.
    """

    def __init__(self, budgets: Budgets, nb_recorded: int = 0) -> None:
        self._budgets = budgets
        self._nb_recorded = nb_recorded
        self._most = _whole(nb_recorded + budgets.jobs)
        self._most_at_once = _whole(budgets.jobs_at_once)
        self._nb_jobs = 0
        """Jobs submitted so far."""
        self._nb_at_once = 0
        """Submissions and withdrawals at the latest instant."""
        self._instant = -inf
        self.withdrawals: list[Withdraw] = []
        """What users withdrew when they were last asked; empty it once that is carried out."""

    def jobs_due(self, users: UserModel, now: float) -> list[WorkloadJob]:
        """Return the jobs that are due, note :attr:`withdrawals`, and check the budgets.

        Raises :class:`InvariantError` as :func:`take_submissions` does, and :class:`BudgetError`
        for too many jobs, of which it takes one more than allowed unless they are a list.
        """
        if now > self._instant:
            self._instant, self._nb_at_once = now, 0
        given: Any = users.jobs_to_submit(now)
        jobs: list[WorkloadJob]
        if type(given) is list and given and _ONLY_JOBS.issuperset(map(type, given)):  # mostly
            jobs = given.copy()  # the model may change its own list when a job is refused
        else:
            jobs = []
            room = self._most - self._nb_jobs
            acts = take_submissions(users, now, self._nb_at_once, jobs=given)
            for act in islice(acts, self._most_at_once - self._nb_at_once + 1):  # may be endless
                if isinstance(act, Withdraw):
                    self.withdrawals.append(act)
                else:
                    jobs.append(act)
                    if len(jobs) > room:
                        break
        self._nb_jobs += len(jobs)
        self._nb_at_once += len(jobs) + len(self.withdrawals)
        if self._nb_jobs > self._most or self._nb_at_once > self._most_at_once:
            raise self._too_many(type(users).__name__, now)
        return jobs

    def _too_many(self, model: str, now: float) -> BudgetError:
        budgets, at_once = self._budgets, self._nb_at_once
        if at_once > self._most_at_once:
            seen = f"{model} has submitted or withdrawn {at_once} jobs at this instant"
            return make_budget_error("jobs_at_once", budgets.jobs_at_once, now, seen)
        recorded = f", and {self._nb_recorded} were recorded" if self._nb_recorded else ""
        seen = f"{model} has submitted {self._nb_jobs} jobs{recorded}"
        return make_budget_error("jobs", budgets.jobs, now, seen)


def _whole(budget: float) -> int:
    """Return a budget as a number that can be counted down."""
    return int(min(budget, sys.maxsize - 1))
