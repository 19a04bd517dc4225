"""Streit's schedules: the worked examples of his model, snapshots of passes, and slow twins.

The twins keep a number for every second, so they take whole seconds and estimates of at least 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from batsched_py.metrics import METRICS
from batsched_py.model.decisions import CallMeLater, Decision, Reject, Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.policy import Scheduler
from batsched_py.model.queue import WaitingQueue
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.simulator.engine import Outcome
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import run, workload
from batsched_py.workload import Workload

# Worked examples: (submission, width, run time, estimate) ----------------------------------------

FIVE = [J(0, 6, 50, 100), J(10, 8, 40, 40), J(20, 2, 30, 60), J(30, 4, 100, 200), J(40, 2, 10, 10)]
"""N = 8: under FCFS a plan moves a job back when others end early."""

SIX = [
    J(0, 8, 60, 100),
    J(5, 6, 80, 120),
    J(6, 2, 40, 400),
    J(7, 4, 20, 30),
    J(8, 8, 10, 20),
    J(9, 2, 300, 300),
]
"""N = 8: the simple and the advanced decider differ, and start the same."""

PC2_2001 = [
    J(1, 64, 79, 21600),
    J(221, 96, 163, 1200),
    J(994, 8, 10, 60),
    J(1017, 64, 86400, 86400),
    J(4966, 4, 172800, 172800),
    J(5554, 8, 88787, 172800),
    J(5688, 8, 25, 1200),
    J(6152, 8, 61, 1200),
    J(6238, 4, 22, 1200),
    J(6474, 16, 58, 1200),
    J(17661, 4, 3970, 172800),
]
"""N = 96: the first jobs of the thesis's set PC2-2001."""


def shrunk(jobs: Iterable[J], factor: float) -> list[J]:
    """Return the jobs with their submissions brought together: the thesis's shrinking factor."""
    return [job._replace(submit=job.submit * factor) for job in jobs]


def with_fields(load: Workload, fields: dict[int, dict[str, Any]]) -> Workload:
    """Return ``load`` with further fields for the jobs at these places; ``estimate`` is one."""
    for at, more in fields.items():
        load.jobs[at].extra.update({key: more[key] for key in more if key != "estimate"})
        load.jobs[at].estimate = more.get("estimate", load.jobs[at].estimate)
    return load


SHORT = {
    "ART": "mean_turnaround_time",
    "AWT": "mean_waiting_time",
    "ARTwW": "mean_turnaround_time_by_width",
    "SLDwA": "mean_slowdown_by_area",
    "UTIL": "utilisation",
    "LOC": "loss_of_capacity",
    "makespan": "last_end",
}
"""The thesis's names and the names in the registry of metrics."""


def measured(outcome: Outcome, names: Iterable[str]) -> list[float]:
    """Return metrics of a schedule by the thesis's names."""
    rows = EmbeddedOutput(outcome).table
    return [METRICS[SHORT[name]].compute(rows) for name in names]


# Snapshots -----------------------------------------------------------------------------------


class Pass(NamedTuple):
    """What one scheduling pass saw, and what it planned."""

    now: float
    running: list[tuple[float, int]]
    """(expected end, size), before anything starts."""
    waiting: list[Job]
    plan: dict[int, float]
    """Planned starts by the place of the job in the workload."""
    active: str


def place_of(job: Job) -> int:
    """Return the place of the job in the workload."""
    return int(job.id.rpartition("!")[2])


class Watch:
    """A policy that plans, and notes of each pass what it saw and planned."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.passes: list[Pass] = []

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        waiting = list(queue)
        running = [(job.expected_end, job.size) for job in machine.releases()]
        yield from self.policy.schedule(now, queue, machine)
        planned = self.policy.planner.plan
        plan = {place_of(job): start for job, start in planned}
        self.passes.append(Pass(now, running, waiting, plan, getattr(self.policy, "active", "")))

    @property
    def plans(self) -> dict[float, dict[int, float]]:
        """The last plan of each instant."""
        return {seen.now: seen.plan for seen in self.passes}


# Slow twins ----------------------------------------------------------------------------------

HORIZON = 2500
"""Seconds that the twins look ahead."""

SORTED: dict[str, Callable[[Job], Any]] = {
    "fcfs": lambda job: job.number,
    "sjf": lambda job: (job.estimate, job.number),
    "ljf": lambda job: (-job.estimate, job.number),
}


class Seconds:
    """Free processors of each second from ``now`` on."""

    def __init__(self, nb: int, now: float) -> None:
        self.now = int(now)
        self.free = np.full(HORIZON, nb)

    def take(self, start: float, end: float, size: int) -> None:
        first, last = max(int(start) - self.now, 0), max(int(end) - self.now, 0)
        assert last < HORIZON
        self.free[first:last] -= size

    def least(self, start: float, end: float) -> int:
        return int(self.free[int(start) - self.now : int(end) - self.now].min())

    def earliest(self, size: int, duration: float, after: float = 0) -> float:
        """Try every second."""
        too_few = np.concatenate([[0], np.cumsum(self.free < size)])
        fits = too_few[int(duration) :] == too_few[: -int(duration)]
        fits[: max(int(after) - self.now, 0)] = False
        return float(self.now + int(fits.argmax()))

    def place(self, size: int, duration: float, after: float = 0) -> float:
        start = self.earliest(size, duration, after)
        self.take(start, start + duration, size)
        return start


def slow_plan(
    now: float,
    nb: int,
    running: Iterable[tuple[float, int]],
    jobs: Iterable[Job],
    reserved: Iterable[tuple[float, float, int]] = (),
    backfilling: bool = True,
) -> dict[int, float]:
    """Return planned starts by place in the workload; ``jobs`` are in the order of the policy."""
    line = Seconds(nb, now)
    for end, size in running:
        line.take(now, end, size)
    for start, end, size in reserved:
        line.take(start, end, size)
    assert line.free.min() >= 0
    plan: dict[int, float] = {}
    after = now
    for job in jobs:
        plan[place_of(job)] = start = line.place(job.size, job.estimate, after)
        if not backfilling:
            after = start
    return plan


class SlowPlanning:
    """Planning from its definition; a rejected or accepted reservation is looked up by itself."""

    def __init__(
        self, order: str = "fcfs", backfilling: bool = True, full_admission: bool = True
    ) -> None:
        self.order, self.backfilling, self.full = order, backfilling, full_admission
        self.reserved: dict[Job, float] = {}
        self.looked_at: set[Job] = set()

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        running = [(job.expected_end, job.size) for job in machine.releases()]
        nb = machine.nb_processors
        for job in [job for job in queue if job not in self.looked_at]:
            start = job.extra.get("reserved_start")
            if "reserved_end" in job.extra:
                start = job.extra["reserved_end"] - job.estimate
            others = self.sorted(other for other in queue if other in self.looked_at)
            if start is None:
                self.looked_at.add(job)
            elif self.admits(now, nb, running, job, start, others):
                self.looked_at.add(job)
                self.reserved[job] = start
            else:
                yield Reject(job)
        jobs = self.sorted(queue)
        plan = slow_plan(now, nb, running, jobs, self.intervals(), self.backfilling)
        for job in [job for job, start in self.reserved.items() if start == now]:
            del self.reserved[job]
            yield Start(job)
        for job in jobs:
            if plan[place_of(job)] == now:
                yield Start(job)
        later = [start for start in [*plan.values(), *self.reserved.values()] if start > now]
        for time in sorted(set(later)):
            yield CallMeLater(time)

    def admits(
        self,
        now: float,
        nb: int,
        running: list[tuple[float, int]],
        job: Job,
        start: float,
        others: list[Job],
    ) -> bool:
        """Count what is free in the interval; ``others`` came before and may move."""
        line = Seconds(nb, now)
        for end, size in running:
            line.take(now, end, size)
        for begin, end, size in self.intervals():
            line.take(begin, end, size)
        if self.full:
            plan = slow_plan(now, nb, running, others, self.intervals(), self.backfilling)
            for other in others:
                begin = plan[place_of(other)]
                line.take(begin, begin + other.estimate, other.size)
        return start >= now and line.least(start, start + job.estimate) >= job.size

    def sorted(self, jobs: Iterable[Job]) -> list[Job]:
        movable = [job for job in jobs if job not in self.reserved]
        return sorted(movable, key=SORTED[self.order])

    def intervals(self) -> list[tuple[float, float, int]]:
        return [(start, start + job.estimate, job.size) for job, start in self.reserved.items()]


# Random schedules ------------------------------------------------------------------------------


def random_jobs(most: int = 18, *, spread: int = 60) -> st.SearchStrategy[list[J]]:
    """Return jobs for 8 processors; estimates are never too small."""
    return st.lists(
        st.builds(
            lambda submit, size, run, more: J(submit, size, run, run + more),
            st.integers(0, spread),
            st.integers(1, 8),
            st.integers(1, 25),
            st.one_of(st.just(0), st.integers(0, 40)),
        ),
        max_size=most,
    )


def load_of(jobs: list[J]) -> Workload:
    """Return the jobs as a workload on a small machine."""
    return workload(jobs, 8)


def run_watched(load: Workload, policy: Scheduler) -> tuple[Outcome, Watch]:
    """Simulate, and return the passes too."""
    watch = Watch(policy)
    return run(load, watch), watch
