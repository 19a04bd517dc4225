"""The jobs of a recorded simulation, with the times of their events and their processors."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.processors.sets import NO_PROCESSORS, ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.protocol.dilated_jobs import is_placed
from batsched_py.support.json_values import did_you_mean


class Life(msgspec.Struct):
    """A job and the times of its events in seconds, None for events that did not happen."""

    id: str
    number: int
    """Rank of its submission."""
    size: int
    submit_time: float
    estimate: float
    """Run time that the policy plans with, inf where nothing is known."""
    extra: dict[str, Any]
    start: float | None = None
    end: float | None = None
    processors: ProcessorSet = NO_PROCESSORS
    """Allocated processors."""
    state: str = "WAITING"
    """``WAITING``, ``RUNNING``, ``REJECTED``, ``WITHDRAWN``, or Batsim's final state."""
    dilation: float = 1.0
    transfer: float = 0.0

    @property
    def expected_end(self) -> float:
        """The end of the job by its estimate (seconds); inf if it is unknown."""
        if self.start is None:
            return inf
        return self.start + self.estimate * self.dilation + self.transfer

    @property
    def nb_processors(self) -> int:
        """Number of processors of the run, which may differ from the size of the job."""
        return len(self.processors)


def list_jobs(messages: Iterable[tuple[m.Message, m.Message]]) -> list[str]:
    """Return the ids of the jobs that recorded messages submit, in order."""
    submitted: dict[str, None] = {}
    for message, reply in messages:
        for event in (*message.events, *reply.events):
            if isinstance(event, m.JobSubmitted | m.RegisterJob) and not is_placed(event.job_id):
                submitted[event.job_id] = None
    return list(submitted)


def find_job(wanted: str, ids: list[str]) -> str:
    """Return the full id of a job that a user names by its id or its number.

    Raises :class:`UsageError` for no such job, and for several.
    """
    if wanted in ids:
        return wanted
    meant = [name for name in ids if name.partition("!")[2] == wanted]
    if not meant:
        near = "" if wanted.isdigit() else did_you_mean(wanted, ids)  # numbers are all alike
        hint = near or (f"; its jobs are {ids[0]} to {ids[-1]}" if ids else "; it has no jobs")
        raise UsageError(f"{parameter('job')} {wanted}: there is no such job in the log{hint}")
    if len(meant) > 1:
        raise UsageError(f"{parameter('job')} {wanted}: which one, {' or '.join(meant)}?")
    return meant[0]
