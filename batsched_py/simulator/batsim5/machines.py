"""Machines and their power under Batsim 5, where it differs from Batsim 4.2.

Source: the behaviour of Batsim 5.0.0-rc2.
"""

from __future__ import annotations

from batsched_py.errors import ProtocolError
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet, to_text
from batsched_py.protocol import messages as m
from batsched_py.simulator.machines import MachineState
from batsched_py.simulator.power.machine_states import COMPUTING, IDLE, TracedMachines
from batsched_py.simulator.power.power_states import PowerManagement


class MachinesOfBatsim5(TracedMachines):
    """The machines of Batsim 5.0.0-rc2, which counts a machine as computing after its first job.

    This ends when the machine is switched. Machines may always run several jobs, and the time of a
    computing machine is counted at each start on it.
    """

    def occupy(self, alloc: ProcessorSet, now: float) -> bool:
        """Let a job start on ``alloc`` if all of it may start one; return whether it does."""
        if self.find_not_free(alloc):
            return False
        for machine in alloc:
            self._nb_jobs[machine] = self._nb_jobs.get(machine, 0) + 1
        self._busy.give_back(alloc - self._busy.intersect(alloc))
        self._count_times(now)
        self._move(self._idle.intersect(alloc), IDLE, COMPUTING)
        self._note_change(alloc, now)
        self.trace(now)
        return True

    def release(self, alloc: ProcessorSet, now: float) -> None:
        """Free the machines ``alloc`` of a job that ended."""
        for machine in alloc:
            self._nb_jobs[machine] -= 1
        self._busy.take(ProcessorSet.of(at for at in alloc if not self._nb_jobs[at]))
        self.trace(now)


class PowerManagementOfBatsim5(PowerManagement):
    """Turns machines on and off, and changes their pstates, as Batsim 5 does.

    Turning is as in Batsim 4.2. A pstate may be changed to any that they have, at
    once and whatever they run, which is noted once, before it happens.
    """

    _turned = True
    astray: ProcessorSet = NO_PROCESSORS
    """Machines that were changed to a pstate in which they do not compute: no job can start."""

    def switch(self, decision: m.SetResourceState) -> None:
        """Turn machines on or off, or change their pstate, as ``decision`` requests."""
        if decision.turned:
            super().switch(decision)
            return
        machines, pstate, now = decision.resources, self._pstate(decision), self._agenda.now
        doing = f"SET_RESOURCE_STATE of {to_text(machines)!r} to {pstate}"
        self._refuse_switched(doing, machines)
        for host in machines:
            if pstate >= (most := len(self._hosts[host].speeds)):
                raise ProtocolError(
                    f"{doing}: machine {host} ({self._hosts[host].name}) has the pstates 0 to "
                    f"{most - 1}"
                )
        self.energy.note("p", now)
        asleep, astray = self._machines.off(machines, MachineState.SLEEPING), []
        for host in machines:
            self.energy.set_pstate(host, pstate, now)
            self._tasks.set_speed(host, self._hosts[host].speeds[pstate], now)
            sleeps = self._sleeps(host, pstate) and host not in asleep
            if sleeps or pstate in self.energy.states[host].passing:
                astray.append(host)
        self.astray = (self.astray - machines) | ProcessorSet.of(astray)
        self._trace(now, machines, pstate)
        self._tell(machines, pstate, turned=False)

    def _check(self, machines: ProcessorSet, pstate: int) -> ProcessorSet:
        doing = f"SET_RESOURCE_STATE of {to_text(machines)!r} to {pstate}"
        sleeping = super()._check(machines, pstate)
        changed = [host for host in sleeping if not self._sleeps(host, self.energy.pstate(host))]
        if lost := (machines & self.astray) - sleeping | ProcessorSet.of(changed):
            raise ProtocolError(
                f"{doing}: {to_text(lost)!r} was changed to a pstate of another kind without "
                "being turned on or off: change it back"
            )
        if not self._sleeps(next(iter(machines)), pstate) and (on := machines - sleeping):
            raise ProtocolError(f"{doing}: {to_text(on)!r} is on already")
        return sleeping
