"""Which waiting jobs have room within the limits of partitions, users, accounts and QOS."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

from batsched_py.model.job import WAITING, Job
from batsched_py.workload.machine_description import Limit, MachineDescription, Resource


class _Budget:
    """What running jobs leave of a limit, such as the GPUs of one user, and whose jobs wait."""

    __slots__ = ("left", "limit", "lines", "resource")

    def __init__(self, limit: Limit, resource: Resource) -> None:
        self.limit, self.resource, self.left = limit, resource, limit.most[resource]
        self.lines: dict[Any, _Line] = {}


class _Line:
    """Waiting jobs with the same budgets, in submission order.

    The first ones are shown: as many as fit into each budget together, beside the running jobs.
    """

    __slots__ = ("budgets", "jobs", "key", "nb_shown", "place", "taken")

    def __init__(self, key: Any, budgets: list[_Budget]) -> None:
        self.key, self.budgets = key, budgets
        self.jobs: list[_BoundJob] = []
        self.nb_shown = self.place = 0
        self.taken = [0] * len(budgets)
        """What the shown jobs need of each budget."""

    @property
    def hides(self) -> bool:
        return self.nb_shown < len(self.jobs)

    def shows(self, job: Job) -> bool:
        return self.nb_shown > 0 and job.number <= self.jobs[self.nb_shown - 1].job.number

    def find_place(self, job: Job) -> int:
        return bisect_left(self.jobs, job.number, key=lambda bound: bound.job.number)

    def find_obstacle(self, bound: _BoundJob | None = None) -> _Budget | None:
        """Return a budget without room for the shown jobs and a further one; None if all have."""
        needs = bound.needs if bound else [0] * len(self.taken)
        rows = zip(self.budgets, self.taken, needs, strict=True)
        return next((budget for budget, taken, need in rows if taken + need > budget.left), None)

    def show(self, bound: _BoundJob, sign: int = 1) -> None:
        """Show the first hidden job, or with -1 hide a job."""
        pairs = zip(self.taken, bound.needs, strict=True)
        self.taken = [taken + sign * need for taken, need in pairs]
        self.nb_shown += sign

    def show_more(self) -> list[_BoundJob]:
        begin = self.nb_shown
        while self.hides and self.find_obstacle(self.jobs[self.nb_shown]) is None:
            self.show(self.jobs[self.nb_shown])
        return self.jobs[begin : self.nb_shown]

    def hide_some(self) -> list[_BoundJob]:
        end = self.nb_shown
        while self.nb_shown and self.find_obstacle() is not None:
            self.show(self.jobs[self.nb_shown - 1], -1)
        return self.jobs[self.nb_shown : end]


class _BoundJob(NamedTuple):
    job: Job
    line: _Line
    needs: list[int]
    """Of each budget of its line."""


class JobLimits:
    """Shows waiting jobs as far as the limits of a machine allow, given what runs.

    Jobs are in lines. A line has the jobs with the same budgets, and of the same size, GPUs and
    memory unless these budgets let jobs wait in order.
    """

    def __init__(self, described: MachineDescription) -> None:
        self._partitions, self._limits = described.partitions, described.all_limits
        self._budgets: dict[tuple[int, str, Resource], _Budget] = {}
        self._waiting: dict[int, _BoundJob] = {}
        self._running: dict[int, _BoundJob] = {}
        self._changed: dict[_Line, None] = {}
        """The lines that may show more jobs."""

    @property
    def may_show_more(self) -> bool:
        """Whether a job may be shown that was hidden."""
        return bool(self._changed)

    def shows(self, job: Job) -> bool:
        """Return whether the limits allow a waiting job to start."""
        bound = self._waiting.get(job.number)
        return bound is None or bound.line.shows(job)

    def explain(self, job: Job) -> str | None:
        """Return which limit hides a job, in words; None if it is shown."""
        if self.shows(job):
            return None
        line = self._waiting[job.number].line
        budget = line.find_obstacle(line.jobs[line.nb_shown]) or line.budgets[0]
        most = budget.limit.describe(budget.resource)
        return f"running and older jobs leave no room within the limit of {most}"

    def add(self, job: Job) -> None:
        """Add a job that waits, or waits again, unless it is here."""
        if not self._limits or job.number in self._waiting:
            return
        part = self._partitions[job.partition]
        needs: dict[_Budget, int] = {}
        for at, limit in enumerate(self._limits):
            for resource in limit.most if limit.binds(job, part.name) else ():
                if need := part.count(resource, job):
                    its = at, limit.find_owner(job), resource
                    needs[self._budgets.setdefault(its, _Budget(limit, resource))] = need
        if not needs:
            return
        in_order = all(budget.limit.in_order for budget in needs)
        shape = job.size, part.count("gpus", job), part.count("memory", job)
        key = job.partition, None if in_order else shape, *needs
        line = next(iter(needs)).lines.get(key) or _Line(key, [*needs])
        for budget in needs:
            budget.lines[key] = line
        if in_order and not line.hides:  # lines show more jobs in the order in which they hid some
            line.place = job.number
        bound = self._waiting[job.number] = _BoundJob(job, line, [*needs.values()])
        line.jobs.insert(at := line.find_place(job), bound)
        if at <= line.nb_shown and line.find_obstacle(bound) is None:
            line.show(bound)

    def remove(self, job: Job) -> _BoundJob | None:
        """Remove a job that no longer waits; return None if no limit binds it."""
        bound = self._waiting.pop(job.number, None)
        if bound is not None:
            line = bound.line
            if line.shows(job):
                line.show(bound, -1)
            del line.jobs[line.find_place(job)]
            self._changed[line] = None
            for budget in () if line.jobs else line.budgets:
                del budget.lines[line.key]
        return bound

    def start(self, job: Job) -> list[Job]:
        """Let a job count as running; return the jobs that are hidden by that."""
        bound = self.remove(job)
        if bound is None:
            return []
        self._running[job.number] = bound
        lines: dict[_Line, None] = {}
        for budget, need in zip(bound.line.budgets, bound.needs, strict=True):
            budget.left -= need
            lines |= dict.fromkeys(budget.lines.values())
        return [hidden.job for line in lines for hidden in line.hide_some()]

    def end(self, job: Job) -> None:
        """Let a job no longer count as running; it may wait again."""
        bound = self._running.pop(job.number, None)
        if bound is None:
            return
        for budget, need in zip(bound.line.budgets, bound.needs, strict=True):
            budget.left += need
            self._changed |= dict.fromkeys(line for line in budget.lines.values() if line.hides)
        if job.state is WAITING:
            self.add(job)

    def show_more(self) -> list[Job]:
        """Return the jobs that were hidden and now are shown."""
        lines, self._changed = self._changed, {}
        shown = [bound for line in lines for bound in line.show_more()]
        shown.sort(key=lambda bound: (bound.line.place, bound.job.number))
        return [bound.job for bound in shown]
