"""The states of the machines: for how long each was in which, and how many are in each."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from operator import itemgetter

from batsched_py.simulator.machines import Machines
from batsched_py.support.processor_sets import numbers
from batsched_py.support.temporary_rows import SpooledList


class MachineState(Enum):
    """What a machine does, in Batsim's words."""

    IDLE = "idle"
    COMPUTING = "computing"
    SLEEPING = "sleeping"
    SWITCHING_ON = "switching_on"
    SWITCHING_OFF = "switching_off"
    UNAVAILABLE = "unavailable"


_OFF = (MachineState.SLEEPING, MachineState.SWITCHING_ON, MachineState.SWITCHING_OFF)
_AT_ONCE = 4096
_STATES = (*_OFF, MachineState.IDLE, MachineState.COMPUTING, MachineState.UNAVAILABLE)


class LastTimes:
    """The time (seconds) at which something last happened to each machine."""

    def __init__(self) -> None:
        self._noted: list[tuple[float, int]] = []
        self._most = _AT_ONCE

    def note(self, time: float, machines: int) -> None:
        """Let it happen to machines."""
        self._noted.append((time, machines))
        if len(self._noted) > self._most:
            self._most = 2 * len(self.all()) + _AT_ONCE

    def all(self) -> list[tuple[float, int]]:
        """Return the times with the machines for which they are the last, latest first."""
        seen, last = 0, []
        for time, machines in sorted(self._noted, key=itemgetter(0), reverse=True):
            if unseen := machines & ~seen:
                last.append((time, unseen))
                seen |= unseen
        self._noted = last
        return last


class TracedMachines(Machines):
    """Machines with all of Batsim's states, the time spent in each, and a trace of their numbers.

    A machine may run several jobs (``sharing``), sleep, be switched, or be unavailable, which does
    not change what it runs or whether it sleeps. ``asleep`` are those that sleep in the
    beginning, ``traced`` says whether the trace is kept.
    """

    def __init__(
        self, nb_machines: int, *, sharing: bool = False, asleep: int = 0, traced: bool = True
    ) -> None:
        super().__init__(nb_machines)
        self.traced = traced
        self._sharing = sharing
        self._nb_jobs: dict[int, int] | None = {} if sharing else None
        self._busy = 0
        self._unavailable = 0
        self._off = dict.fromkeys(_OFF, 0) | {MachineState.SLEEPING: asleep}
        self._sets = [0] * len(_STATES)
        """The machines in each state, in the order of ``_STATES``, and how many they are."""
        self._counts = [0] * len(_STATES)
        self._times = [0.0] * len(_STATES)
        self._last = 0.0
        """When the times were last counted."""
        self._changes = LastTimes()
        """When machines changed their states."""
        self._changes.note(0.0, self._all)
        self._rows: SpooledList[tuple[float, ...]] = SpooledList()
        self._update(0.0)

    def occupy(self, alloc: int, now: float) -> None:
        """Let a job start on ``alloc``."""
        if self._nb_jobs is not None:
            for machine in numbers(alloc):
                self._nb_jobs[machine] = self._nb_jobs.get(machine, 0) + 1
        self._busy |= alloc
        self._update(now)
        self.trace(now)

    def release(self, alloc: int, now: float) -> None:
        """Let a job on ``alloc`` end."""
        if self._nb_jobs is not None:
            for machine in numbers(alloc):
                self._nb_jobs[machine] -= 1
                if self._nb_jobs[machine]:  # another job runs there
                    alloc &= ~(1 << machine)
        self._busy &= ~alloc
        self._update(now)
        self.trace(now)

    def withdraw(self, machines: int, now: float) -> None:
        """Make machines unavailable: their jobs go on, but none can be started."""
        self._unavailable |= machines
        self._update(now)

    def give_back(self, machines: int, now: float) -> None:
        """Make machines available again."""
        self._unavailable &= ~machines
        self._update(now)

    def switch(self, machines: int, state: MachineState | None, now: float) -> None:
        """Let machines sleep, or be switched on or off; None: they are on."""
        for other in _OFF:
            self._off[other] &= ~machines
        if state is not None:
            self._off[state] |= machines
        self._update(now)

    def busy(self, machines: int) -> int:
        """Return those of ``machines`` that run jobs."""
        return machines & self._busy

    def off(self, machines: int, *states: MachineState) -> int:
        """Return those of ``machines`` that sleep or are being switched, as ``states`` say."""
        off = 0
        for state in states:
            off |= self._off[state]
        return machines & off

    def _state(self, machine: int) -> str:
        for state, machines in zip(_STATES, self._sets, strict=True):
            if machine & machines:
                return state.value
        raise AssertionError(machine)

    def _wanted(self) -> str:
        others = " or computing" if self._sharing else ""
        return f"expected idle{others} ones, from 0 to {self._all.bit_length() - 1}"

    def trace(self, now: float) -> None:
        """Note how many machines are in each state."""
        if self.traced:
            self._rows.append((now, *self._counts[:-1]))  # all but the unavailable

    def rows(self) -> Iterator[tuple[float, ...]]:
        """Yield the trace: time, and how many sleep, switch on, switch off, idle, compute."""
        return iter(self._rows)

    def times(self) -> dict[MachineState, float]:
        """Return the machine-seconds in each state.

        As in Batsim, the time of a machine is counted when its state changes, so what it was in
        last is not.
        """
        changes = self._changes.all()
        times = {}
        for state, counted, machines in zip(_STATES, self._times, self._sets, strict=True):
            for time, changed in changes:
                counted -= (self._last - time) * (machines & changed).bit_count()
            times[state] = max(0.0, counted)  # no -0.000000
        return times

    def _update(self, now: float) -> None:
        """Count the times until now, and set the states anew."""
        if now > self._last:
            past, self._last = now - self._last, now
            for at, count in enumerate(self._counts):
                if count:
                    self._times[at] += past * count
        off = [machines & ~self._unavailable for machines in self._off.values()]
        on = self._all & ~self._unavailable
        for machines in off:
            on &= ~machines
        idle = on & ~self._busy
        sets = [*off, idle, on & self._busy, self._unavailable]
        self.free = idle if self._nb_jobs is None else on
        changed = 0
        for before, machines in zip(self._sets, sets, strict=True):
            changed |= before ^ machines
        if changed:
            self._sets = sets
            self._counts = [machines.bit_count() for machines in sets]
            self._changes.note(now, changed)
