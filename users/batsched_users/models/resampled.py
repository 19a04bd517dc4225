"""Resampled workloads: users drawn from a log, who submit at their recorded times (Zakay)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any

import msgspec

from batsched_py.model.endless_work import SubmissionWatch
from batsched_py.model.user_model import EndedJob
from batsched_py.options.budgets import Budgets
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour.random_streams import Seed
from batsched_users.resampling.drawn_users import LONG_TERM, Arrival, Size, draw_users
from batsched_users.resampling.user_pools import EDGE_WEEKS, LONG_WEEKS
from batsched_users.sessions.feedback_engine import make_submission, rank_jobs


class Resampled:
    """Users drawn from a log at random, each with their recorded jobs, moved by whole weeks.

    This is a replay without feedback, with another workload for each seed. Long-term users are
    constant in number, begin anywhere in their trace, and begin anew after the length of the log.
    Temporary users arrive and leave (:class:`batsched_users.resampling.drawn_users.DrawnUsers`).
    ``weeks`` is the length of the workload (None: that of the log). ``load`` multiplies the numbers
    of users; ``n_long``, ``n_temporary``, ``rate`` set them. ``rare`` (``USER`` or
    ``USER:BEGIN:END`` in days, with commas) takes rare behaviour out of the log, and
    ``rare_per_week`` adds users with it; their jobs load the machine, but are not measured.

    As in the thesis, long-term users begin inside their trace (``begin="active"``). They begin anew
    one length of the log later, so that more of them work at the beginning and at the end of this
    time than halfway (twice as many on KTH-SP2). With ``begin="anywhere"`` they may begin in the
    gap between two rounds, and the load is even. Nothing is submitted before the first Monday
    0:00, at which weeks begin.

    Source: Zakay, PhD thesis, chapter 3.
    """

    reacts = False

    def __init__(
        self,
        workload: Workload,
        *,
        weeks: float | None = None,
        load: float = 1.0,
        n_long: float | None = None,
        n_temporary: float | None = None,
        rate: float | None = None,
        rare: str = "",
        rare_per_week: float = 0.0,
        rate_over: str = "inner",
        begin: str = "active",
        long_weeks: float = LONG_WEEKS,
        edge_weeks: float = EDGE_WEEKS,
        seed: Seed = 0,
    ) -> None:
        size = Size(load, n_long, n_temporary, rate, rare_per_week, rate_over, begin)
        self.profiles: Mapping[str, dict[str, Any]] = workload.profiles
        self._drawn_users = draw_users(
            workload,
            size,
            rare=rare,
            long_weeks=long_weeks,
            edge_weeks=edge_weeks,
            weeks=weeks,
            seed=seed,
        )
        self._ranks = rank_jobs(workload)
        self._due: list[tuple[float, int, int, _Submission, Iterator[_Submission]]] = []
        self._planned = count()
        self._names = map(str, count(1)).__next__

    def next_submission(self) -> float:
        """Return the time of the next submission, inf after the last one."""
        while self._drawn_users.is_week_due(self._head()):
            for start in self._drawn_users.next_arrivals():
                self._plan(self._submissions(start))
        return self._head()

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the jobs due by ``now``, simultaneous ones in log order."""
        jobs = []
        while self.next_submission() <= now:
            *_, submission, to_come = heappop(self._due)
            jobs.append(make_submission(*submission, self._names))
            self._plan(to_come)
        return jobs

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Do nothing: these users do not react to the end of a job."""

    def _head(self) -> float:
        return self._due[0][0] if self._due else inf

    def _plan(self, to_come: Iterator[_Submission]) -> None:
        submission = next(to_come, None)
        if submission is None:
            return
        job, *_, shift = submission
        time = job.submit_time + shift
        if time < self._drawn_users.until:
            entry = (time, self._ranks[job.id], next(self._planned), submission, to_come)
            heappush(self._due, entry)

    def _submissions(self, start: Arrival) -> Iterator[_Submission]:
        """Yield the submissions of a user in order; a long-term user begins anew after the last."""
        while True:
            for place in range(start.first, len(start.trace.batches)):
                batch = start.trace.batches[place]
                session = start.sessions_before + batch.session
                notes = {**start.notes, "session": session, "batch": place + 1}
                for job in batch.jobs:
                    yield job, start.user, notes, start.shift
            if start.kind != LONG_TERM:
                return
            start = self._drawn_users.begin_anew(start)


_Submission = tuple[WorkloadJob, str, dict[str, Any], float]
"""A recorded job, its user, the columns that it carries, and its shift (seconds)."""


def resample_log(workload: Workload, **options: Any) -> Workload:
    """Make a log of the jobs that :class:`Resampled` users with these options submit.

    As whole traces of users are shifted, each job keeps its recorded wait: its recorded end is
    shifted like its submission. A long-term user who begins anew stays the same user.
    """
    model = Resampled(workload, **options)
    jobs: list[WorkloadJob] = []
    watch = SubmissionWatch(Budgets(), len(workload.jobs))
    while (now := model.next_submission()) < inf:
        jobs += map(_as_recorded, watch.jobs_due(model, now))
    return msgspec.structs.replace(workload, jobs=jobs)


def _as_recorded(job: WorkloadJob) -> WorkloadJob:
    """Return a resampled job as if it had been recorded at its shifted times."""
    assert job.original_submission_time is not None  # each is a recorded job
    shift = job.original_submission_time - job.submit_time
    end = None if job.finish_time is None else job.finish_time + shift
    return msgspec.structs.replace(job, submit_time=job.submit_time + shift, finish_time=end)
