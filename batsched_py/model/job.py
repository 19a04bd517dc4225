"""A job as the scheduler and its policy see it."""

from __future__ import annotations

from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any

import msgspec

from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet

if TYPE_CHECKING:
    from batsched_py.workload.node_shares import Demand


class JobState(Enum):
    """The state of a job: waiting, running or ended."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"


WAITING, RUNNING, ENDED = JobState
"""The same as constants: CPython 3.11 looks up a member as slowly as it calls a function."""


class Job(msgspec.Struct, eq=False, gc=False):
    """A submitted job as policies see it.

    Policies read it and never change it; two jobs are the same only if they are one object.
    """

    id: str
    """Batsim's id, e.g. ``w0!15``."""
    number: int
    """Rank of its submission: 0 for the first job that the process saw."""
    size: int
    """Number of processors."""
    walltime: float | None
    """Time limit in seconds after which the job is killed; None = no limit."""
    estimate: float
    """Run time in seconds to plan with: the walltime unless the workload has an estimate, inf
    where nothing is known."""
    submit_time: float
    extra: dict[str, Any]
    """Further fields of the job in the workload."""
    user: str = ""
    """Who submitted it, ``""`` if unknown."""
    state: JobState = WAITING
    start_time: float = inf
    """When it begins to run, seconds: later than now while its processors are woken."""
    expected_end: float = inf
    """``start_time + estimate`` once it runs, dilated as it was decided."""
    processors: ProcessorSet = NO_PROCESSORS
    """Allocated processors."""
    home: int = 0
    """Number of the site whose user submitted it."""
    partition: int = 0
    """Place of its partition among the partitions of the machine."""
    dilation: float = 1.0
    """The run time where it runs, as a multiple of the recorded one."""
    transfer: float = 0.0
    """Further seconds that it runs there."""
    waking: float = 0.0
    """Seconds from the decision to start it until its processors were awake, once it runs."""
    demand: Demand | None = None
    """What it needs of nodes, where jobs hold GPUs and memory of nodes besides cores."""

    def lasts(self, dilation: float = 1.0, transfer: float = 0.0) -> float:
        """Return the estimate (seconds) of a placement with this dilation and transfer."""
        return self.estimate * dilation + transfer
