"""The waiting queue and its orders against plain lists."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log10, sqrt
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.model.job import Job, JobState
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.job_arrays import JobArrays
from batsched_py.model.queue.orders import (
    ORDERS,
    ClockOrder,
    FixedOrder,
    find_fixed_key,
    find_order,
)
from batsched_py.model.queue.sorted_jobs import FANOUT, SortedJobs

NOW = 100.0


def job(number: int, size: int, estimate: float, submit: float = 0.0) -> Job:
    return Job(f"w0!{number}", number, size, None, estimate, submit, {}, user=str(number % 3))


def twin(
    jobs: list[Job], key: Callable[[Job], Any], free: int, horizon: float, extra: int
) -> Job | None:
    """The first in order that qualifies, by sorting and looking at each."""
    for entry in sorted(jobs, key=key):
        if entry.size <= free and (entry.size <= extra or NOW + entry.estimate <= horizon):
            return entry
    return None


def cube(value: float) -> float:
    return value * value * value


def submitted(job: Job) -> float:
    return log10(job.submit_time) if job.submit_time else -1.0


KEYS: dict[str, Callable[[Job], Any]] = {
    "fcfs": lambda job: job.number,
    "lcfs": lambda job: -job.number,
    "sjf": lambda job: (job.estimate, job.number),
    "ljf": lambda job: (-job.estimate, job.number),
    "narrowest": lambda job: (job.size, job.number),
    "widest": lambda job: (-job.size, job.number),
    "ffia": lambda job: (job.size * job.estimate, job.number),
    "largest_area": lambda job: (-job.size * job.estimate, job.number),
    "smith": lambda job: (-1 / (job.size * job.estimate), job.number),
    "expansion_factor": lambda job: (
        -(1 + (NOW - job.submit_time) / job.estimate),
        job.number,
    ),
    "bounded_expansion_factor": lambda job: (
        -(1 + (NOW - job.submit_time) / max(job.estimate, 10)),
        job.number,
    ),
    "wfp3": lambda job: (-cube((NOW - job.submit_time) / job.estimate) * job.size, job.number),
    "unicep": lambda job: (
        -(NOW - job.submit_time + 1e-15) / (np.log2(job.size + 1e-15) * job.estimate),
        job.number,
    ),
    "f1": lambda job: (log10(job.estimate) * job.size + 870 * submitted(job), job.number),
    "f2": lambda job: (sqrt(job.estimate) * job.size + 25_600 * submitted(job), job.number),
    "f3": lambda job: (job.estimate * job.size + 6_860_000 * submitted(job), job.number),
    "f4": lambda job: (job.estimate * sqrt(job.size) + 530_000 * submitted(job), job.number),
}
shapes = st.lists(
    st.tuples(st.integers(1, 9), st.integers(1, 50), st.integers(0, 90)), min_size=1, max_size=150
)


@given(shapes, st.sampled_from(sorted(ORDERS)), st.data())
def test_orders_equal_sorted_lists(
    shapes: list[tuple[int, int, int]], name: str, data: st.DataObject
) -> None:
    queue = WaitingQueue()
    waiting: list[Job] = []
    everybody = [job(number, *shape) for number, shape in enumerate(shapes)]
    ask_first = data.draw(st.booleans())
    for entry in everybody:
        if ask_first:  # the order is kept from the first question on
            find_order(name).at(NOW, queue)
        queue.append(entry)
        waiting.append(entry)
        if len(waiting) > 1 and data.draw(st.integers(0, 3)) == 0:
            gone = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
            queue.remove(gone)
    assert list(queue) == waiting
    assert (queue.head, len(queue)) == (waiting[0], len(waiting))
    ranked = find_order(name).at(NOW, queue)
    free, extra = data.draw(st.integers(0, 10)), data.draw(st.integers(0, 9))
    horizon = NOW + data.draw(st.sampled_from([-inf, 0, 10, 25, 60, inf]))
    assert list(ranked) == sorted(waiting, key=KEYS[name])
    while waiting:  # as in a pass: what is found is started
        assert ranked.head is min(waiting, key=KEYS[name])
        chosen = ranked.first_to_backfill(NOW, free, horizon, extra)
        assert chosen is twin(waiting, KEYS[name], free, horizon, extra)
        if chosen is None:
            break
        queue.remove(chosen)
        waiting.remove(chosen)
        free -= chosen.size
    if not waiting:
        assert ranked.head is None


@given(shapes, st.sampled_from(["queue", *sorted(ORDERS)]), st.randoms(use_true_random=False))
def test_jobs_may_be_started_on_a_walk_along_the_queue(
    shapes: list[tuple[int, int, int]], name: str, random: Random
) -> None:
    """Each job is given in its turn, once, if it still waits then."""
    queue = WaitingQueue()
    waiting = [job(number, *shape) for number, shape in enumerate(shapes)]
    for entry in waiting:
        queue.append(entry)
    key, walked = KEYS["fcfs"], iter(queue)
    if name != "queue":
        key, walked = KEYS[name], iter(find_order(name).at(NOW, queue))
    for entry in sorted(waiting, key=key):
        if entry.state is JobState.WAITING:
            assert next(walked) is entry
        for started in random.sample(waiting, random.randint(0, min(2, len(waiting)))):
            waiting.remove(started)
            started.state = JobState.RUNNING
            queue.remove(started)
        if entry in waiting and random.random() < 0.5:
            waiting.remove(entry)
            entry.state = JobState.RUNNING
            queue.remove(entry)
    assert next(walked, None) is None


@pytest.mark.parametrize("nb_jobs", [1, FANOUT, FANOUT + 1, 5 * FANOUT, 20 * FANOUT])
def test_sorted_jobs_grow_and_shrink(nb_jobs: int) -> None:
    """Deep enough for several levels; least estimates stay exact."""
    random = Random(nb_jobs)
    numbers = random.sample(range(10_000), nb_jobs)
    tree = SortedJobs()
    there: dict[int, Job] = {}
    for number in numbers:
        there[number] = job(number, 1, 1 + number * 7919 % 101)
        tree.add(number, there[number])
    random.shuffle(numbers)
    for number in numbers:
        assert tree.least_estimate == min(entry.estimate for entry in there.values())
        assert tree.first()[0] == min(there)
        limit = 1 + number % 101
        if tree.least_estimate <= limit:
            assert tree.first_ending(0, limit)[0] == min(
                number for number, entry in there.items() if entry.estimate <= limit
            )
        tree.remove(number)
        del there[number]
        if len(there) % 50 == 0:
            assert list(tree) == [there[key] for key in sorted(there)]
    assert not tree
    assert tree.least_estimate == inf


def test_a_search_does_not_look_at_each_job() -> None:
    """Among 5,000 jobs that do not qualify (wide and short, narrow and long) one does."""
    looked_at = []

    class Counted(float):
        def __radd__(self, other: float) -> float:
            looked_at.append(self)
            return other + float(self)

    queue = WaitingQueue()
    for number in range(5_000):
        size, estimate = (8, 1.0) if number % 2 else (1, 500.0)
        queue.append(job(number, size, Counted(estimate)))
    ranked = find_order("fcfs").at(NOW, queue)
    assert ranked.first_to_backfill(NOW, 4, NOW + 60, 0) is None
    assert 0 < len(looked_at) <= 2 * FANOUT
    wanted = job(5_000, 3, 60.0)
    queue.append(wanted)
    assert ranked.first_to_backfill(NOW, 4, NOW + 60, 0) is wanted


def test_wrong_orders() -> None:
    with pytest.raises(UsageError, match="'widest'"):
        find_order("widst")
    with pytest.raises(UsageError, match="the clock"):
        find_fixed_key("expansion_factor")
    assert isinstance(find_order("sjf"), FixedOrder)
    assert isinstance(find_order("desc_slowdown"), ClockOrder)


@pytest.mark.parametrize("name", ["wfp3", "unicep", "f1", "f2", "f3", "f4"])
def test_learned_orders_take_any_estimate(name: str) -> None:
    """A job without a walltime is last, one of 0 s first; at its submission too."""
    queue = WaitingQueue()
    jobs = [job(n, 2, estimate, 50) for n, estimate in enumerate([inf, 5, 0, inf])]
    for entry in jobs:
        queue.append(entry)
    for now in (50, NOW):
        order = [entry.number for entry in find_order(name).at(now, queue)]
        all_equal = name == "wfp3" and now == 50
        assert order == ([0, 1, 2, 3] if all_equal else [2, 1, 0, 3])


def test_removing_who_does_not_wait() -> None:
    queue = WaitingQueue()
    queue.append(job(0, 1, 1))
    with pytest.raises(ValueError, match="does not wait"):
        queue.remove(job(1, 1, 1))


@given(st.data())
def test_jobs_may_come_back_into_their_places(data: st.DataObject) -> None:
    """They leave and come back in any order; every order is as if they had never left."""
    queue = WaitingQueue()
    key = data.draw(st.sampled_from(["fcfs", "sjf", "widest"]))
    jobs = [job(n, data.draw(st.integers(1, 4)), data.draw(st.integers(1, 9))) for n in range(25)]
    waiting: list[Job] = []
    away: list[Job] = []
    arrivals: list[Job] = []
    seen = 0
    for each in jobs:
        queue.append(each)
        waiting.append(each)
        arrivals.append(each)
        _ = queue.view(JobArrays).in_order(find_fixed_key(key))
        if data.draw(st.booleans()) and waiting:
            away.append(waiting.pop(data.draw(st.integers(0, len(waiting) - 1))))
            queue.remove(away[-1])
        if data.draw(st.booleans()) and away:
            back = away.pop(data.draw(st.integers(0, len(away) - 1)))
            queue.insert(back)
            waiting = sorted([*waiting, back], key=lambda job: job.number)
            arrivals = [one for one in arrivals if one is not back] + [back]
        assert list(queue) == waiting
        assert queue.head is (waiting[0] if waiting else None)
        assert len(queue) == len(waiting)
        order = sorted(waiting, key=KEYS[key])
        assert list(queue.ranked(find_fixed_key(key))) == order
        assert queue.view(JobArrays).in_order(find_fixed_key(key)).jobs() == order
        of_columns = [
            queue.view(JobArrays).jobs[row] for row in np.flatnonzero(queue.view(JobArrays).waiting)
        ]
        assert of_columns == waiting
        assert queue.ranked(find_fixed_key(key)).first_to_backfill(NOW, 2, NOW + 3, 1) is twin(
            waiting, KEYS[key], 2, NOW + 3, 1
        )
        if data.draw(st.booleans()):
            assert queue.since(seen) == [one for one in arrivals if one in waiting]
            seen, arrivals = queue.nb_arrived, []


def test_a_job_that_came_back_into_an_empty_queue_arrived_once() -> None:
    queue, back = WaitingQueue(), job(0, 1, 10.0)
    queue.append(back)
    queue.remove(back)
    queue.add(back)
    assert queue.since(0) == [back]
