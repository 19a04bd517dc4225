"""What holds for every registered policy, on queues that outgrow what policies keep of each job."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import inf
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.model.user_model import EndedJob
from batsched_py.plugins.plugins import RIGID, SCHEDULERS, USERS, check_options, list_names, load
from batsched_py.protocol.batsim_jobs_columns import REJECTED
from batsched_py.simulator.engine import Outcome
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import check_machine, run, workload
from batsched_py.workload import Workload, WorkloadJob
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from every_policy import campaign
from helpers.examples import few_examples
from helpers.partitions import machine_of, run_on

NB_JOBS = (66, 131)
"""Just above 64 and 129: arrays that double are full at such numbers."""
PROCESSORS = 8
PARTITIONS = machine_of("""
    [[nodes]]
    count = 8
    [[partitions]]
    name = "wide"
    nodes = "0-7"
    [[partitions]]
    name = "half"
    nodes = "0-3"
    max_running_jobs_per_user = 3
    [[outages]]
    begin = 400
    end = 700
    nodes = "1 2"
""")
"""With limits a policy sees some jobs late: their numbers have holes."""


class WithoutThinkTime:
    """A few users; each submits the next job in the instant in which the last one ends."""

    def __init__(self, load: Workload, nb_users: int) -> None:
        self.profiles = load.profiles
        self.jobs = [deque(load.jobs[user::nb_users]) for user in range(nb_users)]
        self.owner = {job.id: user for user, jobs in enumerate(self.jobs) for job in jobs}
        self.due = dict.fromkeys(range(nb_users), 0.0)

    def next_submission(self) -> float:
        return min(self.due.values(), default=inf)

    def jobs_to_submit(self, now: float) -> Iterator[WorkloadJob]:
        for user in [user for user, due in self.due.items() if due <= now]:
            del self.due[user]
            if self.jobs[user]:
                yield self.jobs[user].popleft()

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        self.due[self.owner[job.id]] = now


@st.composite
def busy(draw: st.DrawFn) -> list[J]:
    """Return jobs with times in tens of seconds, so that submissions coincide with ends."""
    random = Random(draw(st.integers(0, 1 << 32)))
    gaps, run_times = draw(st.sampled_from([(0, 0, 0, 1), (1,), (0, 1, 30)])), (1, 1, 2, 5, 30)
    submit, jobs = 0, []
    for _ in range(draw(st.sampled_from(NB_JOBS))):
        submit += random.choice(gaps)
        run_time, longer = random.choice(run_times), random.choice((0, 1, 10))
        size = random.choice((1, 1, 2, PROCESSORS))
        walltime = 10 * (run_time + longer)
        user = str(random.randrange(5))
        jobs.append(J(10 * submit, size, 10 * run_time, walltime, user))
    return jobs


def check(outcome: Outcome, nb_jobs: int) -> None:
    """No processor is used twice, nothing starts before its submission, and all jobs run."""
    check_machine(outcome)
    assert sum(job.final_state != REJECTED for job in outcome.jobs) == nb_jobs


every_policy = pytest.mark.parametrize("name", list_names(SCHEDULERS))


@every_policy
@few_examples
@given(busy(), st.sampled_from([None, 1, 7, 70]))
def test_all_jobs_run(name: str, jobs: list[J], nb_users: int | None) -> None:
    load_of_jobs = workload(jobs, PROCESSORS)
    users = None if nb_users is None else WithoutThinkTime(load_of_jobs, nb_users)
    check(run(load_of_jobs, load(SCHEDULERS, name)(), users), len(jobs))


@every_policy
@few_examples
@given(busy())
def test_all_jobs_run_in_partitions(name: str, jobs: list[J]) -> None:
    policy = load(SCHEDULERS, name)
    if hasattr(policy, "dilates"):
        pytest.skip("it places jobs on sites, which a machine file does not have")
    placed = [
        ("half" if job.size < PROCESSORS and job.user != "0" else "wide", job) for job in jobs
    ]
    check(run_on(PARTITIONS, policy, placed), len(jobs))


def test_the_campaign_of_all_has_each_policy_and_user_model(tmp_path: Path) -> None:
    """``make every-policy`` is for people who have the logs; that it can begin is tested here."""
    file = tmp_path / "every_policy.toml"
    file.write_text("\n".join(campaign([SAMPLE_LOG])))
    planned = [each.settings for each in read_campaign(file).runs]
    assert {each.scheduler for each in planned} == set(list_names(SCHEDULERS))
    assert {each.users for each in planned} == {RIGID, *list_names(USERS)}
    for each in planned:
        check_options(load(SCHEDULERS, each.scheduler), each.scheduler, each.scheduler_options)
        if each.users != RIGID:
            check_options(load(USERS, each.users), each.users, each.user_options)
