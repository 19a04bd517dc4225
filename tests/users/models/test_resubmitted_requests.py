"""Jobs that are submitted again and again request no more than the log's longest job."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from batsched_py import WorkloadJob
from batsched_py.model.user_model import WITHDRAWN, EndedJob
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_users.models import withdraws
from batsched_users.models.resubmits import Resubmits

WITHDRAWS = f"{withdraws.__file__}:Withdraws"


def test_longer_requests_end_at_the_longest_of_the_log() -> None:
    """A requests 100 s, three times as much each time; the longest job requests 500 s."""
    log = workload([J(0, 2, 10, 100, user="a"), J(9000, 1, 20, 500, user="b")], 9)
    users = Resubmits(log, model=WITHDRAWS, model_options={"clock": "job"})
    users._habits = replace(
        users._habits,
        probabilities=[1.0] * 4,
        gaps=[60.0, 60.0],
        same=0.0,
        smaller=0.0,
        larger=1.0,
        mixed=0.0,
        larger_ratios=[(2.0, 3.0)],
    )
    (job,) = (act for act in users.jobs_to_submit(0) if isinstance(act, WorkloadJob))
    for attempt, size, walltime in ((1, 4, 300), (2, 8, 500), (3, 9, 500)):
        now = attempt * 100.0
        users.job_ended(now, EndedJob(job, now - 40, None, now), WITHDRAWN)
        (job,) = (act for act in users.jobs_to_submit(now + 60) if isinstance(act, WorkloadJob))
        assert (job.size, job.walltime) == (size, walltime)
        assert users.profiles[job.profile]["cpu"] == pytest.approx(1e9 * walltime / 10)
