"""The states of machines against a twin that keeps a list for each of them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.simulator.machine_states import MachineState, TracedMachines
from batsched_py.simulator.machines import Machines

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

    def __init__(self, nb: int, sharing: bool, asleep: int) -> None:
        self.machines = [Machine(bool(asleep >> at & 1)) for at in range(nb)]
        self.sharing = sharing
        self.rows: list[tuple[float, ...]] = []

    def do(self, what: str, machines: int, now: float, state: MachineState | None = None) -> None:
        for at, machine in enumerate(self.machines):
            if machines >> at & 1:
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

    def free(self) -> int:
        allowed = (IDLE, COMPUTING) if self.sharing else (IDLE,)
        return sum(
            1 << at for at, machine in enumerate(self.machines) if machine.state() in allowed
        )

    def times(self) -> dict[MachineState, float]:
        each = [machine.times() for machine in self.machines]
        return {state: sum(times[state] for times in each) for state in MachineState}


NB = 5
MASKS = st.integers(0, (1 << NB) - 1)
OFF_STATES = st.sampled_from([None, SLEEPING, ON, OFF])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["occupy", "occupy", "release", "withdraw", "give_back", "switch"]),
        MASKS,
        OFF_STATES,
        st.integers(0, 3),
    ),
    max_size=40,
)


@given(steps=STEPS, sharing=st.booleans(), asleep=MASKS, often=st.booleans())
def test_as_one_by_one(
    steps: list[tuple[str, int, MachineState | None, int]],
    sharing: bool,
    asleep: int,
    often: bool,
) -> None:
    """Free machines, times and rows, asked for at the end or after each step."""
    fast = TracedMachines(NB, sharing=sharing, asleep=asleep)
    slow = Twin(NB, sharing, asleep)
    running: list[int] = []
    now = 0.0
    for what, machines, state, later in steps:
        now += later
        if what == "occupy":
            machines &= slow.free()
            running.append(machines)
        elif what == "release":
            if not running:
                continue
            machines = running.pop(machines % len(running))
        if what == "switch":
            fast.switch(machines, state, now)
        else:
            getattr(fast, what)(machines, now)
        slow.do(what, machines, now, state)
        assert fast.free == slow.free()
        if often:
            assert fast.times() == slow.times()
    assert fast.times() == slow.times()
    assert list(fast.rows()) == slow.rows
    assert fast.busy(-1) == sum(
        1 << at for at, machine in enumerate(slow.machines) if machine.nb_jobs
    )
    for off in (SLEEPING, ON, OFF):
        assert fast.off(-1, off) == sum(
            1 << at for at, machine in enumerate(slow.machines) if machine.off is off
        )


def test_many_changes_are_forgotten_but_the_last_of_each() -> None:
    """Ten thousand changes of one machine leave the others' times as they are."""
    fast, slow = TracedMachines(NB, traced=False), Twin(NB, False, 0)
    for at in range(10_000):
        what = "release" if at % 2 else "occupy"
        getattr(fast, what)(1 if at else 3, float(at))
        slow.do(what, 1 if at else 3, float(at))
        if at == 1:
            fast.release(2, 1.0)
            slow.do("release", 2, 1.0)
    assert fast.times() == slow.times()
    assert list(fast.rows()) == []


WORDS: dict[str, tuple[int, str]] = {
    "a machine that computes": (1, "machine 0 is computing"),
    "one that sleeps": (2, "machine 1 is sleeping"),
    "one that is switched on": (4, "machine 2 is switching_on"),
    "one that is switched off": (8, "machine 3 is switching_off"),
    "one that is gone, whatever else": (16, "machine 4 is unavailable"),
    "one that never was": (32, "machine 5 is not on this platform"),
    "of several the first": (2 | 4 | 32, "machine 1 is sleeping"),
}


@pytest.mark.parametrize(("sharing", "wanted"), [(False, "idle"), (True, "idle or computing")])
@pytest.mark.parametrize("sentence", WORDS)
def test_why_not(sentence: str, sharing: bool, wanted: str) -> None:
    machines, reason = WORDS[sentence]
    traced = TracedMachines(5, sharing=sharing, asleep=2 | 16)
    traced.occupy(1, 0.0)
    traced.switch(4, ON, 0.0)
    traced.switch(8, OFF, 0.0)
    traced.withdraw(16, 0.0)
    assert traced.why_not(machines) == f"{reason}; expected {wanted} ones, from 0 to 4"


def test_machines_that_only_compute() -> None:
    """Without states: what is free, and nothing more."""
    machines = Machines(3)
    machines.occupy(0b011, 1.0)
    assert machines.free == 0b100
    machines.release(0b001, 2.0)
    assert machines.free == 0b101
    assert machines.why_not(0b010) == "machine 1 is in use; expected idle ones, from 0 to 2"
    assert machines.why_not(0b11000).startswith("machine 3 is not on this platform")
