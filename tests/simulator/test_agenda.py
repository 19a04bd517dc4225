"""What is to happen, against a list that is sorted again each time."""

from __future__ import annotations

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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW_ENTRIES", few)
        _check_order(steps)


def _check_order(steps: list[tuple[float, int | None, bool]]) -> None:
    agenda, happened = Agenda(), list[int]()
    timers: list[Timer] = []
    open_: list[tuple[float, int]] = []
    for delay, cancelled, goes_on in steps:
        number = len(timers)
        open_.append((agenda.now + delay, number))
        timers.append(agenda.at(agenda.now + delay, happened.append, number))
        if cancelled is not None and cancelled <= number:
            agenda.cancel(timers[cancelled])
            open_ = [entry for entry in open_ if entry[1] != cancelled]
        if goes_on and open_:
            time = min(open_)[0]
            due = sorted(entry for entry in open_ if entry[0] == time)
            open_ = [entry for entry in open_ if entry not in due]
            happened.clear()
            next(agenda.instants())
            assert agenda.now == time
            assert happened == [number for _, number in due]
    happened.clear()
    rest = list(agenda.instants())
    assert happened == [number for _, number in sorted(open_)]
    assert len(rest) == len({time for time, _ in open_})
    assert not open_ or agenda.now == max(open_)[0]


def test_something_may_follow_on_each_thing_that_happens() -> None:
    agenda = Agenda()
    for time in (1.0, 1.0, 2.0):
        agenda.at(time, lambda: [m.RequestedCall(timestamp=agenda.now)])
    agenda.cancel(agenda.at(2.0, lambda: None))
    agenda.after_each = lambda: [m.RequestedCall(timestamp=9.0)]
    assert list(map(_times, agenda.instants())) == [[1.0, 9.0, 1.0, 9.0], [2.0, 9.0]]


def _times(events: list[m.Event]) -> list[float]:
    return [event.timestamp for event in events]


def test_cancelled_timers_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEW_ENTRIES", 16)
    agenda = Agenda()
    for time in range(1000):
        agenda.cancel(agenda.at(float(time), lambda: None))
    assert len(agenda._heap) <= 17
