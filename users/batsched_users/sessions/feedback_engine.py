"""The feedback engine: each batch waits for the batches it depends on.

Source: N. Zakay, PhD thesis, chapter 4. What a user submits, and in which order, is kept as
recorded; when is decided by a :class:`Reaction` each time the next batch becomes possible.
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
"""Zakay's sessions: more than an hour without a submission ends one."""


class Reason(Enum):
    """The event that released a batch: the last one that it waited for."""

    FOLLOWS = "the batch before has arrived"
    DEPENDENCY = "a batch that it depends on has ended"


class Reaction(Protocol):
    """How a user reacts: when the next batch comes, once it may."""

    def arrival(self, visit: Visit, batch: Batch, now: float, reason: Reason) -> float:
        """Return when ``batch`` of the visit arrives, in seconds; what is past means now."""
        ...


class Visit(msgspec.Struct, eq=False):
    """A user who goes through a trace, from a batch on, some time after it was recorded."""

    user: str
    trace: Trace
    reaction: Reaction
    next: int = 0
    """Place of the batch that arrives now or next."""
    shift: float = 0.0
    """Seconds from recorded times to those of the visit, as far as nothing delays it."""
    names: Callable[[], str] | None = None
    """Gives its jobs new names, where others do the same jobs too; None: as recorded."""
    notes: Mapping[str, Any] = {}
    """What its jobs carry beside session, batch and times."""
    sessions_before: int = 0
    """Sessions of this person in earlier visits."""
    origin: object = None
    """What it was made from, for the one who made it."""
    response: float = 0.0
    """Response time of the job that ended last, seconds; 0 before any has."""
    released: bool = True
    """Whether it is known when the batch ``next`` arrives."""
    thought: float | None = None
    """Think time before the batch ``next``, if that is what it waited for last."""
    running: dict[int, int] = msgspec.field(default_factory=dict)
    """Jobs that have still to end, of each batch that has begun to arrive and not ended."""


class _Active(msgspec.Struct, eq=False, gc=False):
    """Where a job belongs that has been submitted and has not ended."""

    visit: Visit
    batch: int


class BatchFeedback:
    """A user model whose batches are released by events in the system.

    Batch i + 1 arrives after all of batch i has arrived and all batches that it depends on have
    ended; how long after is up to the visit's reaction. Inside a batch the recorded distances
    between submissions are kept. Of jobs that have ended nothing is kept.
    """

    reacts = True

    def __init__(self, profiles: Mapping[str, dict[str, Any]], *, until: float = inf) -> None:
        """``until`` is when users stop to submit, in seconds."""
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
        """Let each user of the log go through his trace once, from its recorded start on.

        ``sessions`` is a delimitation; ``tie`` see
        :func:`batsched_users.sessions.batches.find_batches`. Raises
        :class:`batsched_py.errors.UsageError` for jobs without user or recorded finish.
        """
        self._ranks = rank_jobs(workload)
        for trace in traces(workload.jobs, Delimitation.parse(str(sessions)), tie).values():
            self.enter(Visit(trace.user, trace, react(trace)))

    def enter(self, visit: Visit) -> None:
        """Plan the batch ``next`` of a visit at its recorded, shifted time."""
        self._plan(visit, visit.trace.batches[visit.next].start + visit.shift)

    def visit_ended(self, visit: Visit, now: float) -> None:
        """Learn that all jobs of a visit have ended."""

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
        """Release the batch that waited for the last job of another."""
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
        if time < self._until:  # else the visit is over, and nothing waits for it
            entry = (time, self._ranks[job.id], next(self._planned), visit, place, start)
            heappush(self._due, entry)


def rank_jobs(workload: Workload) -> dict[str, int]:
    """Return the place of each job in the log: who submits first at one instant."""
    return {job.id: rank for rank, job in enumerate(workload.jobs)}


def make_submission(
    job: WorkloadJob,
    user: str,
    notes: Mapping[str, Any],
    shift: float,
    names: Callable[[], str] | None = None,
) -> WorkloadJob:
    """Return a recorded job as ``user`` submits it, with the columns of the results.

    ``notes`` are what it carries beside its recorded submission time, which is shifted by ``shift``
    seconds; ``names`` gives a new name where others do the same job too, and the recorded one is
    noted then.
    """
    extra = {**job.extra, **notes}
    extra.pop(ORIGINAL_SUBMISSION, None)  # of another replay: the log may be a result of one
    name = job.id
    if names is not None:
        extra["original_job"] = name
        name = names()
    extra[ORIGINAL_SUBMISSION] = original = job.submit_time + shift
    return msgspec.structs.replace(
        job, id=name, user=user, original_submission_time=original, extra=extra
    )


def _submitted(visit: Visit, batch: Batch, place: int) -> WorkloadJob:
    """Return a job as it is submitted in a visit."""
    notes = {
        **visit.notes,
        "session": visit.sessions_before + batch.session,
        "batch": visit.next + 1,
    }
    if visit.thought is not None and not place:
        notes["think_time"] = visit.thought
    return make_submission(batch.jobs[place], visit.user, notes, visit.shift, visit.names)
