"""A pass of backfilling over the jobs of all partitions, as Slurm's sched/backfill does it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import inf

import msgspec
import numpy as np

from batsched_py.model.compiled.switch import placement
from batsched_py.model.decisions import Start
from batsched_py.model.job import WAITING, Job
from batsched_py.model.machine import Machine
from batsched_py.schedulers.multifactor.backfill_plan import Grid, find_starting
from batsched_py.schedulers.multifactor.node_plan import NodePlan
from batsched_py.schedulers.multifactor.overlapping import Group
from batsched_py.schedulers.multifactor.region_plan import RegionPlan, Want


class BackfillPass(msgspec.Struct, frozen=True):
    """The options of the backfill pass: how often it runs and which jobs it considers.

    Source: Slurm's "Scheduling Configuration Guide", section "Backfill Scheduling", and the manual
    of slurm.conf, SchedulerParameters.
    """

    grid: Grid
    interval: float = 30.0
    """Seconds from one pass to the next at least. 0: at each event."""
    max_test: int = 500
    """The most jobs that a pass considers."""
    max_user: int = 0
    """The most jobs of one user among them; 0: any number."""
    max_part: int = 0
    """The most jobs of one partition among them; 0: any number."""
    reserve: int = 0
    """The first jobs of each partition that are planned; later ones can only start now. 0: all."""

    def select_jobs(self, jobs: Iterable[Job]) -> list[Job]:
        """Return the ``jobs``, in their order, that the limits on jobs let a pass consider."""
        if not (self.max_user or self.max_part):
            return list(islice(jobs, self.max_test))
        users: Counter[str] = Counter()
        partitions: Counter[int] = Counter()
        chosen: list[Job] = []
        for job in jobs:
            user, partition = users[job.user], partitions[job.partition]
            if user < (self.max_user or inf) and partition < (self.max_part or inf):
                chosen.append(job)
                users[job.user] += 1
                partitions[job.partition] += 1
                if len(chosen) == self.max_test:
                    break
        return chosen

    def find_starts(
        self, now: float, jobs: Sequence[Job], group: Group, machine: Machine
    ) -> Iterator[Start]:
        """Give the decisions to start ``jobs`` of a group of partitions now, in their order."""
        views = machine.partitions
        if (room := views[group.places[0]].nodes) is not None:
            on_nodes = NodePlan(room.nodes, machine, self.grid, now, jobs, self.reserve)
            yield from on_nodes.find_starts()
            return
        may = [at for at, job in enumerate(jobs) if job.size <= views[job.partition].free]
        if not may:
            return
        jobs = jobs[: may[-1] + 1]  # no job behind these starts
        if len(group.parts) > 1:
            yield from self._starts_of_regions(now, jobs, may, group, machine)
            return
        view = views[group.places[0]]
        line = self.grid.make_timeline(view, now)
        durations = self.grid.round_durations([job.estimate for job in jobs], now)
        for place in find_starting(line, [job.size for job in jobs], durations, self.reserve):
            job = jobs[place]
            if job.size <= view.free and job.state is WAITING:
                whole = view is machine
                yield Start(job, None if whole else view.choose_free(job.size))

    def _starts_of_regions(
        self, now: float, jobs: Sequence[Job], may: list[int], group: Group, machine: Machine
    ) -> Iterator[Start]:
        views = machine.partitions
        plan, wants = RegionPlan(group, machine, self.grid, now), self._wants(now, jobs, machine)
        for at, parts in plan.find_starting(wants, may, self.reserve):
            job = jobs[at]
            chosen = group.choose_parts(views[job.partition], job.partition, parts)
            if len(chosen) == job.size and job.state is WAITING:
                yield Start(job, chosen)

    def _wants(self, now: float, jobs: Sequence[Job], machine: Machine) -> list[Want]:
        durations = self.grid.round_durations([job.estimate for job in jobs], now)
        units = [rules.unit for rules in machine.rules]
        return [
            (job.partition, job.size, duration, units[job.partition])
            for job, duration in zip(jobs, durations, strict=True)
        ]

    def find_planned_start(
        self, job: Job, now: float, jobs: Sequence[Job], group: Group, machine: Machine
    ) -> float:
        """Return the planned start (seconds) of ``job``, one of ``jobs``; inf if it has no plan."""
        if (room := machine.partitions[job.partition].nodes) is not None:
            on_nodes = NodePlan(room.nodes, machine, self.grid, now, jobs, self.reserve)
            start = on_nodes.find_planned_start(job)
        elif len(group.parts) > 1:
            plan = RegionPlan(group, machine, self.grid, now)
            planned = plan.place_all(self._wants(now, jobs, machine), self.reserve)
            at = next(at for at, each in enumerate(jobs) if each is job)
            start, _ = next(islice(planned, at, None))
        else:
            planned_jobs = jobs[: self.reserve or None]
            if not any(each is job for each in planned_jobs):
                return inf
            line = self.grid.make_timeline(machine.partitions[job.partition], now)
            sizes = np.array([each.size for each in planned_jobs])
            durations = self.grid.round_durations([each.estimate for each in planned_jobs], now)
            starts = placement.place_all(line, sizes, np.array(durations))
            start = float(starts[[each is job for each in planned_jobs]][0])
        return max(start, now) if start < self.grid.end(now) else inf
