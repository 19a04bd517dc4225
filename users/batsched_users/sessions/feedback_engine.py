"""The feedback engine: each batch is submitted after the batches that it depends on.

Source: N. Zakay, PhD thesis, chapter 4. The jobs of a user and their order stay as recorded. A
:class:`Reaction` decides when the next batch arrives, each time that one is released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any, Protocol

import msgspec

from batsched_py.model.user_model import EndedJob
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.workload import ORIGINAL_SUBMISSION
from batsched_users.sessions.batches import Batch, Trace, traces
from batsched_users.sessions.delimitation import Delimitation

SESSIONS = "arrival:60:>"
"""Zakay's sessions: more than an hour without a submission ends a session."""


class Reason(Enum):
    """The kind of event that released a batch: the last event that it waited for."""

    FOLLOWS = "the batch before has arrived"
    DEPENDENCY = "a batch that it depends on has ended"


class Reaction(Protocol):
    """Decides when the next batch of a user arrives after its release."""

    def arrival(self, visit: Visit, batch: Batch, now: float, reason: Reason) -> float:
        """Return when a released batch arrives, in seconds; times before ``now`` count as now."""
        ...


class Visit(msgspec.Struct, eq=False):
    """A simulated user who submits a recorded trace, from one of its batches on, with a shift."""

    user: str
    trace: Trace
    reaction: Reaction
    next: int = 0
    """Place of the batch that arrives now or next."""
    shift: float = 0.0
    """Seconds from recorded times to times of the visit without delays."""
    names: Callable[[], str] | None = None
    """Makes new names if other visits submit the same jobs too; None: as recorded."""
    notes: Mapping[str, Any] = {}
    """Columns that its jobs carry besides session, batch and times."""
    sessions_before: int = 0
    """Number of sessions of this user in earlier visits."""
    origin: object = None
    """The object that the visit was made from, for the model that made it."""
    response: float = 0.0
    """Response time of the job that ended last, seconds; 0 before the first end. Of a job that
    never started, it is the time that it waited."""
    released: bool = True
    """Whether the batch ``next`` has been released, so that its arrival is known."""
    thought: float | None = None
    """Think time before the batch ``next``, if the end of a batch released it."""
    running: dict[int, int] = msgspec.field(default_factory=dict)
    """Place of each batch in the system -> number of its jobs that have not ended."""


class _Active(msgspec.Struct, eq=False, gc=False):
    """Visit and batch of a job that has been submitted and has not ended."""

    visit: Visit
    batch: int


class BatchFeedback:
    """Base class of user models in which events of the system release batches.

    Batch i + 1 is released when all jobs of batch i have arrived and all batches that it depends on
    have ended. The visit's reaction decides how much later it arrives. Inside a batch the recorded
    distances between submissions are kept. Jobs that have ended take no memory.
    """

    reacts = True

    def __init__(self, profiles: Mapping[str, dict[str, Any]], *, until: float = inf) -> None:
        """Submit no jobs from ``until`` on (seconds)."""
        self.profiles = profiles
        self._until = until
        self._due: list[tuple[float, int, int, Visit, int, float]] = []
        # time, log order, order of planning, visit, place of the job in its batch, batch's start
        self._ranks: Mapping[str, int] = {}
        self._planned = count()
        self._active: dict[str, _Active] = {}

    def replay(
        self, workload: Workload, sessions: str, tie: str, react: Callable[[Trace], Reaction]
    ) -> None:
        """Let each user of the log submit the recorded trace once, with a reaction by ``react``.

        ``sessions`` is a delimitation; for ``tie`` see
        :func:`batsched_users.sessions.batches.find_batches`. Raises
        :class:`batsched_py.errors.UsageError` for jobs without user or recorded finish.
        """
        self._ranks = rank_jobs(workload)
        for trace in traces(workload.jobs, Delimitation.parse(str(sessions)), tie).values():
            self.enter(Visit(trace.user, trace, react(trace)))

    def enter(self, visit: Visit) -> None:
        """Begin a visit: plan its batch ``next`` at the recorded time, shifted."""
        self._plan(visit, visit.trace.batches[visit.next].start + visit.shift)

    def visit_ended(self, visit: Visit, now: float) -> None:
        """Called when all jobs of a visit have ended; a model may begin another visit."""

    # The user model ------------------------------------------------------------------------------

    def next_submission(self) -> float:
        """Return the time of the next planned submission, inf if none is planned."""
        return self._due[0][0] if self._due else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the jobs due by ``now``, simultaneous ones in log order."""
        due = self._due
        jobs = []
        while due and due[0][0] <= now:
            planned, _, _, visit, place, start = heappop(due)
            batch = visit.trace.batches[visit.next]
            job = _submitted(visit, batch, place)
            self._active[job.id] = _Active(visit, visit.next)
            jobs.append(job)
            if place + 1 < len(batch.jobs):
                self._push(visit, batch, place + 1, start)
            else:  # all of it has arrived
                visit.next += 1
                visit.released = False
                # Not from now, which may be a microsecond later: a window may be closed by then.
                self._release(visit, planned, Reason.FOLLOWS)
        return jobs

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Release the next batch of the user if this was the last job that it waited for."""
        active = self._active.pop(job.submitted.id)
        visit = active.visit
        visit.response = now - job.submit_time
        visit.running[active.batch] -= 1
        if visit.running[active.batch]:
            return
        del visit.running[active.batch]
        if visit.next < len(visit.trace.batches):
            self._release(visit, now, Reason.DEPENDENCY)
        elif not visit.running:
            self.visit_ended(visit, now)

    # Planning ------------------------------------------------------------------------------------

    def _release(self, visit: Visit, now: float, reason: Reason) -> None:
        if visit.released or visit.next == len(visit.trace.batches):
            return
        batch = visit.trace.batches[visit.next]
        if not visit.running.keys().isdisjoint(batch.depends_on):
            return
        start = max(now, visit.reaction.arrival(visit, batch, now, reason))
        visit.thought = start - now if reason is Reason.DEPENDENCY else None
        self._plan(visit, start)

    def _plan(self, visit: Visit, start: float) -> None:
        batch = visit.trace.batches[visit.next]
        visit.released = True
        visit.running[visit.next] = len(batch.jobs)
        self._push(visit, batch, 0, start)

    def _push(self, visit: Visit, batch: Batch, place: int, start: float) -> None:
        job = batch.jobs[place]
        time = start + (job.submit_time - batch.start)
        if time < self._until:  # else the visit is over
            entry = (time, self._ranks[job.id], next(self._planned), visit, place, start)
            heappush(self._due, entry)


def rank_jobs(workload: Workload) -> dict[str, int]:
    """Return the place of each job in the log by id, which orders simultaneous submissions."""
    return {job.id: rank for rank, job in enumerate(workload.jobs)}


def make_submission(
    job: WorkloadJob,
    user: str,
    notes: Mapping[str, Any],
    shift: float,
    names: Callable[[], str] | None = None,
) -> WorkloadJob:
    """Make the job that ``user`` submits from a recorded job, with the columns of the results.

    The columns are ``notes``, and the recorded submission time plus ``shift`` seconds. ``names``
    makes a new name if other visits submit the same job too; the recorded name is then a column.
    """
    extra = {**job.extra, **notes}
    extra.pop(ORIGINAL_SUBMISSION, None)  # of an earlier replay, if the log is its result
    name = job.id
    if names is not None:
        extra["original_job"] = name
        name = names()
    extra[ORIGINAL_SUBMISSION] = original = job.submit_time + shift
    return msgspec.structs.replace(
        job, id=name, user=user, original_submission_time=original, extra=extra
    )


def _submitted(visit: Visit, batch: Batch, place: int) -> WorkloadJob:
    """Make the job that a visit submits, from the job at a place in a batch."""
    notes = {
        **visit.notes,
        "session": visit.sessions_before + batch.session,
        "batch": visit.next + 1,
    }
    if visit.thought is not None and not place:
        notes["think_time"] = visit.thought
    return make_submission(batch.jobs[place], visit.user, notes, visit.shift, visit.names)
