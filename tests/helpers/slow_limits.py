"""Limits by the definition: which waiting jobs have room is found anew each time, from all jobs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from batsched_py.model.job import WAITING, Job
from batsched_py.workload.machine_description import MachineDescription

Budget = tuple[Any, ...]


class SlowLimits:
    """In place of ``JobLimits``; for limits without ``partition:``, of GPUs, cores and jobs."""

    changed = True

    def __init__(self, described: MachineDescription) -> None:
        self._limits = described.limits
        self._waiting: dict[int, Job] = {}
        self._running: dict[int, Job] = {}
        self._shown: set[int] = set()

    def _budgets(self, job: Job) -> Iterator[tuple[Budget, int, int]]:
        """Yield each budget of a job, its size and what the job needs of it."""
        fields = {"qos": "queue", "account": "group"}
        for at, limit in enumerate(self._limits):
            kind, _, name = limit.of.partition(":")
            value = job.user if kind == "user" else job.extra.get(fields.get(kind, ""))
            if kind and str(value) != name:
                continue
            owner = {"all": None, "user": job.user, "account": job.extra.get("group")}[limit.per]
            needs = {"gpus": job.extra.get("gpus", 0), "cpus": job.size, "jobs": 1}
            for resource, most in limit.most.items():
                if needs[resource]:
                    yield (at, owner, resource), most, needs[resource]

    def _find_shown(self) -> set[int]:
        used: Counter[Budget] = Counter()
        for job in self._running.values():
            for budget, _, need in self._budgets(job):
                used[budget] += need
        shown, closed = set(), set()
        in_line: dict[Any, Counter[Budget]] = defaultdict(Counter)
        for number, job in sorted(self._waiting.items()):
            budgets = [*self._budgets(job)]
            if not budgets:
                shown.add(number)
                continue
            names = tuple(budget for budget, *_ in budgets)
            line = (
                job.partition,
                names,
                job.size,
                job.extra.get("gpus"),
                job.extra.get("memory_mib"),
            )
            first = in_line[line]
            fits = all(
                used[budget] + first[budget] + need <= most for budget, most, need in budgets
            )
            if line in closed or not fits:
                closed.add(line)
                continue
            shown.add(number)
            first.update({budget: need for budget, _, need in budgets})
        return shown

    def shows(self, job: Job) -> bool:
        return job.number in self._shown

    def explain(self, job: Job) -> str | None:
        return None if self.shows(job) else "a limit"

    def add(self, job: Job) -> None:
        self._waiting[job.number] = job
        self._shown |= self._find_shown() & {job.number}

    def remove(self, job: Job) -> None:
        self._waiting.pop(job.number, None)
        self._shown.discard(job.number)

    def start(self, job: Job) -> list[Job]:
        self.remove(job)
        self._running[job.number] = job
        hidden = self._shown - self._find_shown()
        self._shown -= hidden
        return [self._waiting[number] for number in sorted(hidden)]

    def end(self, job: Job) -> None:
        del self._running[job.number]
        if job.state is WAITING:
            self.add(job)

    def show_more(self) -> list[Job]:
        more = self._find_shown() - self._shown
        self._shown |= more
        return [self._waiting[number] for number in sorted(more)]
