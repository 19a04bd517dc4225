"""Pstates: switches machines to another speed, to sleep and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from batsched_py.errors import ProtocolError
from batsched_py.files.packed_rows import PackedList
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, to_text
from batsched_py.protocol import messages as m
from batsched_py.simulator.agenda import Agenda
from batsched_py.simulator.energy import Energy
from batsched_py.simulator.machines import MachineState
from batsched_py.simulator.platform.hosts import Platform
from batsched_py.simulator.power.machine_states import TracedMachines
from batsched_py.simulator.tasks.parallel_tasks import ParallelTasks

_TO_COMPUTATION, _TO_SLEEP = -1, -2
"""The pstates in Batsim's trace of machines that are being switched."""
_NUMBER = re.compile("[0-9]{1,9}")


class PowerManagement:
    """Carries out SET_RESOURCE_STATE, and traces it as Batsim does."""

    _turned: bool | None = None
    """Whether events report that machines were turned; None: they do not, as in Batsim 4.2."""

    def __init__(
        self,
        agenda: Agenda,
        platform: Platform,
        machines: TracedMachines,
        energy: Energy,
        tasks: ParallelTasks,
    ) -> None:
        self._agenda, self._hosts = agenda, platform.hosts
        self._machines, self.energy, self._tasks = machines, energy, tasks
        self.nb_requests = 0
        self.nb_switches = 0
        """Number of machines switched, over all requests."""
        self._changes: PackedList[tuple[float, str, int]] = PackedList()
        first: dict[int, list[int]] = {}
        for number, host in enumerate([*platform.hosts, *platform.storages]):
            first.setdefault(host.pstate, []).append(number)
        for pstate in sorted(first):
            self._changes.append((0.0, to_text(ProcessorSet.of(first[pstate])), pstate))

    def changes(self) -> Iterator[tuple[float, str, int]]:
        """Yield the changes of pstates: time, machines, and new pstate (-1, -2: being switched)."""
        return iter(self._changes)

    def consumed(self) -> float:
        """Return the joules that all machines have consumed until now."""
        return float(self.energy.total(self._agenda.now))

    def switch(self, decision: m.SetResourceState) -> None:
        """Switch machines to a pstate; RESOURCE_STATE_CHANGED is sent when all have reached it.

        Raises :class:`ProtocolError` for a pstate that does not exist, or that
        is only passed, machines that run jobs or are being switched, from sleep to sleep.
        """
        machines, pstate, now = decision.resources, self._pstate(decision), self._agenda.now
        sleeping = self._check(machines, pstate)
        to_sleep = self._sleeps(next(iter(machines)), pstate)
        self.nb_requests += 1
        self.nb_switches += len(machines)
        self.energy.note("p", now)
        self._trace(now, machines, _TO_SLEEP if to_sleep else _TO_COMPUTATION)
        times: dict[float, list[int]] = {}
        for host in machines:
            lasts = self._begin(host, pstate, to_sleep, host in sleeping, now)
            times.setdefault(lasts, []).append(host)
        if to_sleep:
            self._machines.switch(machines, MachineState.SWITCHING_OFF, now)
        self._machines.switch(sleeping, MachineState.SWITCHING_ON, now)
        self._machines.trace(now)
        if times.keys() == {0.0}:  # from one speed to another: at once, and traced once
            self._done(machines, pstate, now)
            return
        times.pop(0.0, None)  # these are there, and may be switched again before the others are
        longest = max(times)
        for lasts, hosts in sorted(times.items()):
            done = machines if lasts == longest else NO_PROCESSORS
            reached = partial(self._reached, ProcessorSet.of(hosts), pstate, to_sleep, done)
            self._agenda.at(now + lasts, reached)

    def _reached(
        self, hosts: ProcessorSet, pstate: int, to_sleep: bool, done: ProcessorSet
    ) -> None:
        """Put ``hosts`` into their new pstate; they are the last ones of ``done``, unless empty."""
        now = self._agenda.now
        for host in hosts:
            self.energy.set_pstate(host, pstate, now, load=0.0)
            self._tasks.set_speed(host, self._hosts[host].speeds[pstate], now)
        self._machines.switch(hosts, MachineState.SLEEPING if to_sleep else None, now)
        if done:  # reported after all changes of this instant
            self._agenda.at(now, partial(self._all_reached, done, pstate))

    def _all_reached(self, machines: ProcessorSet, pstate: int) -> None:
        self._machines.trace(self._agenda.now)
        self._done(machines, pstate, self._agenda.now)

    def _begin(self, host: int, pstate: int, to_sleep: bool, sleeping: bool, now: float) -> float:
        """Begin to switch a host; return how long that takes, seconds."""
        states = self.energy.states[host]
        if not to_sleep and not sleeping:
            self.energy.set_pstate(host, pstate, now)
            self._tasks.set_speed(host, self._hosts[host].speeds[pstate], now)
            return 0.0
        if to_sleep:
            passed = states.sleep[pstate].switch_off
        else:
            passed = states.sleep[self.energy.pstate(host)].switch_on
        self.energy.set_pstate(host, passed, now, load=1.0)
        return 1 / self._hosts[host].speeds[passed]

    def _done(self, machines: ProcessorSet, pstate: int, now: float) -> None:
        self.energy.note("p", now)
        self._trace(now, machines, pstate)
        self._tell(machines, pstate, turned=self._turned)

    def _tell(self, machines: ProcessorSet, pstate: int, *, turned: bool | None) -> None:
        now, state = self._agenda.now, str(pstate)
        self._agenda.send(
            m.ResourceStateChanged(timestamp=now, resources=machines, state=state, turned=turned)
        )

    def _trace(self, now: float, machines: ProcessorSet, pstate: int) -> None:
        self._changes.append((now, to_text(machines), pstate))

    def _pstate(self, decision: m.SetResourceState) -> int:
        machines, state = decision.resources, decision.state
        if not machines or machines.bounds[-1] > len(self._hosts) or not _NUMBER.fullmatch(state):
            raise ProtocolError(
                f"SET_RESOURCE_STATE: {to_text(machines)!r} to {state!r}, expected machines from "
                f"0 to {len(self._hosts) - 1} and the number of a pstate as text"
            )
        return int(state)

    def _check(self, machines: ProcessorSet, pstate: int) -> ProcessorSet:
        """Raise :class:`ProtocolError` unless all can be switched; return those that sleep."""
        doing = f"SET_RESOURCE_STATE of {to_text(machines)!r} to {pstate}"
        self._refuse_switched(doing, machines)
        to_sleep = self._sleeps(next(iter(machines)), pstate)
        for host in machines:
            states = self.energy.states[host]
            if pstate >= len(states.watts) or pstate in states.passing:
                stays = [at for at in range(len(states.watts)) if at not in states.passing]
                raise ProtocolError(
                    f"{doing}: machine {host} ({self._hosts[host].name}) has no such pstate to "
                    f"be in, expected one of {stays}"
                    + (f"; it passes {sorted(states.passing)}" if states.passing else "")
                )
            if self._sleeps(host, pstate) != to_sleep:
                raise ProtocolError(f"{doing}: for some of them that is a sleep pstate")
        sleeping = self._machines.off(machines, MachineState.SLEEPING)
        if to_sleep and (sleeping or self._machines.busy(machines)):
            raise ProtocolError(
                f"{doing}: {to_text(sleeping or self._machines.busy(machines))!r} "
                + ("sleeps already" if sleeping else "runs jobs: only idle machines may sleep")
            )
        return sleeping

    def _refuse_switched(self, doing: str, machines: ProcessorSet) -> None:
        switched = self._machines.off(
            machines, MachineState.SWITCHING_ON, MachineState.SWITCHING_OFF
        )
        if switched:
            raise ProtocolError(f"{doing}: {to_text(switched)!r} is being switched")

    def _sleeps(self, host: int, pstate: int) -> bool:
        return pstate in self.energy.states[host].sleep
