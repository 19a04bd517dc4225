"""The waiting queue against a plain list."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batsched_py.jobs import Job
from batsched_py.waiting import BLOCK, WaitingQueue


def job(number: int, size: int, estimate: float) -> Job:
    return Job(f"w0!{number}", number, size, None, estimate, 0.0, {})


def plain(
    jobs: list[Job], after: Job, now: float, free: int, shadow: float, extra: int
) -> Job | None:
    for one in jobs:
        fits = one.number > after.number and one.size <= free
        if fits and (one.size <= extra or now + one.estimate <= shadow):
            return one
    return None


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 50)), min_size=1, max_size=4 * BLOCK),
    st.data(),
)
def test_equals_a_list(shapes: list[tuple[int, int]], data: st.DataObject) -> None:
    queue = WaitingQueue()
    everybody = [job(number, *shape) for number, shape in enumerate(shapes)]
    waiting: list[Job] = []
    for one in everybody:
        queue.append(one)
        waiting.append(one)
        if data.draw(st.integers(0, 3)) == 0:
            gone = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
            queue.remove(gone)
    for _ in range(10):
        after = data.draw(st.sampled_from(everybody))
        free, extra = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9))
        shadow = data.draw(st.sampled_from([-inf, 0.0, 10.0, 30.0, inf]))
        found = queue.first_to_backfill(after, 0.0, free, shadow, extra)
        assert found is plain(waiting, after, 0.0, free, shadow, extra)
        if found:
            queue.remove(found)
            waiting.remove(found)
    assert list(queue) == waiting
    assert len(queue) == len(waiting)
    assert queue.head is (waiting[0] if waiting else None)


def test_a_job_that_has_left_is_a_place_in_the_order_all_the_same() -> None:
    """Whole blocks before `after` may be gone."""
    queue = WaitingQueue()
    jobs = [job(number, 1, 1) for number in range(3 * BLOCK)]
    for one in jobs:
        queue.append(one)
    for one in jobs[:BLOCK]:
        queue.remove(one)
    assert queue.first_to_backfill(jobs[BLOCK - 1], 0, 1, inf, 0) is jobs[BLOCK]


def test_removing_a_stranger_is_an_error() -> None:
    queue = WaitingQueue()
    queue.append(job(0, 1, 1))
    with pytest.raises(ValueError, match="not in list"):
        queue.remove(job(0, 1, 1))
