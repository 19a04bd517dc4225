"""Resampled workloads: users drawn from a log, who submit at their recorded times (Zakay)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from heapq import heappop, heappush
from itertools import count, islice
from math import inf
from typing import Any

import numpy as np

from batsched_py.model.user_model import EndedJob
from batsched_py.options.budgets import Budgets, make_budget_error
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.behaviour.random_streams import Seed
from batsched_users.resampling.drawn_users import (
    LONG_TERM,
    Arrival,
    Begin,
    EdgeWeeks,
    Load,
    LongWeeks,
    NumberOfLongTerm,
    NumberOfTemporary,
    RarePerWeek,
    RareText,
    Rate,
    RateOver,
    Size,
    Weeks,
    draw_users,
)
from batsched_users.resampling.user_pools import EDGE_WEEKS, LONG_WEEKS
from batsched_users.sessions.feedback_engine import make_submission, rank_jobs


class Resampled:
    """Users drawn from a log at random, who submit their recorded jobs, moved by whole weeks.

    They do not react to the system; each seed gives another workload. Long-term users are constant
    in number: they begin anywhere in their trace, and begin anew after the length of the log.
    Temporary users arrive and leave. Nothing is submitted before the first Monday 0:00, at which
    weeks begin.

    Source: Zakay, PhD thesis, chapter 3.
    """

    reacts = False

    def __init__(
        self,
        workload: Workload,
        *,
        weeks: Weeks | None = None,
        load: Load = 1.0,
        n_long: NumberOfLongTerm | None = None,
        n_temporary: NumberOfTemporary | None = None,
        rate: Rate | None = None,
        rare: RareText = "",
        rare_per_week: RarePerWeek = 0.0,
        rate_over: RateOver = "inner",
        begin: Begin = "active",
        long_weeks: LongWeeks = LONG_WEEKS,
        edge_weeks: EdgeWeeks = EDGE_WEEKS,
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
        yield from _submissions_of_round(start)
        while start.kind == LONG_TERM:
            start = self._drawn_users.begin_anew(start)
            yield from _submissions_of_round(start)

    def list_submissions(self, most: int) -> list[_Submission]:
        """List the submissions of all users in order, of which :func:`resample_log` makes a log.

        These are the jobs that the model would submit. It must submit none afterwards. Raises
        :class:`BudgetError` for more than ``most``.
        """
        rows = list(islice(self._all_rounds(), most + 1))
        times = [job.submit_time + shift for job, _, _, shift in rows]
        if len(rows) > most:
            seen = f"{type(self).__name__} has submitted {len(rows)} jobs"
            raise make_budget_error("jobs", Budgets().jobs, times[-1], seen)
        ranks = [self._ranks[job.id] for job, *_ in rows]
        return [rows[at] for at in np.lexsort((ranks, times)).tolist()]

    def _all_rounds(self) -> Iterator[_Submission]:
        """Yield all submissions by round: one that is planned earlier comes first among equals."""
        drawn, starts = self._drawn_users, []
        while drawn.next_week < inf:
            starts += drawn.next_arrivals()
        while starts:
            for start in starts:
                for row in _submissions_of_round(start):
                    if row[0].submit_time + start.shift < drawn.until:
                        yield row
            starts = [
                drawn.begin_anew(start)
                for start in starts
                if start.kind == LONG_TERM and start.trace.last + start.shift < drawn.until
            ]


def _submissions_of_round(start: Arrival) -> Iterator[_Submission]:
    """Yield the submissions of a user in order, to the end of the trace."""
    user, of_user, before = start.user, start.notes, start.sessions_before
    for place, batch in enumerate(start.trace.batches[start.first :], start.first + 1):
        notes = {**of_user, "session": before + batch.session, "batch": place}
        for job in batch.jobs:
            yield job, user, notes, start.shift


_Submission = tuple[WorkloadJob, str, dict[str, Any], float]
"""A recorded job, its user, the columns that it carries, and its shift (seconds)."""


def resample_log(workload: Workload, **options: Any) -> Workload:
    """Make a log of the jobs that :class:`Resampled` users with these options submit.

    As whole traces of users are shifted, each job keeps its recorded wait: its recorded end is
    shifted like its submission. A long-term user who begins anew stays the same user. Raises
    :class:`BudgetError` for ten million jobs more than there are in the log.
    """
    rows = Resampled(workload, **options).list_submissions(int(Budgets().jobs) + len(workload.jobs))
    names = map(str, count(1)).__next__
    resampled = copy(workload)  # whose values are not checked again
    resampled.jobs = [make_submission(*row, names) for row in rows]
    for job in resampled.jobs:  # as if it had been recorded at its shifted times
        assert job.original_submission_time is not None
        assert job.finish_time is not None
        shift = job.original_submission_time - job.submit_time
        job.submit_time += shift
        job.finish_time += shift
    return resampled
