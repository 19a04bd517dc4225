"""batsched and pybatsim with users who react, in the embedded simulator and under real Batsim."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from batsched_py import simulate
from batsched_py.report.comparing.job_differences import find_differences
from batsched_py.run.result import Result
from helpers.batsim_program import needs_batsim
from helpers.shared_folder import SHARED

pytestmark = pytest.mark.process

KTH = SHARED / "swf" / "KTH-SP2-1996-2.1-cln.swf.gz"
BATSCHED = "batsched -v {} -d 0 --verbosity=silent"
PYBATSIM = "pybatsim {} -v error -t 0"
SCHEDULERS = [
    *(BATSCHED.format(name) for name in ("fcfs", "easy_bf", "conservative_bf", "filler")),
    PYBATSIM.format("easyBackfill"),
]
IMPATIENT: dict[str, Any] = {
    "users": "withdraws",
    "user_options": {"model": "feedback", "clock": "job", "mean_patience": 7200.0},
}
FEEDBACK: dict[str, Any] = {"users": "feedback", "sessions": "arrival:60"}


def need(command: str) -> None:
    """Skip a test whose scheduler is not on PATH."""
    program = command.split()[0]
    if shutil.which(program) is None:
        pytest.skip(f"there is no program {program} on PATH")


def run(command: str, folder: Path, **options: Any) -> Result:
    need(command)
    return simulate(
        "sample",
        scheduler_command=command,
        first=1000,
        folder=folder,
        progress=False,
        **options,
    )


@pytest.mark.parametrize("users", [{}, FEEDBACK])
def test_fcfs_of_batsched_is_ours(tmp_path: Path, users: dict[str, Any]) -> None:
    theirs = run(BATSCHED.format("fcfs"), tmp_path, **users)
    ours = simulate("sample", scheduler="fcfs", first=1000, **users)
    assert theirs.jobs_csv() == ours.jobs_csv()


@pytest.mark.long
def test_fcfs_of_batsched_is_ours_on_a_whole_log(tmp_path: Path) -> None:
    need("batsched")
    if not KTH.exists():
        pytest.skip(f"there is no {KTH}")
    theirs = simulate(
        KTH, scheduler_command=BATSCHED.format("fcfs"), folder=tmp_path, progress=False, **FEEDBACK
    )
    assert len(theirs.table.submit) == 28_475
    assert theirs.jobs_csv() == simulate(KTH, scheduler="fcfs", **FEEDBACK).jobs_csv()


@needs_batsim
@pytest.mark.parametrize("command", SCHEDULERS)
@pytest.mark.parametrize("users", [FEEDBACK, IMPATIENT], ids=["feedback", "withdraws"])
def test_batsim_and_the_embedded_simulator_agree(
    tmp_path: Path, command: str, users: dict[str, Any]
) -> None:
    embedded = run(command, tmp_path / "embedded", **users)
    real = run(command, tmp_path / "real", backend="batsim", **users)
    different = find_differences(real, embedded)
    assert not [job for job in different if job.gravest.kind.another_schedule]
    assert len(embedded.table.submit) == 1000


@pytest.mark.parametrize("command", SCHEDULERS)
def test_withdrawn_jobs_never_run(tmp_path: Path, command: str) -> None:
    result = run(command, tmp_path, **IMPATIENT)
    assert result.table.withdrawn.sum() > 10
    assert (result.table.ran | result.table.withdrawn).all()
