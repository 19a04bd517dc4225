"""Conservative backfilling: by hand, against a slow twin, and its promise."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from batsched_py.model.decisions import CallMeLater, Decision, Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import check_machine, run, starts, workload
from helpers.streit_schedules import (
    FIVE,
    SORTED,
    Seconds,
    load_of,
    place_of,
    random_jobs,
    with_fields,
)
from helpers.withdrawn_jobs import run_withdrawing


def test_the_promise_where_planning_breaks_it() -> None:
    """Streit's five jobs: planning moves job 4 from 80 to 90, to start job 1 at 50.

    Here job 4 was promised 80, so at 50 job 1 gets 90 and job 3 gets 130; then job 4 itself comes
    to 50. Its end closes the hole that it left.
    """
    promises, outcome = promised(FIVE, Conservative())
    assert promises[1] == [100, 100, 100, 100, 90, 60]  # at 10, 20, 30, 40, 50, 60
    assert promises[3] == [140, 140, 130, 100, 100, 100]  # and at 90, where no job was to end
    assert promises[4] == [80, 50]
    assert starts(outcome) == [0, 60, 20, 100, 50]
    assert starts(run(workload(FIVE, 8), Planning())) == [0, 50, 20, 90, 90]


class SlowConservative:
    """Conservative backfilling with a number for each second and all reservations in a list."""

    def __init__(self, order: str = "fcfs") -> None:
        self.order = order
        self.promised: dict[Job, float] = {}
        self.running: dict[Job, float] = {}

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        there = set(machine.releases())
        ended = any(job not in there for job in self.running)
        self.running = {job: end for job, end in self.running.items() if job in there}
        waiting = set(queue)
        left = [job for job in self.promised if job not in waiting]  # withdrawn
        for job in left:
            del self.promised[job]
        if ended or left:
            for job in sorted(self.promised, key=SORTED[self.order]):
                old = self.promised.pop(job)
                self.promised[job] = new = self.line(now, machine).earliest(job.size, job.estimate)
                assert new <= old
        for job in queue:
            if job not in self.promised:
                self.promised[job] = self.line(now, machine).earliest(job.size, job.estimate)
        for job in sorted(self.promised, key=SORTED[self.order]):
            if self.promised[job] == now:
                self.running[job] = now + job.estimate
                del self.promised[job]
                yield Start(job)
        for start in sorted(set(self.promised.values())):
            yield CallMeLater(start)

    def line(self, now: float, machine: Machine) -> Seconds:
        line = Seconds(machine.nb_processors, now)
        for job, end in self.running.items():
            line.take(now, end, job.size)
        for job, start in self.promised.items():
            line.take(start, start + job.estimate, job.size)
        assert line.free.min() >= 0
        return line


@given(random_jobs(25, spread=80), st.sampled_from(["fcfs", "sjf", "ljf"]))
def test_equals_its_slow_twin(jobs: list[J], order: str) -> None:
    jobs = [*jobs[:5], *(job._replace(size=9) for job in jobs[5:6]), *jobs[6:]]
    load = load_of(jobs)
    outcome = run(load, Conservative(order=order))
    check_machine(outcome)
    assert starts(outcome) == starts(run(load, SlowConservative(order)))


@given(
    random_jobs(25, spread=80),
    st.sampled_from(["fcfs", "sjf", "ljf"]),
    st.lists(st.none() | st.integers(1, 100), min_size=25, max_size=25),
)
def test_equals_its_slow_twin_where_jobs_are_withdrawn(
    jobs: list[J], order: str, waits: list[int | None]
) -> None:
    """Which asserts that no reservation moves back."""
    at = {place: jobs[place].submit + wait for place, wait in enumerate(waits[: len(jobs)]) if wait}
    fast, slow = (
        run_withdrawing(partial(kind, order=order), jobs, at, nodes=8)
        for kind in (Conservative, SlowConservative)
    )
    assert fast == slow


def promised(jobs: list[J], policy: Conservative) -> tuple[dict[int, list[float]], Any]:
    """Return all starts that each job was promised, pass by pass, and the outcome."""
    promises: dict[int, list[float]] = {}

    class Asking:
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
            waiting = {job.number: job for job in queue}
            yield from policy.schedule(now, queue, machine)
            left = {job.number for job in queue}
            for number, job in waiting.items():
                held = policy.held(job, now, queue, machine) if number in left else None
                promises.setdefault(place_of(job), []).append(held.until if held else now)

    return promises, run(load_of(jobs), Asking())


@given(random_jobs(25, spread=80), st.sampled_from(["fcfs", "sjf", "ljf", "widest"]))
def test_never_later_than_promised(jobs: list[J], order: str) -> None:
    promises, outcome = promised(jobs, Conservative(order=order))
    for at, start in enumerate(starts(outcome)):
        assert promises[at] == sorted(promises[at], reverse=True)
        assert promises[at][-1] == start


@given(
    random_jobs(20, spread=80),
    st.lists(st.integers(0, 30), min_size=20, max_size=20),
    st.one_of(st.none(), st.integers(0, 9)),
)
def test_too_short_estimates_do_not_crash(
    jobs: list[J], estimates: list[int], shake: int | None
) -> None:
    """There is no kill limit, and estimates may be 0."""
    load = load_of([job._replace(walltime=None) for job in jobs])
    with_fields(load, {at: {"estimate": estimates[at]} for at in range(len(jobs))})
    for policy in (Conservative(), Planning()):
        outcome = run(load, policy, shake=shake)
        check_machine(outcome)
        assert len(outcome.jobs) == len(jobs)
