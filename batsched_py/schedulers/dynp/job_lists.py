"""The lists of jobs that dynP plans: the waiting jobs in the order of each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batsched_py.model.job import Job
from batsched_py.model.queue import WaitingQueue
from batsched_py.schedulers.dynp.order_switching import KEYS, POLICIES
from batsched_py.schedulers.planning.planner import Planner

if TYPE_CHECKING:
    from batsched_py.model.queue.job_arrays import JobRows


class OrderedLists:
    """Sorts the waiting jobs anew in the order of each policy, for the plans of dynP."""

    plans_anew = False
    """Whether the plan that is carried out is made once more after the decision."""

    def count_jobs_of_steps(self, nb_waiting: int, nb_new: int, changed: bool) -> list[int]:
        """Return the number of jobs that each self-tuning step of this instant plans.

        There is one step, or none. The last ``nb_new`` jobs were submitted now; ``changed`` says
        that jobs ended before, or have started since the last step.
        """
        return [nb_waiting] if nb_waiting and (nb_new or changed) else []

    def order_policies(self, old: str) -> tuple[str, ...]:
        """Return the policies in the order in which they plan; it does not matter here."""
        return POLICIES

    def sort_jobs(
        self, policy: str, planner: Planner, queue: WaitingQueue, nb_planned: int
    ) -> list[Job] | JobRows:
        """Return the first ``nb_planned`` waiting jobs, sorted in the order of ``policy``."""
        return planner.sort_jobs(queue, KEYS[policy])


class LegacyList(OrderedLists):
    """One list for all policies, which SJF and LJF sort and FCFS leaves in their order.

    It reproduces the thesis's numbers for half self-tuning, which no FCFS that sorts can give:
    under FCFS jobs start in the order in which the last evaluation left the list. There is a step
    at each submission, also at simultaneous ones, if two jobs wait then.
    """

    plans_anew = True

    def __init__(self) -> None:
        self._list: list[Job] = []

    def count_jobs_of_steps(self, nb_waiting: int, nb_new: int, changed: bool) -> list[int]:
        """Return the number of waiting jobs after the ends or starts, and after each submission."""
        nb_old = nb_waiting - nb_new
        lengths = [*([nb_old] if changed else []), *range(nb_old + 1, nb_waiting + 1)]
        return [length for length in lengths if length > 1]

    def order_policies(self, old: str) -> tuple[str, ...]:
        """Return the policies to evaluate, the active one first, since it changes the lists."""
        if old == "ljf":
            return ("ljf", "sjf", "fcfs")
        return (old, *(policy for policy in POLICIES if policy != old))

    def sort_jobs(
        self, policy: str, planner: Planner, queue: WaitingQueue, nb_planned: int
    ) -> list[Job] | JobRows:
        """Return the one list, sorted for ``policy`` unless that is FCFS."""
        waiting = planner.find_movable(queue)[:nb_planned]
        waiting_numbers = {job.number for job in waiting}
        listed = {job.number for job in self._list}
        self._list = [job for job in self._list if job.number in waiting_numbers]
        self._list += [job for job in waiting if job.number not in listed]
        if policy != "fcfs":  # Python's sort is stable, also in reverse
            self._list.sort(key=lambda job: job.estimate, reverse=policy == "ljf")
        return self._list[:]
