"""What list scheduling takes out of the queue, beside looking at each job."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from batsched_py.model.job import Job
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.queue.orders import find_fixed_key, find_order
from batsched_py.schedulers.list_scheduling import NextFit, Take, take_best_fit


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
