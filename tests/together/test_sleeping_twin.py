"""The slow twin of machines that sleep gives the schedules that were worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import inf
from pathlib import Path
from typing import Any

import pytest

from batsched_py.processors.sets import from_text
from helpers.shared_folder import SHARED
from helpers.sleeping_cases import CASES, WATTS, SleepingCase
from helpers.sleeping_twin import Twin

FOLDERS = sorted((SHARED / "power_cases").glob("[0-9]*"))


@pytest.mark.parametrize("case", CASES, ids=[str(at) for at in range(len(CASES))])
def test_our_cases(case: SleepingCase) -> None:
    twin = Twin(
        *(case.jobs, case.seconds, case.policy, case.idle_time, case.keep),
        *(case.outages, case.withdrawals),
    )
    assert {job.id: (job.start, job.end, job.processors) for job in twin.jobs} == case.runs
    assert twin.switches() == case.switches
    assert [_as_text(twin, at) for at in range(len(case.seconds))] == case.lives
    assert twin.joules(WATTS) == case.joules


@pytest.mark.skipif(not FOLDERS, reason=f"{SHARED}/power_cases is not there")
@pytest.mark.parametrize("folder", FOLDERS or [Path()], ids=lambda folder: folder.name)
def test_cases_of_the_specification(folder: Path) -> None:
    case = json.loads((folder / "case.json").read_text())
    workload = json.loads((folder / "workload.json").read_text())
    expected, options = case["expected"], case["options"]
    jobs = [_read_job(job, workload["profiles"]) for job in workload["jobs"]]
    seconds = list(zip(options["off_seconds"], options["on_seconds"], strict=True))
    twin = Twin(jobs, seconds, options["policy"], options["idle_time"], options["keep"])
    runs = {
        name: (job["start"], job["finish"], _numbers(job["processors"]))
        for name, job in expected["jobs"].items()
    }
    assert {job.id: (job.start, job.end, job.processors) for job in twin.jobs} == runs
    switches = [
        (switch["time"], switch["to"], _numbers(switch["processors"]), switch["done"])
        for switch in expected["switches"]
    ]
    assert twin.switches() == sorted(switches)
    lives = [_life(life) for life in expected["lives"].values()]
    assert [_as_text(twin, at) for at in range(len(seconds))] == lives
    watts = case["watts"] | {"busy": case["watts"]["computing"]}
    watts |= {"off": watts["switching_off"], "on": watts["switching_on"]}
    assert twin.joules(watts) == expected["joules_by_processor"]
    assert sum(twin.joules(watts)) == expected["joules_until_last_end"]


def test_without_a_time_nothing_is_switched() -> None:
    twin = Twin([("a", 5, 1, 10, 10)], [(10, 40)] * 2, "easy", inf)
    assert twin.switches() == []
    assert twin.life(1) == [(0, 15, "idle")]


def _as_text(twin: Twin, at: int) -> str:
    return _life((end, state) for _, end, state in twin.life(at))


def _life(ends: Iterable[tuple[float, str]]) -> str:
    """Return when each state of a processor ended, equal ones as one."""
    merged: dict[int, str] = {}
    before, number = "", 0
    for end, state in ends:
        number += state != before
        merged[number] = f"{state} {end:g}"
        before = state
    return ", ".join(merged.values())


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(from_text(text))


def _read_job(job: dict[str, Any], profiles: Any) -> tuple[str, float, int, float, float]:
    lasts = profiles[job["profile"]]["cpu"] / 1e9
    return job["id"], job["subtime"], job["res"], lasts, job["walltime"]
