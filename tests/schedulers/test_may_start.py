"""Policies made of the public building blocks: jobs that may not start are passed over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import (
    Backfilling,
    CallMeLater,
    ClockOrder,
    Conservative,
    Decision,
    Easy,
    Fcfs,
    FixedOrder,
    Job,
    ListScheduling,
    Machine,
    Start,
    WaitingQueue,
    shadow_time_and_extra_nodes,
)
from batsched_py.errors import DeadlockError
from batsched_py.schedulers.easy_fast import EasyFast
from batsched_py.schedulers.easy_fixed import EasyFixed
from batsched_py.schedulers.slack import Slack
from batsched_py.schedulers.ups import Ups
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import check_machine, run, starts, workload
from helpers.partitions import entry, machine_of, partition, run_on
from helpers.streit_schedules import load_of, random_jobs

BUILT_OF: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "fcfs": (Fcfs, {}),
    "first_fit": (ListScheduling, {"take": "first_fit", "order": "widest"}),
    "best_fit": (ListScheduling, {"take": "best_fit"}),
    "next_fit": (ListScheduling, {"take": "next_fit", "order": "narrowest"}),
    "easy": (Easy, {}),
    "easy_sjf": (Easy, {"order": "sjf", "backfill_order": "expansion_factor"}),
    "easy_fast": (EasyFast, {}),
    "easy_fixed": (EasyFixed, {}),
    "slack": (Slack, {}),
    "ups": (Ups, {}),
    "conservative": (Conservative, {}),
    "conservative_sjf": (Conservative, {"order": "sjf"}),
}
LATER = 10_000.0
MOST = 2
"""Running jobs of a user."""


def with_cap(kind: type[Any], **options: Any) -> Any:
    """Return a policy of a kind with a cap on the running jobs of each user."""

    class Capped(kind):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(**options)
            self.running: Counter[str] = Counter()
            self.most = 0

        def may_start(self, now: float, job: Job) -> bool:
            return self.running[job.user] < MOST

        def job_started(self, now: float, job: Job) -> None:
            self.running[job.user] += 1
            self.most = max(self.most, self.running[job.user])

        def job_ended(self, now: float, job: Job) -> None:
            self.running[job.user] -= 1

    return Capped()


def until_later(kind: type[Any], **options: Any) -> Any:
    """Return a policy of a kind under which jobs of more than four processors start at LATER."""

    class Holding(kind):  # type: ignore[misc]
        def may_start(self, now: float, job: Job) -> bool:
            return job.size <= 4 or now >= LATER

        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
            yield from super().schedule(now, queue, machine)
            if now < LATER:
                yield CallMeLater(LATER)

    return Holding(**options)


def of_users(jobs: list[J], users: str) -> list[J]:
    return [job._replace(user=user) for job, user in zip(jobs, users, strict=False)]


USERS = st.text("uvw", min_size=20, max_size=20)


@pytest.mark.parametrize("name", BUILT_OF)
@given(jobs=random_jobs(20, spread=60), users=USERS)
def test_others_run_as_if_a_held_job_did_not_wait(name: str, jobs: list[J], users: str) -> None:
    kind, options = BUILT_OF[name]
    jobs = of_users(jobs, users)
    outcome = run(load_of(jobs), until_later(kind, **options))
    check_machine(outcome)
    got = starts(outcome)
    narrow = [at for at, job in enumerate(jobs) if job.size <= 4]
    alone = run(load_of([jobs[at] for at in narrow]), kind(**options)) if narrow else None
    if name != "ups":  # a held job counts in the load of its user
        assert [got[at] for at in narrow] == (starts(alone) if alone else [])
    assert all(
        start is not None and start >= LATER for at, start in enumerate(got) if at not in narrow
    )


@pytest.mark.parametrize("name", BUILT_OF)
@given(jobs=random_jobs(20, spread=60), users=USERS)
def test_a_cap_is_kept_and_no_job_is_lost(name: str, jobs: list[J], users: str) -> None:
    kind, options = BUILT_OF[name]
    policy = with_cap(kind, **options)
    outcome = run(load_of(of_users(jobs, users)), policy)
    check_machine(outcome)
    assert None not in starts(outcome)
    assert policy.most <= MOST
    assert not any(policy.running.values())


class SlowCappedEasy:
    """EASY with the cap, in which each start is followed by another look at all jobs."""

    def __init__(self) -> None:
        self.running: list[Job] = []

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        self.running = list(machine.releases())
        while jobs := self.allowed(queue):
            if jobs[0].size > machine.free:
                break
            self.running.append(jobs[0])
            yield Start(jobs[0])
        if not jobs:
            return
        shadow_time, extra = shadow_time_and_extra_nodes(jobs[0], machine)
        while True:
            for job in self.allowed(queue):
                in_time = now + job.estimate <= shadow_time
                if job.size <= machine.free and (in_time or job.size <= extra):
                    extra -= 0 if in_time else job.size
                    self.running.append(job)
                    yield Start(job)
                    break
            else:
                return

    def allowed(self, queue: WaitingQueue) -> list[Job]:
        used = Counter(job.user for job in self.running)
        return [job for job in queue if used[job.user] < MOST]


@given(jobs=random_jobs(20, spread=60), users=USERS)
def test_easy_with_a_cap_equals_its_slow_twin(jobs: list[J], users: str) -> None:
    load = load_of(of_users(jobs, users))
    assert starts(run(load, with_cap(Easy))) == starts(run(load, SlowCappedEasy()))


def test_a_reservation_goes_to_others_when_the_cap_is_reached() -> None:
    """B, C and D of u are all reserved for 4; B and C start, so E gets the place of D at once.

          |0   4    9
    A v 4 |####
    B u 1 |....#####
    C u 1 |....#####
    D u 2 |.........#####
    E w 2 |....######     reserved for 9 before
    """
    jobs = [J(0, 4, 4, user="v"), *(J(0, size, 5, user="u") for size in (1, 1, 2))]
    jobs.append(J(0, 2, 6, user="w"))
    for kind in (Conservative, Easy):
        assert starts(run(workload(jobs, 4), with_cap(kind))) == [0, 4, 4, 9, 4]


def test_an_allowed_job_gets_its_reservation_behind_the_others() -> None:
    """C of u waits for A by the cap of 1; B has its reservation by then.

          |0   4 6
    A u 1 |####
    B v 2 | ...##
    C u 1 |......##
    """

    class One(Conservative):
        def __init__(self) -> None:
            super().__init__()
            self.running: Counter[str] = Counter()

        def may_start(self, now: float, job: Job) -> bool:
            return not self.running[job.user]

        def job_started(self, now: float, job: Job) -> None:
            self.running[job.user] += 1

        def job_ended(self, now: float, job: Job) -> None:
            self.running[job.user] -= 1

    jobs = [J(0, 1, 4, user="u"), J(1, 2, 2, user="v"), J(0, 1, 2, user="u")]
    assert starts(run(workload(jobs, 2), One())) == [0, 4, 6]


def test_each_partition_has_a_cap_of_its_own() -> None:
    described = machine_of(
        entry("nodes", count=4) + partition("west", "0-1") + partition("east", "2-3")
    )
    jobs = [(name, J(0, 1, 5, user="u")) for name in ("west", "west", "west", "east", "east")]
    wide = [("east", J(0, 2, 5, user="u"))]
    outcome = run_on(described, lambda: with_cap(Easy), [*jobs, *wide])
    assert starts(outcome) == [0, 0, 5, 0, 0, 5]


def test_jobs_that_never_may_start_are_named() -> None:
    class Never(Easy):
        def may_start(self, now: float, job: Job) -> bool:
            return False

    with pytest.raises(DeadlockError, match="0000"):
        run(workload([J(0, 1, 5)], 4), Never())


def test_why_a_held_job_waits() -> None:
    for kind, options in BUILT_OF.values():
        queue, machine, policy = WaitingQueue(), Machine(8), until_later(kind, **options)
        for number, size in enumerate((8, 4)):
            queue.append(Job(f"j{number}", number, size, 10.0, 10.0, 0.0, {}, "u"))
        first = next(policy.schedule(0.0, queue, machine))
        assert first.job.id == "j1"
        reason = policy.held(queue.head, 0.0, queue, machine)
        assert (reason.why, reason.note) == ("limit", "Holding.may_start does not allow it")


def test_nothing_is_promised_to_a_job_that_was_held_in_the_last_pass() -> None:
    """B was promised 9; C, of which the last pass knew nothing, is not."""
    held: set[str] = set()

    class Holding(Easy):
        def may_start(self, now: float, job: Job) -> bool:
            return job.id not in held

    queue, machine, policy = WaitingQueue(), Machine(4), Holding()
    jobs = [Job(name, at, 4, 9.0, 9.0, 0.0, {}, "u") for at, name in enumerate("ABC")]
    machine.start(jobs[0], 0.0)
    queue.append(jobs[1])
    assert list(policy.schedule(0.0, queue, machine)) == []
    assert policy.held(jobs[1], 0.0, queue, machine).until == 9
    held |= {"B", "C"}
    queue.append(jobs[2])
    assert list(policy.schedule(1.0, queue, machine)) == []
    held.clear()
    assert policy.held(jobs[2], 1.0, queue, machine).until == inf


@given(jobs=random_jobs(20, spread=60), users=USERS)
def test_orders_of_ones_own(jobs: list[J], users: str) -> None:
    """The same by names, by keys and by priorities."""
    load = load_of(of_users(jobs, users))
    orders: list[Any] = [
        "sjf",
        FixedOrder(lambda job: job.estimate),
        ClockOrder(lambda now, jobs: -jobs.estimate),
    ]
    one, *others = (
        starts(run(load, Backfilling(shadow_time_and_extra_nodes, order))) for order in orders
    )
    assert others == [one, one]
    assert one == starts(run(load, Easy(order="sjf")))
