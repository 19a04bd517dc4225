"""Which waiting jobs have room within the limits of partitions, users, accounts and QOS."""

from __future__ import annotations

from bisect import bisect_left
from itertools import count
from typing import Any

from batsched_py.model.job import WAITING, Job
from batsched_py.model.queue.waiting_queue import by_submission
from batsched_py.workload.machine_description import (
    Limit,
    MachineDescription,
    Partition,
    Resource,
)


class _Budget:
    """What running jobs use of a limit, such as the GPUs of one user, and the lines that wait."""

    __slots__ = ("limit", "lines", "most", "resource", "used")

    def __init__(self, limit: Limit, resource: Resource) -> None:
        self.limit, self.resource, self.most = limit, resource, limit.most[resource]
        self.used = 0
        self.lines: dict[_Line, None] = {}


class _Line:
    """Waiting jobs with the same budgets, in submission order: the first ones are shown.

    These are as many as fit into each budget together, beside the running jobs.
    """

    __slots__ = ("_needs", "_used", "budgets", "jobs", "key", "nb_shown", "partition", "place")

    def __init__(
        self, key: Any, budgets: list[_Budget], partition: Partition, needs: list[int] | None
    ) -> None:
        self.key, self.budgets, self.partition = key, budgets, partition
        self._needs = needs
        """What each job needs of each budget; None: they differ, and jobs wait in order."""
        self.jobs: list[Job] = []
        self.nb_shown = 0
        self._used = [0] * len(budgets)
        """What the shown jobs need of each budget."""
        self.place = 0
        """The place in the order in which lines show more jobs, those in which jobs wait in order
        behind the others."""

    @property
    def is_hiding(self) -> bool:
        return self.nb_shown < len(self.jobs)

    def shows(self, job: Job) -> bool:
        return self.nb_shown > 0 and job.number <= self.jobs[self.nb_shown - 1].number

    @property
    def is_in_order(self) -> bool:
        return self._needs is None

    def find_needs(self, job: Job) -> list[int]:
        count, budgets = self.partition.count, self.budgets
        return self._needs or [count(budget.resource, job) or 0 for budget in budgets]

    def find_obstacle(self, job: Job | None = None) -> _Budget | None:
        """Return a budget without room for the shown jobs and a further one; None if all have."""
        needs = [0] * len(self.budgets) if job is None else self.find_needs(job)
        for budget, used, need in zip(self.budgets, self._used, needs, strict=True):
            if budget.used + used + need > budget.most:
                return budget
        return None

    def _show(self, job: Job, sign: int = 1) -> None:
        needs = self.find_needs(job)
        self._used = [used + sign * need for used, need in zip(self._used, needs, strict=True)]
        self.nb_shown += sign

    def add(self, job: Job) -> None:
        at = bisect_left(self.jobs, job.number, key=by_submission)
        self.jobs.insert(at, job)
        if at < self.nb_shown or (at == self.nb_shown and self.find_obstacle(job) is None):
            self._show(job)

    def remove(self, job: Job) -> None:
        if self.shows(job):
            self._show(job, -1)
        del self.jobs[bisect_left(self.jobs, job.number, key=by_submission)]

    def show_more(self) -> list[Job]:
        begin = self.nb_shown
        while self.is_hiding and self.find_obstacle(job := self.jobs[self.nb_shown]) is None:
            self._show(job)
        return self.jobs[begin : self.nb_shown]

    def hide_some(self) -> list[Job]:
        end = self.nb_shown
        while self.nb_shown and self.find_obstacle() is not None:
            self._show(self.jobs[self.nb_shown - 1], -1)
        return self.jobs[self.nb_shown : end]


class JobLimits:
    """Shows waiting jobs as far as the limits of a machine allow, given what runs.

    Jobs are in lines. A line has the jobs with the same budgets, and with the same needs unless
    these budgets let jobs wait in order. Of each line, the first jobs that fit are shown.
    """

    def __init__(self, described: MachineDescription) -> None:
        self._partitions = described.partitions
        self._limits = [
            *(part.limit_of_users for part in described.partitions if part.limits_users),
            *described.limits,
        ]
        self._budgets: dict[tuple[int, str, Resource], _Budget] = {}
        self._lines: dict[Any, _Line] = {}
        self._line_of: dict[int, _Line] = {}
        """The line of each waiting job, by its number."""
        self._running: dict[int, list[tuple[_Budget, int]]] = {}
        """What each running job uses, by its number."""
        self._changed: dict[_Line, None] = {}
        """The lines that may show more jobs."""
        self._places = count(1)

    @property
    def may_show_more(self) -> bool:
        """Whether a job may be shown that was hidden."""
        return bool(self._changed)

    def shows(self, job: Job) -> bool:
        """Return whether the limits allow a waiting job to start."""
        line = self._line_of.get(job.number)
        return line is None or line.shows(job)

    def explain(self, job: Job) -> str | None:
        """Return which limit hides a job, in words; None if it is shown."""
        line = self._line_of.get(job.number)
        if line is None or line.shows(job):
            return None
        budget = line.find_obstacle(line.jobs[line.nb_shown]) or line.budgets[0]
        return budget.limit.describe(budget.resource)

    def add(self, job: Job) -> None:
        """Add a job that waits, or waits again, unless it is here."""
        if not self._limits or job.number in self._line_of:
            return
        line = self._find_line(job)
        if line is not None:
            self._line_of[job.number] = line
            was_hiding = line.is_hiding
            line.add(job)
            if line.is_in_order and line.is_hiding and not was_hiding:
                line.place = next(self._places)

    def _find_line(self, job: Job) -> _Line | None:
        part = self._partitions[job.partition]
        budgets, needs = [], []
        for at, limit in enumerate(self._limits):
            for resource in limit.most if limit.binds(job, part.name) else ():
                if need := part.count(resource, job):
                    budgets.append(self._find_budget(at, limit, resource, job))
                    needs.append(need)
        if not budgets:
            return None
        in_order = all(budget.limit.in_order for budget in budgets)
        of_line = (
            None if in_order else (job.size, part.count("gpus", job), part.count("memory", job))
        )
        key = job.partition, of_line, *budgets
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _Line(key, budgets, part, None if in_order else needs)
            for budget in budgets:
                budget.lines[line] = None
        return line

    def _find_budget(self, at: int, limit: Limit, resource: Resource, job: Job) -> _Budget:
        key = at, limit.find_owner(job), resource
        if key not in self._budgets:
            self._budgets[key] = _Budget(limit, resource)
        return self._budgets[key]

    def remove(self, job: Job) -> _Line | None:
        """Remove a job that no longer waits; return its line, None if no limit binds it."""
        line = self._line_of.pop(job.number, None)
        if line is None:
            return None
        line.remove(job)
        self._changed[line] = None
        if not line.jobs:
            del self._lines[line.key], self._changed[line]
            for budget in line.budgets:
                del budget.lines[line]
        return line

    def start(self, job: Job) -> list[Job]:
        """Let a job count as running; return the jobs that are hidden by that."""
        line = self.remove(job)
        if line is None:
            return []
        uses = self._running[job.number] = [*zip(line.budgets, line.find_needs(job), strict=True)]
        for budget, need in uses:
            budget.used += need
        lines = dict.fromkeys(other for budget in line.budgets for other in budget.lines)
        return [hidden for other in lines for hidden in other.hide_some()]

    def end(self, job: Job) -> None:
        """Let a job no longer count as running; it may wait again."""
        for budget, need in self._running.pop(job.number, ()):
            budget.used -= need
            self._changed.update((line, None) for line in budget.lines if line.is_hiding)
        if job.state is WAITING:
            self.add(job)

    def show_more(self) -> list[Job]:
        """Return the jobs that were hidden and now are shown."""
        lines, self._changed = self._changed, {}
        jobs = [(line.place, job.number, job) for line in lines for job in line.show_more()]
        return [job for _, _, job in sorted(jobs)]
