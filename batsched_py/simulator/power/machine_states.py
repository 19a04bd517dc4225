"""The states of machines: the time in each state, and the number of machines in it."""

from __future__ import annotations

from collections.abc import Iterator

from batsched_py.files.packed_rows import PackedList
from batsched_py.processors.last_times import LastTimes
from batsched_py.processors.pool import ProcessorPool
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.simulator.machines import Machines, MachineState

_OFF = (MachineState.SLEEPING, MachineState.SWITCHING_ON, MachineState.SWITCHING_OFF)
_STATES = (*_OFF, MachineState.IDLE, MachineState.COMPUTING, MachineState.UNAVAILABLE)
IDLE, COMPUTING = _STATES.index(MachineState.IDLE), _STATES.index(MachineState.COMPUTING)


class TracedMachines(Machines):
    """Machines in all of Batsim's states, with the time spent in each and a trace of numbers.

    A machine may run several jobs (``sharing``), sleep, be switched, or be unavailable, which does
    not change its jobs or its sleep. ``asleep`` are the machines that sleep in the beginning,
    ``traced``: whether the trace is kept.
    """

    def __init__(
        self,
        nb_machines: int,
        *,
        sharing: bool = False,
        asleep: ProcessorSet = NO_PROCESSORS,
        traced: bool = True,
    ) -> None:
        super().__init__(nb_machines)
        self.traced = traced
        self._sharing = sharing
        self._nb_jobs: dict[int, int] = {}
        """The number of jobs on each machine, if several may run there."""
        pool = type(self._idle)
        self._busy, self._unavailable = pool(NO_PROCESSORS), pool(NO_PROCESSORS)
        self._off = {state: pool(NO_PROCESSORS) for state in _OFF}
        self._in = [pool(NO_PROCESSORS) for _ in _STATES]
        """The machines in each state, in the order of ``_STATES``."""
        self._in[IDLE] = self._idle
        self._computing = self._in[COMPUTING]
        self._counts = [len(members) for members in self._in]
        self._times = [0.0] * len(_STATES)
        self._last = 0.0
        """The last time up to which times were counted."""
        self._changes = LastTimes(self._all)
        """The last change of the state of each machine."""
        self._changes.note(0.0, self._all)
        self._rows: PackedList[tuple[float, ...]] = PackedList()
        self.switch(asleep, MachineState.SLEEPING, 0.0)

    @property
    def nb_free(self) -> int:
        """Number of machines that may start a job."""
        return self._counts[IDLE] + (self._counts[COMPUTING] if self._sharing else 0)

    def occupy(self, alloc: ProcessorSet, now: float) -> bool:
        """Let a job start on ``alloc`` if all of it may start one; return whether it does."""
        idle = self._idle.intersect(alloc)
        if idle.size < alloc.size and self.find_not_free(alloc):
            return False
        if self._sharing:
            for machine in alloc:
                self._nb_jobs[machine] = self._nb_jobs.get(machine, 0) + 1
        self._busy.give_back(idle)
        self._count_times(now)
        self._move(idle, IDLE, COMPUTING)
        self._note_change(idle, now)
        self.trace(now)
        return True

    def release(self, alloc: ProcessorSet, now: float) -> None:
        """Free the machines ``alloc`` of a job that ended."""
        if self._sharing:
            for machine in alloc:
                self._nb_jobs[machine] -= 1
            left = [machine for machine in alloc if not self._nb_jobs[machine]]
            if len(left) < len(alloc):
                alloc = ProcessorSet.of(left)
        self._busy.take(alloc)
        computed = self._computing.intersect(alloc)
        self._count_times(now)
        self._move(computed, COMPUTING, IDLE)
        self._note_change(computed, now)
        self.trace(now)

    def withdraw(self, machines: ProcessorSet, now: float) -> None:
        """Make machines unavailable: their jobs keep running, but no job can start."""
        self._unavailable.give_back(machines - self._unavailable.intersect(machines))
        self._update(machines, now)

    def give_back(self, machines: ProcessorSet, now: float) -> None:
        """Make machines available again."""
        self._unavailable.take(self._unavailable.intersect(machines))
        self._update(machines, now)

    def switch(self, machines: ProcessorSet, state: MachineState | None, now: float) -> None:
        """Set ``state``: asleep or being switched on or off; None: the machines are on."""
        for off in self._off.values():
            off.take(off.intersect(machines))
        if state is not None:
            self._off[state].give_back(machines)
        self._update(machines, now)

    def busy(self, machines: ProcessorSet) -> ProcessorSet:
        """Return the part of the ``machines`` that runs jobs."""
        return self._busy.intersect(machines)

    def off(self, machines: ProcessorSet, *states: MachineState) -> ProcessorSet:
        """Return the part of the ``machines`` in one of ``states``: asleep or being switched."""
        off = NO_PROCESSORS
        for state in states:
            off |= self._off[state].intersect(machines)
        return off

    def find_not_free(self, machines: ProcessorSet) -> ProcessorSet:
        """Return the part of the ``machines`` that may not start a job."""
        others = super().find_not_free(machines)
        return others - self._computing.intersect(others) if self._sharing else others

    def _state(self, machine: int) -> str:
        of_one = ProcessorSet.interval(machine, 1)
        pools = zip(_STATES, self._in, strict=True)
        return next(state.value for state, pool in pools if pool.intersect(of_one))

    def _wanted(self) -> str:
        others = " or computing" if self._sharing else ""
        return f"expected idle{others} ones, from 0 to {len(self._all) - 1}"

    def trace(self, now: float) -> None:
        """Add the number of machines in each state to the trace."""
        if self.traced:  # all states but the unavailable
            self._rows.append((now, *self._counts[:-1]))

    def rows(self) -> Iterator[tuple[float, ...]]:
        """Yield the trace: time, and how many sleep, switch on, switch off, idle, compute."""
        return iter(self._rows)

    def times(self) -> dict[MachineState, float]:
        """Return the machine-seconds in each state.

        As in Batsim, the time of a machine counts when its state changes, so its last state does
        not count.
        """
        changes = self._changes.all()
        times = {}
        for state, counted, members in zip(_STATES, self._times, self._in, strict=True):
            for time, changed in changes:
                counted -= (self._last - time) * len(members.intersect(changed))
            times[state] = max(0.0, counted)  # no -0.000000
        return times

    def _update(self, machines: ProcessorSet, now: float) -> None:
        """Find the states of ``machines`` anew: the first of the states below that applies."""
        self._count_times(now)
        changed = NO_PROCESSORS
        left = machines
        for state, members in (
            (MachineState.UNAVAILABLE, self._unavailable),
            *self._off.items(),
            (MachineState.COMPUTING, self._busy),
            (MachineState.IDLE, ProcessorPool(machines)),
        ):
            to, come = _STATES.index(state), members.intersect(left)
            left -= come
            for before, those in enumerate(self._in):
                if before != to and (moved := those.intersect(come)):
                    self._move(moved, before, to)
                    changed |= moved
        self._note_change(changed, now)

    def _move(self, machines: ProcessorSet, before: int, after: int) -> None:
        """Move machines between two states, which are places in ``_STATES``."""
        self._in[before].take(machines)
        self._in[after].give_back(machines)
        self._counts[before] -= machines.size
        self._counts[after] += machines.size

    def _count_times(self, now: float) -> None:
        """Count the times until now, before any state changes."""
        if now > self._last:
            past, self._last = now - self._last, now
            for at, count in enumerate(self._counts):
                if count:
                    self._times[at] += past * count

    def _note_change(self, machines: ProcessorSet, now: float) -> None:
        if machines:
            self._changes.note(now, machines)
