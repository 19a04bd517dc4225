"""EASY, its relatives, CREASY, UPS and list scheduling: against slow twins, what they promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.model.decisions import Decision, Start
from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.policy import Scheduler
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.job_arrays import JobArrays
from batsched_py.model.queue.orders import find_fixed_key, find_order
from batsched_py.schedulers.conservative_streit import ConservativeOfStreit
from batsched_py.schedulers.creasy import Creasy, criticality
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.easy_fast import EasyFast
from batsched_py.schedulers.easy_fixed import EasyFixed
from batsched_py.schedulers.list_scheduling import NextFit, Take, take_best_fit
from batsched_py.schedulers.slack import Slack
from batsched_py.schedulers.ups import Ups
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import run, starts, workload
from helpers.processors import processors

HOUR = 3600


class Slow:
    """EASY by definition, in any two orders given as keys: lists, full sorts at every pass."""

    def __init__(
        self,
        key: Callable[[Job, float, list[Job]], Any],
        behind: Callable[[Job, float, list[Job]], Any] | None = None,
    ) -> None:
        self.key, self.behind = key, behind or key

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        everybody = list(queue)
        waiting = sorted(everybody, key=lambda job: (self.key(job, now, everybody), job.number))
        while waiting and waiting[0].size <= machine.free:
            yield Start(waiting.pop(0))
        if not waiting:
            return
        head = waiting.pop(0)
        shadow_time, extra, free = inf, 0, machine.free
        for job in sorted(machine.releases(), key=lambda job: (job.expected_end, job.size)):
            free += job.size
            if free >= head.size:
                shadow_time, extra = job.expected_end, free - head.size
                break
        waiting.sort(key=lambda job: (self.behind(job, now, everybody), job.number))
        for job in waiting:
            if job.size > machine.free:
                continue
            if now + job.estimate <= shadow_time < inf:
                yield Start(job)
            elif job.size <= extra:
                extra -= job.size
                yield Start(job)


class SlowFast:
    """Batsched's later fast EASY by definition: a list of running jobs in the order of starts."""

    def __init__(self) -> None:
        self.running: list[Job] = []
        self.head: Job | None = None
        self.shadow_time, self.extra = inf, 0

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        still = [job for job in self.running if job in set(machine.releases())]
        renew, self.running = len(still) < len(self.running), still
        for job in list(queue):
            if self.head is None or (job is self.head and job.size <= machine.free):
                self.head = None if job.size <= machine.free else job
                renew = True
                if self.head is None:
                    self.running.append(job)
                    yield Start(job)
                continue
            if job is self.head:
                continue
            if renew:
                self._renew(machine)
                renew = False
            in_time = now + job.estimate <= self.shadow_time
            if job.size <= machine.free and (in_time or job.size <= self.extra):
                self.extra -= 0 if in_time else job.size
                self.running.append(job)
                yield Start(job)
        if renew and self.head is not None:
            self._renew(machine)

    def _renew(self, machine: Machine) -> None:
        free = machine.free
        assert self.head is not None
        for job in sorted(self.running, key=lambda job: job.expected_end):  # stable
            free += job.size
            if free >= self.head.size:
                self.shadow_time, self.extra = job.expected_end, free - self.head.size
                return


def creasy_key(alpha: float, job: Job, now: float, waiting: list[Job]) -> float:
    waited = (now - job.submit_time) / 60
    return -(alpha * (0.04 / (0.05 * (waited + job.estimate / 60) + 1) ** 2) + waited)


def ranks(now: float, waiting: list[Job], by_load: bool, arrivals: dict[str, float]) -> dict:
    users = {job.user for job in waiting}
    for job in waiting:
        arrivals[job.user] = max(job.submit_time, arrivals.get(job.user, -1))

    def score(user: str) -> float:
        if by_load:
            return sum(job.estimate * job.size for job in waiting if job.user == user)
        return -arrivals[user]

    ordered = sorted(users, key=lambda user: (score(user), int(user)))
    return {user: rank for rank, user in enumerate(ordered, 1)}


def slow_ups(a_user: float, by_load: bool) -> Slow:
    arrivals: dict[str, float] = {}

    def main(job: Job, now: float, waiting: list[Job]) -> float:
        rank = ranks(now, waiting, by_load, arrivals)[job.user]
        return -(a_user * (1 / rank) + (1 - a_user) * (now - job.submit_time) / (4 * HOUR))

    def behind(job: Job, now: float, waiting: list[Job]) -> float:
        return ranks(now, waiting, by_load, arrivals)[job.user]

    return Slow(main, behind)


PAIRS: dict[str, tuple[Callable[[], Scheduler], Callable[[], Scheduler]]] = {
    "easy": (Easy, lambda: Slow(lambda job, *_: job.number)),
    "easy_fast": (EasyFast, SlowFast),
    "sjf": (lambda: Easy(order="sjf"), lambda: Slow(lambda job, *_: job.estimate)),
    "SJBF": (
        lambda: Easy(backfill_order="sjf"),
        lambda: Slow(lambda job, *_: job.number, lambda job, *_: job.estimate),
    ),
    "desc_slowdown": (
        lambda: Easy(order="desc_slowdown"),
        lambda: Slow(lambda job, now, _: -(1 + (now - job.submit_time) / max(job.estimate, 1e-9))),
    ),
    "creasy 6000": (Creasy, lambda: Slow(partial(creasy_key, 6000))),
    "ups load": (Ups, lambda: slow_ups(0.5, True)),
    "ups recency": (
        lambda: Ups(a_user=0.8, rank="recency"),
        lambda: slow_ups(0.8, False),
    ),
}
jobs_of = st.lists(
    st.builds(
        lambda submit, size, run, more, user: J(submit, size, run, run + more, user),
        st.integers(0, 400),
        st.integers(1, 9),
        st.integers(0, 400),
        st.integers(0, 100),
        st.sampled_from(["1", "2", "3", "10"]),
    ),
    max_size=50,
)


@pytest.mark.parametrize("name", PAIRS)
@given(jobs=jobs_of, speed=st.sampled_from([0.5, 1.0, 2.0]))
def test_equals_its_slow_twin(name: str, jobs: list[J], speed: float) -> None:
    fast, slow = PAIRS[name]
    load = workload(jobs, 8)
    assert starts(run(load, fast(), speed=speed)) == starts(run(load, slow(), speed=speed))


def test_a_long_queue_equals_its_slow_twin() -> None:
    """Hundreds of waiting jobs, so that the queue has many blocks."""
    jobs = [J(i % 7, 1 + i * 7 % 9, 3 + i * 13 % 29, 5 + i * 13 % 41) for i in range(400)]
    load = workload(jobs, 8)
    fast, slow = PAIRS["easy"]
    assert starts(run(load, fast())) == starts(run(load, slow()))


@given(
    jobs_of,
    st.sampled_from(
        [lambda: Slack(slack=0.5), lambda: Slack(slack=0), EasyFixed, ConservativeOfStreit]
    ),
)
def test_heads_start_by_their_deadlines(jobs: list[J], policy: Callable[[], Any]) -> None:
    """With estimates that are upper bounds, a head starts by what was promised at first."""
    made = policy()
    promised: dict[str, float] = {}

    class Watching:
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
            for decision in made.schedule(now, queue, machine):
                assert isinstance(decision, Start)
                yield decision
                assert now <= promised.get(decision.job.id, inf)
            if made.head is not None:
                promised.setdefault(made.head.id, made.shadow_time)

    run(workload(jobs, 8), Watching())


# (a_user, rank of the user, seconds waited, priority): worked examples C3, W2, W3
PRIORITIES = [
    (0.5, 2, 3600, 0.375),
    (0.5, 3, 14_400, 2 / 3),
    (0.8, 4, 57_600, 1.0),
    (0.0, 3, 3600, 0.25),
    (0.0, 1, 14_400, 1.0),
]


@pytest.mark.parametrize(("a_user", "rank", "waited", "expected"), PRIORITIES)
def test_priorities_of_ups(a_user: float, rank: int, waited: float, expected: float) -> None:
    queue = WaitingQueue()
    now = 1e6
    for number in range(1, 6):  # user n has n units of work, and so the rank n
        job = Job(f"w0!{number}", number, number, None, 1.0, now, {}, user=str(number))
        if number == rank:
            job.submit_time = now - waited
        queue.append(job)
    columns = queue.view(JobArrays)
    for number in (6, 7):  # jobs that do not wait any more
        started = Job(f"w0!{number}", number, 1, None, 1.0, now, {}, user="1")
        queue.append(started)
        queue.remove(started)
    ups = Ups(a_user=a_user)
    priorities = ups.order.priority(now, columns)  # type: ignore[attr-defined]
    assert priorities[rank - 1] == pytest.approx(expected)
    of_users = ups.backfill_order.priority(now, columns)  # type: ignore[attr-defined]
    assert of_users[:5].tolist() == [1 / n for n in range(1, 6)]


def test_criticality_of_the_paper() -> None:
    """|d/dR| of 0.8 / (0.05 R + 1): 0.04 at 0, a quarter of it at 20 minutes."""
    minutes = np.array([0.0, 20.0, 60.0, 600.0])
    step = 1e-6
    slope = (0.8 / (0.05 * minutes + 1) - 0.8 / (0.05 * (minutes + step) + 1)) / step
    assert criticality(minutes) == pytest.approx(slope, rel=1e-4)
    assert criticality(minutes)[:2].tolist() == [0.04, 0.01]


def test_a_deadline_is_not_renewed_at_the_deadline() -> None:
    """The pass before the last end of an instant must not give the head a fresh slack."""
    jobs = [J(0, 3, 100), J(1, 4, 100), J(2, 1, 148), J(149, 1, 100), J(150, 1, 100)]
    for each_event in (False, True):
        outcome = run(workload(jobs, 4), Slack(), each_event=each_event)
        assert starts(outcome)[1] == 150


@pytest.mark.parametrize("policy", [Easy, EasyFast, EasyFixed, Slack, Creasy, Ups])
def test_a_head_that_waits_for_a_repair_holds_nobody(policy: Callable[[], Any]) -> None:
    machine, queue = Machine(8), WaitingQueue()
    machine.set_available(processors("0"), available=False)
    wide = Job("w0!0", 0, 8, 10.0, 10.0, 0.0, {})
    narrow = Job("w0!1", 1, 1, 10.0, 10.0, 0.0, {})
    for job in (wide, narrow):
        queue.append(job)
    decision = next(iter(policy().schedule(1.0, queue, machine)))
    assert isinstance(decision, Start)
    assert decision.job is narrow


# List scheduling ---------------------------------------------------------------------------------


def queue_of(sizes: list[int]) -> WaitingQueue:
    queue = WaitingQueue()
    for number, size in enumerate(sizes):
        queue.append(Job(f"w0!{number}", number, size, None, inf, 0.0, {}))
    return queue


@given(
    sizes=st.lists(st.integers(1, 6), max_size=60),
    frees=st.lists(st.integers(0, 6), max_size=30),
    order=st.sampled_from(["fcfs", "lcfs", "narrowest", "ffia"]),
)
def test_takes_are_those_of_plain_lists(sizes: list[int], frees: list[int], order: str) -> None:
    """As long as jobs are taken out, by the rules as they are said."""
    key = find_fixed_key(order)
    for is_next in (False, True):
        queue = queue_of(sizes)
        waiting = sorted(queue, key=lambda job: (key(job), job.number))
        take: Take = NextFit(key) if is_next else take_best_fit
        last: tuple[float, int] = (-inf, -1)
        for free in frees:
            fitting = [job for job in waiting if job.size <= free]
            if is_next:
                behind = [job for job in fitting if (key(job), job.number) > last]
                expected = next(iter(behind or fitting), None)
            else:
                expected = max(fitting, key=lambda job: job.size, default=None)
            taken = take(find_order(order).at(0.0, queue), free)
            assert taken is expected
            if taken is not None:
                last = key(taken), taken.number
                queue.remove(taken)
                waiting.remove(taken)


def test_an_order_by_area_is_found_in_the_error() -> None:
    with pytest.raises(UsageError, match=r"order=area \(ffia: smallest area first\): expected"):
        find_order("area")
