"""The lists that dynP plans: the waiting jobs in the order of each policy."""

from __future__ import annotations

from collections.abc import Iterator

from batsched_py.model.job import Job
from batsched_py.model.queue import WaitingQueue
from batsched_py.schedulers.dynp.order_switching import KEYS, POLICIES


class OrderedLists:
    """The waiting jobs in the order of each policy."""

    plans_anew = False
    """Whether the plan that is carried out is made once more after the decision."""

    def steps(self, waiting: list[Job], nb_new: int, ended: bool) -> list[list[Job]]:
        """Return the jobs that each self-tuning step of this instant plans: one step, if any.

        The last ``nb_new`` of ``waiting`` were submitted now; ``ended`` says that jobs ended.
        """
        return [waiting] if waiting and (nb_new or ended) else []

    def evaluation_order(self, old: str) -> tuple[str, ...]:
        """Return in which order the policies plan; it does not matter here."""
        return POLICIES

    def sorted(self, policy: str, queue: WaitingQueue, waiting: list[Job]) -> Iterator[Job]:
        """Return the jobs in the order of ``policy``."""
        return iter(queue.ranked(KEYS[policy]))


class LegacyList(OrderedLists):
    """One list for all policies, which FCFS leaves as SJF or LJF have sorted it.

    With it the thesis's numbers for half self-tuning come out, which no FCFS that sorts can
    give: what is carried out under FCFS follows the order in which the last evaluation left the
    list. There is a step at each submission, also at simultaneous ones, if two jobs wait then.
    """

    plans_anew = True

    def __init__(self) -> None:
        self._list: list[Job] = []

    def steps(self, waiting: list[Job], nb_new: int, ended: bool) -> list[list[Job]]:
        """Return what waits after the ends of this instant, and after each submission."""
        nb_old = len(waiting) - nb_new
        lengths = [*([nb_old] if ended else []), *range(nb_old + 1, len(waiting) + 1)]
        return [waiting[:length] for length in lengths if length > 1]

    def evaluation_order(self, old: str) -> tuple[str, ...]:
        """Return the old policy first: what it leaves is what the others begin with."""
        if old == "ljf":
            return ("ljf", "sjf", "fcfs")
        return (old, *(policy for policy in POLICIES if policy != old))

    def sorted(self, policy: str, queue: WaitingQueue, waiting: list[Job]) -> Iterator[Job]:
        """Return the one list, sorted for ``policy`` unless that is FCFS."""
        waiting_numbers = {job.number for job in waiting}
        listed = {job.number for job in self._list}
        self._list = [job for job in self._list if job.number in waiting_numbers]
        self._list += [job for job in waiting if job.number not in listed]
        if policy != "fcfs":  # Python's sort is stable, also in reverse
            self._list.sort(key=lambda job: job.estimate, reverse=policy == "ljf")
        return iter(self._list[:])
