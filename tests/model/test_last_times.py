"""The last times of processors, against a time kept for each of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.processors import last_times
from batsched_py.processors.last_times import LastTimes
from batsched_py.processors.sets import ProcessorSet

notes = st.lists(st.tuples(st.integers(0, 9).map(float), st.sets(st.integers(0, 7))), max_size=30)


@given(notes, st.sampled_from([0, 3, 100]))
def test_last_times_are_those_of_each_processor(
    notes: list[tuple[float, set[int]]], at_once: int
) -> None:
    """Covered notes are dropped after ``at_once`` notes, which may be never."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(last_times, "_AT_ONCE", at_once)
        last = LastTimes(ProcessorSet.interval(0, 8))
        of_each: dict[int, float] = {}
        for time, machines in notes:
            last.note(time, ProcessorSet.of(sorted(machines)))
            of_each |= {machine: max(time, of_each.get(machine, time)) for machine in machines}
        found = {machine: time for time, machines in last.all() for machine in machines}
    assert found == of_each
