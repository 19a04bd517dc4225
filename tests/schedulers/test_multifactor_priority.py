"""Multifactor priorities: each factor by hand, and the order that is kept from pass to pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from batsched_py import Job, Machine, WaitingQueue
from batsched_py.errors import UsageError
from batsched_py.schedulers.multifactor.accounts_file import Account, Accounts, User
from batsched_py.schedulers.multifactor.fair_share_tree import FairShareTree
from batsched_py.schedulers.multifactor.priority import MANY, Priority, SizeFactor, Weights
from batsched_py.schedulers.multifactor.waiting_order import WaitingOrder

DAY = 86_400.0
NONE = Weights(age=0, fairshare=0, jobsize=0, partition=0, qos=0, assoc=0)


def a_job(
    number: int = 0,
    size: int = 4,
    submit: float = 0.0,
    estimate: float = 3600.0,
    user: str = "u",
    partition: int = 0,
    **extra: Any,
) -> Job:
    job = Job(f"j{number}", number, size, estimate, estimate, submit, extra, user)
    job.partition = partition
    return job


def priorities(weights: Weights, *, tree: FairShareTree | None = None, **more: Any) -> Priority:
    more = {"half_life": inf, "calc_period": 0.0, **more}
    return Priority(weights, tree or FairShareTree(), **more)


SMALL = {"size_factor": SizeFactor(favor_small=True)}
BY_TIME = {"size_factor": SizeFactor(relative_to_time=True)}
QOS = {"qos": {"high": 20.0, "7": 5.0}}
ALL = dict.fromkeys(["age", "fairshare", "jobsize", "partition", "qos"], 100)

# What it shows, weights, the job, now, further options, the priority
FACTORS: list[tuple[str, dict[str, int], dict[str, Any], float, dict[str, Any], float]] = [
    ("age: half of seven days", {"age": 100}, {"submit": DAY}, 4.5 * DAY, {}, 50),
    ("size: 4 of 16 processors", {"jobsize": 100}, {}, 0, {}, 25),
    ("size: favoring small jobs", {"jobsize": 100}, {}, 0, SMALL, 75),
    ("size: over the hour of the estimate", {"jobsize": 1200}, {}, 0, BY_TIME, 5),
    ("size: of a minute at least", {"jobsize": 100}, {"estimate": 1.0}, 0, BY_TIME, 25),
    ("partition: the first's", {"partition": 100}, {}, 0, {}, 25),
    ("partition: the second's", {"partition": 100}, {"partition": 1}, 0, {}, 100),
    ("QOS: the highest", {"qos": 100}, {"queue": "high"}, 0, QOS, 100),
    ("QOS: a number of a log, a quarter of it", {"qos": 100}, {"queue": 7}, 0, QOS, 25),
    ("fair share: nothing used yet", {"fairshare": 100}, {}, 0, {}, 100),
    ("nice is subtracted", {"jobsize": 100}, {"nice": 15}, 0, {}, 10),
    ("the sum", ALL, {"queue": 7}, 3.5 * DAY, QOS, 50 + 100 + 25 + 25 + 25),
]


ACCOUNTS = Accounts((Account("a", priority=5),), (User("v", "a", priority=10), User("u", "a")))
FACTORS.append(
    ("association: of the account", {"assoc": 100}, {}, 0, {"tree": FairShareTree(ACCOUNTS)}, 50)
)


@pytest.mark.parametrize("case", FACTORS, ids=lambda case: case[0])
def test_factors(case: tuple[Any, ...]) -> None:
    """On 16 processors in two partitions, of factors 0.25 and 1."""
    _, weights, fields, now, more, expected = case
    job = a_job(**fields)
    priority = priorities(structs.replace(NONE, **weights), **more)
    priority.add_jobs([job], 16, [0.25, 1.0])
    assert priority.compute(job, now) == pytest.approx(expected)


def test_nice_is_a_number() -> None:
    with pytest.raises(UsageError, match="nice is 'very'"):
        priorities(NONE).add_jobs([a_job(nice="very")], 16, [1.0])


# The order of the queue --------------------------------------------------------------------------


def ordered(order: WaitingOrder, priority: Priority, queue: WaitingQueue, now: float) -> list[str]:
    order.update(now, queue)
    order.sort(now, queue)
    return [entry[-1].id for entry in order.entries]


def test_fair_share_is_computed_every_calc_period() -> None:
    """v's job is behind u's until it is noticed, 300 s after the last time, that u uses much."""
    priority = priorities(Weights(0, 100, 0, 0, 0), calc_period=300.0)
    machine, queue = Machine(16), WaitingQueue()
    order = WaitingOrder(priority, [0], [0.0], 16)
    for number, user in enumerate("uv"):
        queue.append(a_job(number, user=user))
    assert ordered(order, priority, queue, 0.0) == ["j0", "j1"]
    running = a_job(9, user="u")
    machine.start(running, 10.0)
    priority.usage.job_started(10.0, running)
    assert ordered(order, priority, queue, 299.0) == ["j0", "j1"]
    assert ordered(order, priority, queue, 300.0) == ["j1", "j0"]
    assert priority.nb_computed == 2


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["submit", "start", "end", "leave"]),
        st.integers(0, 400),
        st.integers(1, 16),
        st.sampled_from("uvw"),
        st.integers(0, 1),
    ),
    max_size=25,
)


@pytest.fixture(params=[1, MANY], ids=["by arrays", "one by one"])
def _many(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("batsched_py.schedulers.multifactor.priority.MANY", request.param)
        yield


@pytest.mark.usefixtures("_many")
@given(EVENTS, st.sampled_from([0.0, 500.0]), st.sampled_from([100.0, 1000.0, 1e6]))
def test_the_kept_order_is_that_of_all_priorities(
    events: Sequence[tuple[str, int, int, str, int]], calc_period: float, max_age: float
) -> None:
    """Whatever comes, goes and gets old: it is that of the priorities of now."""
    priority = priorities(
        Weights(1000, 300, 100, 50, 0), calc_period=calc_period, half_life=400.0, max_age=max_age
    )
    machine, queue = Machine(64), WaitingQueue()
    order = WaitingOrder(priority, [1, 1], [0.5, 1.0], 64)
    running: list[Job] = []
    now, number = 0.0, 0
    for what, later, size, user, partition in events:
        now += later
        if what == "submit":
            queue.append(a_job(number, size, now, user=user, partition=partition))
            number += 1
        if what == "end" and running:
            ended = running.pop(size % len(running))
            machine.end(ended)
            priority.usage.job_ended(now, ended)
        if what == "leave" and queue.head:
            queue.remove(queue.head)
        order.update(now, queue)
        order.sort(now, queue)
        jobs = [entry[-1] for entry in order.entries]
        assert order.list_jobs(now, queue) == jobs
        assert sorted(job.number for job in jobs) == [job.number for job in queue]
        values = [priority.compute(job, now) for job in jobs]
        assert all(one >= other - 1e-9 for one, other in pairwise(values))
        if what == "start" and order.entries and order.entries[0][-1].size <= machine.free:
            job = order.entries[0][-1]
            order.remove(job)
            queue.remove(job)
            machine.start(job, now)
            priority.usage.job_started(now, job)
            running.append(job)
