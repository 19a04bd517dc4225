"""The states of machines, and what is to happen: against slow twins."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.simulator import agenda as module
from batsched_py.simulator.agenda import Agenda, Timer
from batsched_py.simulator.machines import MachineState
from batsched_py.simulator.power.machine_states import TracedMachines
from helpers.processors import processors

IDLE, COMPUTING, SLEEPING = MachineState.IDLE, MachineState.COMPUTING, MachineState.SLEEPING
ON, OFF = MachineState.SWITCHING_ON, MachineState.SWITCHING_OFF
UNAVAILABLE = MachineState.UNAVAILABLE
TRACED = (SLEEPING, ON, OFF, IDLE, COMPUTING)


class Machine:
    """One machine: what is known of it, and each state it was in with the time it began."""

    def __init__(self, asleep: bool) -> None:
        self.nb_jobs = 0
        self.available = True
        self.off: MachineState | None = SLEEPING if asleep else None
        self.history = [(0.0, self.state())]

    def state(self) -> MachineState:
        if not self.available:
            return UNAVAILABLE
        return self.off or (COMPUTING if self.nb_jobs else IDLE)

    def changed(self, now: float) -> None:
        if self.state() is not self.history[-1][1]:
            self.history.append((now, self.state()))

    def times(self) -> dict[MachineState, float]:
        """The times in states that have ended."""
        times = dict.fromkeys(MachineState, 0.0)
        for (begin, state), (end, _) in pairwise(self.history):
            times[state] += end - begin
        return times


class Twin:
    """All machines, one by one."""

    def __init__(self, nb: int, sharing: bool, asleep: ProcessorSet) -> None:
        self.machines = [Machine(at in asleep) for at in range(nb)]
        self.sharing = sharing
        self.rows: list[tuple[float, ...]] = []

    def do(
        self, what: str, machines: ProcessorSet, now: float, state: MachineState | None = None
    ) -> None:
        for at, machine in enumerate(self.machines):
            if at in machines:
                if what in ("occupy", "release"):
                    machine.nb_jobs += 1 if what == "occupy" else -1
                elif what == "switch":
                    machine.off = state
                else:
                    machine.available = what == "give_back"
                machine.changed(now)
        if what in ("occupy", "release"):
            self.trace(now)

    def trace(self, now: float) -> None:
        states = [machine.state() for machine in self.machines]
        self.rows.append((now, *(states.count(state) for state in TRACED)))

    def free(self) -> ProcessorSet:
        allowed = (IDLE, COMPUTING) if self.sharing else (IDLE,)
        return ProcessorSet.of(
            at for at, machine in enumerate(self.machines) if machine.state() in allowed
        )

    def times(self) -> dict[MachineState, float]:
        each = [machine.times() for machine in self.machines]
        return {state: sum(times[state] for times in each) for state in MachineState}


NB = 5
ALL = ProcessorSet.interval(0, NB)
SETS = st.sets(st.integers(0, NB - 1)).map(ProcessorSet.of)
OFF_STATES = st.sampled_from([None, SLEEPING, ON, OFF])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["occupy", "occupy", "release", "withdraw", "give_back", "switch"]),
        SETS,
        OFF_STATES,
        st.integers(0, 3),
    ),
    max_size=40,
)


@given(steps=STEPS, sharing=st.booleans(), asleep=SETS, often=st.booleans())
def test_as_one_by_one(
    steps: list[tuple[str, ProcessorSet, MachineState | None, int]],
    sharing: bool,
    asleep: ProcessorSet,
    often: bool,
) -> None:
    """Free machines, times and rows, asked for at the end or after each step."""
    fast = TracedMachines(NB, sharing=sharing, asleep=asleep)
    slow = Twin(NB, sharing, asleep)
    running: list[ProcessorSet] = []
    now = 0.0
    for what, machines, state, later in steps:
        now += later
        if what == "occupy":
            machines &= slow.free()
            running.append(machines)
        elif what == "release":
            if not running:
                continue
            machines = running.pop(len(machines) % len(running))
        if what == "switch":
            fast.switch(machines, state, now)
        else:
            getattr(fast, what)(machines, now)
        slow.do(what, machines, now, state)
        assert ALL - fast.find_not_free(ALL) == slow.free()
        assert fast.nb_free == len(slow.free())
        if often:
            assert fast.times() == slow.times()
    assert fast.times() == slow.times()
    assert list(fast.rows()) == slow.rows
    assert fast.busy(ALL) == ProcessorSet.of(
        at for at, machine in enumerate(slow.machines) if machine.nb_jobs
    )
    for off in (SLEEPING, ON, OFF):
        assert fast.off(ALL, off) == ProcessorSet.of(
            at for at, machine in enumerate(slow.machines) if machine.off is off
        )


@pytest.mark.parametrize(("sharing", "wanted"), [(False, "idle"), (True, "idle or computing")])
def test_why_not(sharing: bool, wanted: str) -> None:
    traced = TracedMachines(5, sharing=sharing, asleep=processors("1 4"))
    assert traced.occupy(processors("0"), 0.0)
    traced.switch(processors("2"), ON, 0.0)
    traced.switch(processors("3"), OFF, 0.0)
    traced.withdraw(processors("4"), 0.0)
    for machines, reason in (
        ("0", "0 is computing"),
        ("1-2 5", "1 is sleeping"),
        ("2", "2 is switching_on"),
        ("3", "3 is switching_off"),
        ("4", "4 is unavailable"),
        ("5", "5 is not on this platform"),
    ):
        said = traced.explain_refusal(processors(machines))
        assert said == f"machine {reason}; expected {wanted} ones, from 0 to 4"


def test_many_changes_are_forgotten_but_the_last_of_each() -> None:
    """Ten thousand changes of one machine leave the others' times as they are."""
    fast, slow = TracedMachines(NB, traced=False), Twin(NB, False, NO_PROCESSORS)
    for at in range(10_000):
        what = "release" if at % 2 else "occupy"
        getattr(fast, what)(processors("0" if at else "0-1"), float(at))
        slow.do(what, processors("0" if at else "0-1"), float(at))
        if at == 1:
            fast.release(processors("1"), 1.0)
            slow.do("release", processors("1"), 1.0)
    assert fast.times() == slow.times()
    assert list(fast.rows()) == []


# What is to happen -------------------------------------------------------------------------------


TIMERS = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.5, 1.0, 3.0]).map(float),
        st.none() | st.integers(0, 30),
        st.booleans(),
    ),
    max_size=30,
)
"""Seconds until a timer, the number of one to cancel, and whether time goes on then."""


@pytest.mark.parametrize("few", [1, 4096])
@given(steps=TIMERS)
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
