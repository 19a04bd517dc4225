"""Replay with think-time feedback: sessions wait for sessions (Madon, Da Costa, Pierson 2024)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from math import inf
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from batsched_py.model.user_model import EndedJob
from batsched_py.options.option_values import boolean, one_of
from batsched_py.protocol.batsim_jobs_columns import REJECTED
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.workload import ORIGINAL_SUBMISSION
from batsched_users.behaviour.random_streams import Seed
from batsched_users.models.resampled import resample_log
from batsched_users.resampling.drawn_users import Begin, EdgeWeeks, LongWeeks, Weeks
from batsched_users.resampling.user_pools import EDGE_WEEKS, LONG_WEEKS
from batsched_users.sessions.delimitation import Delimitation, Session, Sessions, partition
from batsched_users.sessions.feedback_engine import make_submission, rank_jobs
from batsched_users.sessions.session_graph import SessionGraph, build_graph

Rejected = Annotated[
    Literal["at_once", "next_event"],
    Meta(
        title="When a user notices a rejection: ``at_once``, or at the ``next_event``, which is an "
        "end or a submission of any job."
    ),
]
"""The type of the option ``rejected``, with its help."""


class _Replayed(msgspec.Struct, eq=False):
    """A session during the replay."""

    recorded: Session
    later: list[WorkloadJob]
    """Its jobs that are not planned yet, the next one last."""
    waits_for: int
    """Number of preceding sessions that have not finished."""
    unfinished: int
    """Number of jobs that have not ended."""
    start: float = 0.0
    """Begin of the replayed session: the latest (finish + think time) seen so far."""
    successors: list[tuple[_Replayed, float]] = []


class ThinkTimeFeedback:
    """Users who wait for the sessions that they waited for in the log, think, and continue.

    The recorded sessions of each user form a graph. A session starts when the last jobs of all its
    predecessors have ended, plus the recorded think times (the latest sum counts). A rejected job
    ends at once; or at the next event, as Batsim does not report rejections. Inside a session, jobs
    keep their recorded distances.

    With ``resampled``, users come from a log that the model ``resampled`` draws with the same seed
    and options; each job keeps its recorded wait.

    Source: Madon et al. 2024, section 3 (model) and algorithms ``wake_on_feedback`` (here
    :meth:`job_ended`) and ``jobs_to_submit``.

    Args:
        resampled: Whether the users are drawn from the log at random, differently for each seed;
            the options below, but ``seed``, need it.
    """

    reacts = True

    def __init__(
        self,
        workload: Workload,
        *,
        sessions: Sessions = "arrival:60",
        rejected: Rejected = "at_once",
        resampled: bool = False,
        weeks: Weeks | None = None,
        begin: Begin = "active",
        long_weeks: LongWeeks = LONG_WEEKS,
        edge_weeks: EdgeWeeks = EDGE_WEEKS,
        seed: Seed = 0,
    ) -> None:
        """Build the session graphs of the users of ``workload``.

        ``sessions`` is how sessions are delimited, e.g. ``arrival:60`` (minutes). Raises
        :class:`batsched_py.errors.UsageError` for jobs without user or recorded end.
        """
        self._submitted: Callable[[WorkloadJob, str, dict[str, Any], float], WorkloadJob]
        self._submitted = make_submission
        if boolean("resampled", resampled):
            self._submitted = _marked
            workload = resample_log(
                workload,
                weeks=weeks,
                begin=begin,
                long_weeks=long_weeks,
                edge_weeks=edge_weeks,
                seed=seed,
            )
        self._notice_at_once = one_of("rejected", rejected, Rejected) == "at_once"
        self._unnoticed: list[tuple[float, _Replayed]] = []
        """When jobs were rejected, and their sessions, until their users notice."""
        self.profiles = workload.profiles
        self._due: list[tuple[float, int, WorkloadJob, _Replayed]] = []
        # time, rank, job, its session
        self._session_of: dict[str, _Replayed] = {}
        """Of the jobs that have been submitted and have not ended."""
        self._ranks = rank_jobs(workload)
        for user_sessions in partition(workload.jobs, Delimitation.parse(str(sessions))).values():
            self._add_user(build_graph(user_sessions))

    def _add_user(self, graph: SessionGraph) -> None:
        replayed = [
            _Replayed(session, session.jobs[::-1], len(before), len(session.jobs))
            for session, before in zip(graph.sessions, graph.predecessors, strict=True)
        ]
        for replay, predecessors in zip(replayed, graph.predecessors, strict=True):
            for place, think_time in predecessors:
                replayed[place].successors.append((replay, think_time))
            if not predecessors:  # think time after the root is the recorded first submission
                replay.start = replay.recorded.start
                self._plan(replay)

    def next_submission(self) -> float:
        """Return the time of the next planned submission, inf if none is planned."""
        return self._due[0][0] if self._due else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the jobs due by ``now``, simultaneous ones in log order."""
        if self._unnoticed and self._unnoticed[0][0] < now:
            self._notice_all(now)
        due = self._due
        jobs = []
        while due and due[0][0] <= now:
            _, _, job, replay = heappop(due)
            self._session_of[job.id] = replay
            notes = {"session": replay.recorded.id}
            jobs.append(self._submitted(job, replay.recorded.user, notes, 0.0))
            if replay.later:
                self._plan(replay)
        return jobs

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Start the sessions that waited for this job: the last one of their last predecessor."""
        replay = self._session_of.pop(job.submitted.id)
        if state == REJECTED and not self._notice_at_once:
            self._unnoticed.append((now, replay))
            if self._due or self._session_of:  # else there is no further event
                return
        else:
            self._end(replay, now)
        self._notice_all(now)

    def _notice_all(self, now: float) -> None:
        unnoticed, self._unnoticed = self._unnoticed, []
        for _, replay in unnoticed:
            self._end(replay, now)

    def _end(self, replay: _Replayed, now: float) -> None:
        """End a job of a session, and the session if it was the last one."""
        replay.unfinished -= 1
        if replay.unfinished:
            return
        for successor, think_time in replay.successors:
            start = now + think_time
            if start > successor.start:
                successor.start = start
            successor.waits_for -= 1
            if not successor.waits_for:
                self._plan(successor)

    def _plan(self, replay: _Replayed) -> None:
        job = replay.later.pop()
        time = replay.start + (job.submit_time - replay.recorded.start)
        heappush(self._due, (time, self._ranks[job.id], job, replay))


def _marked(job: WorkloadJob, user: str, notes: dict[str, Any], shift: float) -> WorkloadJob:
    """Return a resampled job as :func:`make_submission` does, without a copy: it has one user."""
    original = job.submit_time + shift
    job.extra |= {**notes, ORIGINAL_SUBMISSION: original}
    job.original_submission_time = original
    return job
