"""Real Batsim: jobs that hold GPUs and memory of nodes run as in the embedded simulator."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from batsched_py import simulate
from batsched_py.testing import DrawnJob, workload
from batsched_py.workload.batsim.batsim_workload import write_workload
from helpers.batsim_program import needs_batsim
from helpers.partitions import entry, partition

pytestmark = pytest.mark.process
SCHEDULE = ["job_id", "submission_time", "starting_time", "finish_time", "allocated_resources"]
MACHINE = (
    entry("nodes", count=4, cores=8, gpus=4, memory=64)
    + entry("nodes", count=4, cores=8, memory=32)
    + partition("gpu", "0-3")
    + partition("cpu", "2-7")
    + entry("limits", per="user", gpus=6)
)


@needs_batsim
@pytest.mark.parametrize("users", ["rigid", "feedback"])
@pytest.mark.parametrize("policy", ["easy", "multifactor"])
def test_the_same_schedule(tmp_path: Path, policy: str, users: str) -> None:
    random = Random(policy + users)
    jobs = []
    for number in range(300):
        run = random.randint(10, 600)
        limit, user, submit = run * random.choice((1, 2, 5)), str(number % 5), 20 * number
        size = random.choice((1, 2, 4, 8))
        jobs.append(DrawnJob(submit, size, run, limit, user, finish=submit + run))
    load = workload(jobs, 64)
    for job in load.jobs:
        gpus = random.choice((0, 1, 2, 4))
        job.extra |= {"memory_mib": random.choice((4, 16, 30)), "nodes": random.choice((1, 1, 2))}
        job.extra |= {"gpus": gpus, "partition": "gpu"} if gpus else {"partition": "cpu"}
    machine = tmp_path / "machine.toml"
    machine.write_text(MACHINE)
    write_workload(load, tmp_path / "jobs.json")
    here, there = (
        simulate(
            tmp_path / "jobs.json",
            machine=machine,
            scheduler=policy,
            users=users,
            backend=backend,
        ).jobs[SCHEDULE]
        for backend in ("embedded", "batsim")
    )
    assert (here["starting_time"] > here["submission_time"]).mean() > 0.2
    assert here.equals(there)
