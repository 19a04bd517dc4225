"""What a policy may decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from batsched_py.model.job import Job

if TYPE_CHECKING:
    from procset import ProcSet


class Start(msgspec.Struct, gc=False, eq=False):
    """Run ``job`` now, on ``processors``.

    These are a :class:`procset.ProcSet`, a bitmask, or None for the lowest free ones; their
    number is the size of the job.
    """

    job: Job
    processors: int | ProcSet | None = None


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
"""What :meth:`Scheduler.schedule` yields."""
