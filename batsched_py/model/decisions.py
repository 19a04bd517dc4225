"""What a policy may decide, and what a policy is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from batsched_py.model.job import Job
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue


class Start(msgspec.Struct, gc=False, eq=False):
    """Run ``job`` now, on ``processors`` (a bitmask; None = the lowest free ones)."""

    job: Job
    processors: int | None = None


class Reject(msgspec.Struct, gc=False, eq=False):
    """Refuse ``job``, which waits: it will never run and counts as ended."""

    job: Job


class Kill(msgspec.Struct, gc=False, eq=False):
    """End ``job``, which runs, now."""

    job: Job


class CallMeLater(msgspec.Struct, gc=False, eq=False):
    """Run a scheduling pass at ``time`` (seconds, later than now) even if nothing happens."""

    time: float


Decision = Start | Reject | Kill | CallMeLater


class Scheduler(Protocol):
    """A policy: a function of the state of the system.

    The decision process calls :meth:`schedule` once per instant, after all job ends and
    submissions of that instant. Each decision is carried out when it is yielded, so that
    ``queue`` and ``machine`` are up to date when the generator goes on.
    """

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        """Yield decisions for the instant ``now`` (seconds)."""
        ...
