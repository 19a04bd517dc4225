"""Users on a machine without limits: order, and models that never end."""

from __future__ import annotations

from math import inf, nan

import pytest

from batsched_py.errors import BudgetError, InvariantError
from batsched_py.model.endless_work import SubmissionWatch
from batsched_py.model.user_model import EndedJob
from batsched_py.options.budgets import Budgets
from batsched_py.protocol.batsim_jobs_columns import SUCCESS
from batsched_py.workload import WorkloadJob
from batsched_users.behaviour.job_profiles import RunTimeProfiles, name_profile
from batsched_users.learning.ideal_machine import play_model
from helpers.drawn_sessions import job


class Once:
    """One job at second 5, another three seconds after it has ended."""

    def __init__(self) -> None:
        self.profiles = RunTimeProfiles()
        self.due = 5.0
        self.ended: list[tuple[float, str, str]] = []

    def next_submission(self) -> float:
        return self.due

    def jobs_to_submit(self, now: float) -> list[WorkloadJob]:
        self.due = inf
        return [WorkloadJob(id=f"{now:g}", submit_time=now, size=1, profile=name_profile(10))]

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        self.ended.append((now, job.id, state))
        if len(self.ended) == 1:
            self.due = now + 3


def test_jobs_start_at_once_and_their_users_learn_of_the_end() -> None:
    users = Once()
    jobs = [(p.job.id, p.submit, p.end) for p in play_model(users)]
    assert jobs == [("5", 5, 15), ("18", 18, 28)]
    assert users.ended == [(15, "5", SUCCESS), (28, "18", SUCCESS)]


def test_the_end_may_be_said() -> None:
    users = Once()
    assert [p.end for p in play_model(users, lambda _, now: now + 1)] == [6, 10]


def test_what_would_never_end_is_refused() -> None:
    class Stuck(Once):
        def jobs_to_submit(self, now: float) -> list[WorkloadJob]:
            return []

    class Endless(Once):
        def jobs_to_submit(self, now: float) -> list[WorkloadJob]:
            return [job("x", now, now)] * 300

    class Undecided(Once):
        def next_submission(self) -> float:
            return nan

    watch = SubmissionWatch(Budgets(jobs_at_once=1000))
    for kind, message in ((Stuck, "still due"), (Endless, "1001 jobs"), (Undecided, "nan")):
        with pytest.raises((InvariantError, BudgetError), match=message):
            for _ in play_model(kind(), lambda _, now: now + 1, watch):
                pass


@pytest.mark.parametrize("name", ["", "r", "rx", "r-1", "rnan", "rinf", "delay"])
def test_what_is_no_run_time_is_no_profile(name: str) -> None:
    assert name not in RunTimeProfiles()


@pytest.mark.parametrize("run_time", [0, 1, 86400, 0.5, 1234567.25])
def test_a_run_time_is_computed_on_the_machine_of_the_log(run_time: float) -> None:
    profile = RunTimeProfiles()[name_profile(run_time)]
    assert profile == {"type": "parallel_homogeneous", "cpu": run_time * 1e9, "com": 0}
