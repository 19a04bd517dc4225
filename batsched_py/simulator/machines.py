"""The states of machines, and the machines that are free."""

from __future__ import annotations

from enum import Enum

from batsched_py.processors.bits import make_pool
from batsched_py.processors.sets import ProcessorSet


class MachineState(Enum):
    """The state of a machine, in Batsim's words."""

    IDLE = "idle"
    COMPUTING = "computing"
    SLEEPING = "sleeping"
    SWITCHING_ON = "switching_on"
    SWITCHING_OFF = "switching_off"
    UNAVAILABLE = "unavailable"


class Machines:
    """The machines of a platform as idle or in use, which suffices without energy and failures.

    Times are in seconds.
    """

    def __init__(self, nb_machines: int) -> None:
        self._all = ProcessorSet.interval(0, nb_machines)
        self._idle = make_pool(self._all)

    @property
    def nb_free(self) -> int:
        """Number of machines that may start a job."""
        return len(self._idle)

    def occupy(self, alloc: ProcessorSet, now: float) -> bool:
        """Let a job start on ``alloc`` if all of it may start one; return whether it does."""
        return self._idle.take(alloc)

    def release(self, alloc: ProcessorSet, now: float) -> None:
        """Free the machines ``alloc`` of a job that ended."""
        self._idle.give_back(alloc)

    def find_not_free(self, machines: ProcessorSet) -> ProcessorSet:
        """Return the part of the ``machines`` that may not start a job."""
        return machines - self._idle.intersect(machines)

    def explain_refusal(self, machines: ProcessorSet) -> str:
        """Return why the first of ``machines`` cannot start a job, for an error message."""
        first = next(iter(machines))
        state = self._state(first) if first in self._all else "not on this platform"
        return f"machine {first} is {state}; {self._wanted()}"

    def _state(self, machine: int) -> str:
        return "in use"

    def _wanted(self) -> str:
        return f"expected idle ones, from 0 to {len(self._all) - 1}"
