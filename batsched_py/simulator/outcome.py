"""Defines the outcome of a simulation: ended jobs, number of messages, size of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from batsched_py.errors import DeadlockError, SimulationError, describe_waiting_jobs
from batsched_py.processors.sets import ProcessorSet
from batsched_py.simulator.jobs import SUBMITTED, SimulatedJob
from batsched_py.units import UP_TO_LATEST_TIME

if TYPE_CHECKING:
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
    changes: Sequence[tuple[float, ProcessorSet, str]] = ()
    """Times (seconds) at which processors entered a state, where the scheduler knows it."""


def make_deadlock_error(
    now: float,
    unfinished: Sequence[SimulatedJob],
    nb_processors: int,
    nb_free: int,
    *,
    any_started: bool,
    reason: str = "",
) -> DeadlockError:
    """Return the error for jobs that are ``unfinished`` when nothing can happen any more."""
    waiting = [job.description.id for job in unfinished]
    head = next((job.description for job in unfinished if job.state is SUBMITTED), None)
    text = describe_waiting_jobs(
        waiting,
        nb_processors,
        nb_free,
        None if head is None else (head.id, head.size),
        any_started=any_started,
        reason=reason,
    )
    return DeadlockError(f"deadlock at {now}: nothing can happen any more, but {text}", waiting)


def make_late_error(now: float, ended: Sequence[str]) -> SimulationError:
    """Return the error for a time so late that floats do not resolve it.

    ``ended`` are the ids of the jobs that would end then.
    """
    what = f"job {ended[0]} would end" if ended else "something would happen"
    return SimulationError(f"{what} at {now:g}: expected {UP_TO_LATEST_TIME}")
