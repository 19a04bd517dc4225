"""Which machines are free."""

from __future__ import annotations


class Machines:
    """Which machines may start a job: all that a simulation of computations needs to know.

    Sets of machines are bitmasks; times are in seconds.
    """

    def __init__(self, nb_machines: int) -> None:
        self.free = self._all = (1 << nb_machines) - 1

    def occupy(self, alloc: int, now: float) -> None:
        """Let a job start on ``alloc``."""
        self.free &= ~alloc

    def release(self, alloc: int, now: float) -> None:
        """Let a job on ``alloc`` end."""
        self.free |= alloc

    def why_not(self, machines: int) -> str:
        """Say in words what keeps the first of ``machines`` from starting a job."""
        first = machines & -machines
        state = self._state(first) if first & self._all else "not on this platform"
        return f"machine {first.bit_length() - 1} is {state}; {self._wanted()}"

    def _state(self, machine: int) -> str:
        return "in use"

    def _wanted(self) -> str:
        return f"expected idle ones, from 0 to {self._all.bit_length() - 1}"
