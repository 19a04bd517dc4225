"""Defines the outcome of a simulation: ended jobs, number of messages, size of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from batsched_py.simulator.jobs import SimulatedJob
    from batsched_py.simulator.power.machine_states import TracedMachines
    from batsched_py.simulator.power.power_states import PowerManagement


class Outcome(msgspec.Struct):
    """The outcome of a simulation: its jobs in order of completion, and counts."""

    jobs: Sequence[SimulatedJob]
    nb_messages: int
    nb_processors: int
    end: float = 0.0
    """Seconds: the time of the last message."""
    nb_storages: int = 0
    machines: TracedMachines | None = None
    """The states of the machines, if they were followed."""
    power: PowerManagement | None = None
    """Energy and pstates, if they were accounted for."""
