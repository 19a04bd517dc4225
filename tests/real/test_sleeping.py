"""Machines that sleep under Batsim 4.2 and 5: schedule, switches and joules are as embedded."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from batsched_py import Result, simulate
from batsched_py.testing import DrawnJob, workload
from helpers.batsim_program import needs_batsim, needs_batsim5
from helpers.powers import BY_HAND

pytestmark = pytest.mark.process
SHUTDOWN = {"idle_time": 30, "keep": 1}
PROGRAMS = [
    pytest.param("batsim", marks=needs_batsim),
    pytest.param("batsim5", marks=needs_batsim5),
]


def run(users: str, **settings: Any) -> Result:
    """Simulate forty jobs on six processors; times are whole, so that no clock rounds them."""
    random = Random(1)
    jobs = []
    now = 0
    for _ in range(40):
        now += random.choice([0, 7, 40, 300])
        lasts = random.choice([10, 60, 110, 250])
        size, user = random.randint(1, 6), random.choice("ab")
        jobs.append(DrawnJob(now, size, lasts, 2 * lasts, user, finish=now + lasts))
    return simulate(
        workload(jobs, 6),
        scheduler="easy",
        scheduler_options={"extra_nodes": "instant"},
        users=users,
        power=BY_HAND,
        shutdown=SHUTDOWN,
        progress=False,
        **settings,
    )


@pytest.mark.parametrize("users", ["rigid", "feedback"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_batsim_switches_as_the_embedded_simulator(
    program: str, users: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batsim = tmp_path / "bin" / "batsim"
    batsim.parent.mkdir()
    if program == "batsim5":
        batsim.write_text('#!/bin/sh\nexec batsim5 "$@"\n')
        batsim.chmod(0o755)
        monkeypatch.setenv("PATH", str(batsim.parent), prepend=":")
    here, there = run(users), run(users, backend="batsim")
    columns = ["job_id", "submission_time", "starting_time", "finish_time", "allocated_resources"]
    ours, real = (of.jobs[columns].sort_values("job_id").values.tolist() for of in (here, there))
    assert ours == real
    assert here.power_changes
    assert here.power_changes == there.power_changes
    assert there.metrics["energy"] == pytest.approx(here.metrics["energy"], rel=1e-9)
