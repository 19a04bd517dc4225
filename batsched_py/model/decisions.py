"""The decisions of a policy: start, reject, kill a job, be called later, switch processors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from batsched_py.model.job import Job

if TYPE_CHECKING:
    from collections.abc import Iterable

    from procset import ProcSet

    from batsched_py.processors.sets import ProcessorSet


class Start(msgspec.Struct, gc=False, eq=False):
    """Run ``job`` now, on ``processors``.

    These are a :class:`~batsched_py.processors.sets.ProcessorSet`, a
    :class:`procset.ProcSet`, numbers such as ``[0, 1]``, or None for the lowest free ones; there
    are as many as the size of the job. Sleeping ones are woken, and the job begins when the last
    of its processors is awake; None takes those that are ready first.

    If the run time depends on the placement, the job runs ``dilation`` times as long as recorded,
    and ``transfer`` seconds more (its data must arrive first). Its estimate and its walltime change
    alike, and it may then get another number of processors than it asked for. A policy declares
    such decisions: see :class:`~batsched_py.model.policy.DilatingScheduler`.
    """

    job: Job
    processors: ProcessorSet | ProcSet | Iterable[int] | None = None
    dilation: float = 1.0
    transfer: float = 0.0


class Reject(msgspec.Struct, gc=False, eq=False):
    """Reject the waiting ``job``: it will never run and counts as ended."""

    job: Job


class Kill(msgspec.Struct, gc=False, eq=False):
    """End the running ``job`` now; if its processors are not awake yet, it is rejected.

    Its processors are free in the next pass, which comes at the same instant: the rest of this
    pass cannot start jobs on them.
    """

    job: Job


class CallMeLater(msgspec.Struct, gc=False, eq=False):
    """Run a scheduling pass at ``time`` (seconds, later than now) even if nothing happens.

    It is at most :data:`~batsched_py.units.LATEST_TIME`.
    """

    time: float


class SwitchOff(msgspec.Struct, gc=False, eq=False):
    """Switch off ``processors``, which are idle and can sleep.

    They stay free: a job that is started on them waits until they are awake again.
    """

    processors: ProcessorSet | ProcSet | Iterable[int]


class SwitchOn(msgspec.Struct, gc=False, eq=False):
    """Switch on ``processors`` that sleep, or that are being switched off, once they are off."""

    processors: ProcessorSet | ProcSet | Iterable[int]


Decision = Start | Reject | Kill | CallMeLater | SwitchOff | SwitchOn
"""What :meth:`Scheduler.schedule` yields."""
