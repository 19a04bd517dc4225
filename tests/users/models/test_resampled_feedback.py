"""Think-time feedback on a resampled log: the same people as in open replay of it."""

from __future__ import annotations

from math import inf

import pytest

from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.log_archive import find_log
from batsched_users.learning.ideal_machine import play
from batsched_users.models.feedback import ThinkTimeFeedback
from batsched_users.models.resampled import Resampled, resampled_log

SHORT = {"long_weeks": 3, "edge_weeks": 1}


@pytest.fixture(scope="module")
def sample() -> Workload:
    return load_workload(find_log("sample"), Rules())


@pytest.mark.parametrize("sessions", ["arrival:0", "arrival:60"])
@pytest.mark.parametrize("seed", [0, 1])
def test_when_jobs_end_as_recorded_people_submit_as_resampled(
    sample: Workload, sessions: str, seed: int
) -> None:
    model = ThinkTimeFeedback(sample, sessions=sessions, resampled=True, seed=seed, **SHORT)
    ends = {job.id: job.finish_time for job in resampled_log(sample, seed=seed, **SHORT).jobs}
    replayed = list(play(model, lambda job, now: ends[job.id] or inf))
    recorded = list(play(Resampled(sample, seed=seed, **SHORT)))
    assert [(p.submit, p.job.id, p.job.user) for p in replayed] == [
        (p.submit, p.job.id, p.job.user) for p in recorded
    ]
    assert all(p.submit == p.job.extra["original_submission_time"] for p in replayed)


def test_each_job_keeps_its_recorded_wait_weekday_and_hour(sample: Workload) -> None:
    recorded = {job.id: job for job in sample.jobs}
    for job in resampled_log(sample, seed=3, **SHORT).jobs:
        own = recorded[job.extra["original_job"]]
        assert job.finish_time is not None
        assert own.finish_time is not None
        assert job.finish_time - job.submit_time == own.finish_time - own.submit_time
        assert (job.submit_time - own.submit_time) % (7 * 24 * 3600) == 0
