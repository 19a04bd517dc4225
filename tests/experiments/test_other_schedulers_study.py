"""The study of the EASY of other programs: the copy that explains batsched's."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from batsched_py import simulate
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_studies.conformance.recorded_runs import Comparison, count_equal_replies, find_folder
from batsched_studies.other_schedulers import twins
from helpers.shared_folder import SHARED

TWIN = f"{twins.__file__}:EasyByNumber"
RECORDED = Comparison("40_random300_batsched_easy_bf", TWIN, options={"delay": 5.0})
FEEDBACK = {"users": "feedback", "sessions": "arrival:60"}


def need(command: str) -> None:
    """Skip a test whose scheduler is not on PATH."""
    program = command.split()[0]
    if shutil.which(program) is None:
        pytest.skip(f"there is no program {program} on PATH")


@pytest.mark.parametrize(("policy", "start"), [("easy", 10), (TWIN, 100)])
def test_a_head_reserves_the_lowest_processors(policy: str, start: float) -> None:
    """At 10, processors 0 and 1 are free; at 100, five are: two more than the head needs.

    By number, the head keeps 0 to 2, so that the last job must not use 0 and 1 until 160.
    """
    jobs = [
        J(0, 2, 10, 10),  # on 0 and 1
        J(0, 3, 100, 100),  # on 2 to 4
        J(0, 1, 200, 200),  # on 5
        J(1, 3, 50, 50),  # the head
        J(2, 2, 150, 150),
    ]
    result = simulate(workload(jobs, 6), scheduler=policy)
    assert result.jobs.sort_values("job_id")["starting_time"].tolist() == [0, 0, 0, 100, start]


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "starts"),
    [
        ("batsched -v easy_bf -d 0 -p contiguous --verbosity=silent", [100, 120]),
        ("pybatsim easyBackfill -v error -t 0", [1010, 10]),
    ],
)
def test_the_head_of_pybatsim_is_delayed(tmp_path: Path, command: str, starts: list[float]) -> None:
    """The fourth job needs the whole machine at 100. At 10, a block within its place is free."""
    need(command)
    jobs = [J(0, 3, 100, 100), J(0, 2, 10, 10), J(0, 5, 50, 50), J(1, 10, 20, 20)]
    log = workload([*jobs, J(2, 2, 1000, 1000)], 10)
    result = simulate(log, scheduler_command=command, folder=tmp_path, progress=False)
    assert result.jobs.sort_values("job_id")["starting_time"].tolist() == [0, 0, 0, *starts]


def test_the_copy_repeats_a_recorded_run() -> None:
    if not find_folder(SHARED, RECORDED.run).exists():
        pytest.skip(f"there are no recorded runs in {SHARED}")
    equal, replies = count_equal_replies(SHARED, RECORDED)
    assert equal == replies > 500


@pytest.mark.process
@pytest.mark.parametrize(("policy", "name"), [(TWIN, "easy_bf"), ("easy_fixed", "easy_bf_fast")])
@pytest.mark.parametrize("users", [{}, FEEDBACK], ids=["rigid", "feedback"])
def test_policies_here_repeat_those_of_batsched(
    tmp_path: Path, policy: str, name: str, users: dict[str, Any]
) -> None:
    command = f"batsched -v {name} -d 0 --verbosity=silent"
    need(command)
    ours = simulate("sample", scheduler=policy, progress=False, **users)
    theirs = simulate("sample", scheduler_command=command, folder=tmp_path, progress=False, **users)
    columns = ["job_id", "submission_time", "starting_time", "finish_time"]
    assert ours.jobs[columns].equals(theirs.jobs[columns])
