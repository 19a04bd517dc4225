"""Which waiting jobs have room within the limits of partitions, users, accounts and QOS."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, takewhile
from typing import Any, NamedTuple

import msgspec

from batsched_py.model.job import WAITING, Job
from batsched_py.workload.machine_description import Limit, MachineDescription, Resource, find_owner


class _Budget(msgspec.Struct, eq=False):
    """What running jobs leave of a limit, such as the GPUs of one user, and whose jobs wait."""

    limit: Limit
    resource: Resource
    left: int
    lines: dict[Any, _Line] = {}


class _BoundJob(NamedTuple):
    job: Job
    line: _Line
    needs: dict[_Budget, int]


class _Line(msgspec.Struct, eq=False):
    """Waiting jobs with the same budgets, in submission order.

    The first ones are shown: as many as fit into each budget together, beside the running jobs.
    """

    key: Any
    in_order: bool
    """Whether the needs of its jobs differ."""
    jobs: list[_BoundJob] = []
    nb_shown: int = 0
    place: int = 0

    @property
    def hides(self) -> bool:
        return self.nb_shown < len(self.jobs)

    def shows(self, job: Job) -> bool:
        return self.nb_shown > 0 and job.number <= self.jobs[self.nb_shown - 1].job.number

    def find_place(self, job: Job) -> int:
        return bisect_left(self.jobs, job.number, key=lambda bound: bound.job.number)

    def count_room(self, budget: _Budget) -> int:
        """Return how many of the first jobs fit into a budget; of equal jobs, how many would."""
        if not self.in_order:
            return budget.left // self.jobs[0].needs[budget]
        sums = accumulate(bound.needs[budget] for bound in self.jobs)
        return sum(1 for _ in takewhile(budget.left.__ge__, sums))

    def update(self, most: int) -> list[_BoundJob]:
        """Show the first jobs that fit, up to ``most``; return the jobs shown or hidden by that."""
        before = self.nb_shown
        self.nb_shown = min(most, *map(self.count_room, self.jobs[0].needs))
        return self.jobs[min(before, self.nb_shown) : max(before, self.nb_shown)]


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
        self.changed: dict[_Line, None] = {}
        """The lines that may show more jobs."""

    def shows(self, job: Job) -> bool:
        """Return whether the limits allow a waiting job to start."""
        bound = self._waiting.get(job.number)
        return bound is None or bound.line.shows(job)

    def explain(self, job: Job) -> str | None:
        """Return which limit hides a job, in words; None if it is shown."""
        if self.shows(job):
            return None
        _, line, needs = self._waiting[job.number]
        budget = min(needs, key=line.count_room)
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
                    its = at, find_owner(limit.per, job), resource
                    budget = _Budget(limit, resource, limit.most[resource])
                    needs[self._budgets.setdefault(its, budget)] = need
        if not needs:
            return
        in_order = all(budget.limit.in_order for budget in needs)
        shape = () if in_order else (part.count("gpus", job), part.count("memory", job), job.size)
        key = job.partition, shape, *needs
        line = next(iter(needs)).lines.get(key) or _Line(key, in_order)
        for budget in needs:
            budget.lines[key] = line
        if in_order and not line.hides:  # lines show more jobs in the order in which they hid some
            line.place = job.number
        bound = self._waiting[job.number] = _BoundJob(job, line, needs)
        line.jobs.insert(at := line.find_place(job), bound)
        if at <= line.nb_shown:
            line.update(line.nb_shown + 1)

    def remove(self, job: Job) -> _BoundJob | None:
        """Remove a job that no longer waits; return None if no limit binds it."""
        bound = self._waiting.pop(job.number, None)
        if bound is not None:
            line = bound.line
            line.nb_shown -= line.shows(job)
            del line.jobs[line.find_place(job)]
            if line.hides:
                self.changed[line] = None
            for budget in () if line.jobs else bound.needs:
                del budget.lines[line.key]
        return bound

    def start(self, job: Job) -> list[Job]:
        """Let a job count as running; return the jobs that are hidden by that."""
        bound = self.remove(job)
        if bound is None:
            return []
        self._running[job.number] = bound
        lines: dict[_Line, None] = {}
        for budget, need in bound.needs.items():
            budget.left -= need
            lines |= dict.fromkeys(budget.lines.values())
        lines.pop(bound.line, None)  # one job less is shown there
        return [hidden.job for line in lines for hidden in line.update(line.nb_shown)]

    def end(self, job: Job) -> None:
        """Let a job no longer count as running; it may wait again."""
        bound = self._running.pop(job.number, None)
        if bound is None:
            return
        for budget, need in bound.needs.items():
            budget.left += need
            self.changed |= dict.fromkeys(line for line in budget.lines.values() if line.hides)
        if job.state is WAITING:
            self.add(job)

    def show_more(self) -> list[Job]:
        """Return the jobs that were hidden and now are shown."""
        lines, self.changed = self.changed, {}
        shown = [bound for line in lines if line.jobs for bound in line.update(len(line.jobs))]
        shown.sort(key=lambda bound: (bound.line.place, bound.job.number))
        return [bound.job for bound in shown]
