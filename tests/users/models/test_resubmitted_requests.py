"""Jobs that are submitted again and again request no more than the log's longest job."""

from __future__ import annotations

import pytest

from batsched_py import WorkloadJob
from batsched_py.model.user_model import WITHDRAWN, EndedJob
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.workload import Workload
from batsched_users.models.resubmits import Resubmits
from helpers.withdrawals_by_hand import FILE, submit_again


def again_and_again(log: Workload) -> Resubmits:
    """Return users who submit each withdrawn job again, twice as wide and three times as long."""
    users = Resubmits(log, model=FILE["withdraws"], model_options={"clock": "job"})
    submit_again(users, 60.0, "larger", larger_ratios=[(2.0, 3.0)])
    return users


def test_longer_requests_end_at_the_longest_of_the_log() -> None:
    """A requests 100 s, three times as much each time; the longest job requests 500 s."""
    log = workload([J(0, 2, 10, 100, user="a"), J(9000, 1, 20, 500, user="b")], 9)
    users = again_and_again(log)
    (job,) = (act for act in users.jobs_to_submit(0) if isinstance(act, WorkloadJob))
    for attempt, size, walltime in ((1, 4, 300), (2, 8, 500), (3, 9, 500)):
        now = attempt * 100.0
        users.job_ended(now, EndedJob(job, now - 40, None, now), WITHDRAWN)
        (job,) = (act for act in users.jobs_to_submit(now + 60) if isinstance(act, WorkloadJob))
        assert (job.size, job.walltime) == (size, walltime)
        assert users.profiles[job.profile]["cpu"] == pytest.approx(1e9 * walltime / 10)


def test_a_zero_length_job_that_requests_nothing_stays_as_long() -> None:
    log = workload([J(0, 2, 0, None, user="a")], 9)
    log.jobs[0].estimate = 0.0
    users = again_and_again(log)
    (job,) = (act for act in users.jobs_to_submit(0) if isinstance(act, WorkloadJob))
    users.job_ended(100.0, EndedJob(job, 60.0, None, 100.0), WITHDRAWN)
    (again,) = (act for act in users.jobs_to_submit(160.0) if isinstance(act, WorkloadJob))
    assert (again.size, again.profile) == (4, job.profile)
