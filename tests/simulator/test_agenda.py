"""What is to happen, against a list that is sorted again each time."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.protocol import messages as m
from batsched_py.simulator import agenda as module
from batsched_py.simulator.agenda import Agenda, Timer

STEPS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.5, 1.0, 3.0]).map(float),
        st.none() | st.integers(0, 30),
        st.booleans(),
    ),
    max_size=30,
)
"""A timer so many seconds from now, one that is cancelled, and whether time goes on then."""


@pytest.mark.parametrize("few", [1, 4096])
@given(steps=STEPS)
def test_timers_are_in_order(few: int, steps: list[tuple[float, int | None, bool]]) -> None:
    """Of time, then of when they were set; however often cancelled ones are thrown away."""
    agenda, happened = Agenda(), list[int]()
    agenda._most_entries = few
    timers: list[Timer] = []
    open_: list[tuple[float, int]] = []
    for delay, cancelled, goes_on in steps:
        number = len(timers)
        open_.append((agenda.now + delay, number))
        timers.append(agenda.at(agenda.now + delay, partial(happened.append, number)))
        if cancelled is not None and cancelled <= number:
            timers[cancelled].cancel()
            open_ = [entry for entry in open_ if entry[1] != cancelled]
        assert agenda.next_time() == min(open_, default=(float("inf"), 0))[0]
        if goes_on and open_:
            agenda.now = min(open_)[0]
            due = sorted(entry for entry in open_ if entry[0] == agenda.now)
            open_ = [entry for entry in open_ if entry not in due]
            happened.clear()
            for happen in agenda.due():
                happen()
            assert happened == [number for _, number in due]


def test_what_happens_may_set_and_cancel_timers_of_now() -> None:
    agenda = Agenda()
    agenda.at(0.0, lambda: later.cancel())
    agenda.at(0.0, lambda: agenda.send(m.RequestedCall(timestamp=0.0)))
    later = agenda.at(0.0, lambda: [m.RequestedCall(timestamp=9.0)])
    events = [event for happen in agenda.due() for event in happen() or ()]
    assert [event.timestamp for event in events] == [0.0]
    assert agenda.next_time() == float("inf")


def test_cancelled_timers_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEW_ENTRIES", 16)
    agenda = Agenda()
    for time in range(1000):
        agenda.at(float(time), lambda: None).cancel()
    assert len(agenda._heap) <= 17
