"""The protocol of Batsim 5 changes no schedule: every policy and user model beside version 4."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from batsched_studies.real_batsim.cases import CASES, Case

pytestmark = pytest.mark.process

OF_ALL_SIDES = ("`easy`", "`grid` (spread)", "`feedback`", "`resampled`", "`site`")
"""Of the cases of policies and users, those that always run."""
ANY_SIZE = [case for case in CASES if case.group.split("; ")[0] != "more jobs"]
COMPARED = [case for case in ANY_SIZE if "Batsim's options" not in case.group]
"""Simulations of our policies and users, most of 600 jobs."""


def jobs(case: Case, side: str, folder: Path) -> str:
    left = case.run(side, folder / side)
    return Path(f"{left.prefix}_jobs.csv").read_text()


def check_equal(case: Case, one: str, other: str) -> None:
    """Tables are equal to the byte.

    Batsim 5 submits the form of a job that runs longer when it starts, so the stretch of the job
    is found from dates of six decimals: one that lasts 1e-5 s has it to 0.1.
    """
    if one == other or not case.name.startswith("`grid`"):
        assert one == other
        return
    for ours, theirs in zip(*map(rows, (one, other)), strict=True):
        fields = {name for name in ours if ours[name] != theirs[name]}
        assert fields <= {"stretch"}
        assert not fields or ours["execution_time"] == "0.000010"
        assert float(ours["stretch"]) == pytest.approx(float(theirs["stretch"]), rel=0, abs=0.1)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=case.name, marks=() if case.name in OF_ALL_SIDES else pytest.mark.long
        )
        for case in COMPARED
    ],
)
def test_the_same_jobs_to_the_byte(case: Case, tmp_path: Path) -> None:
    here, four, five = (jobs(case, side, tmp_path) for side in ("embedded", "socket", "socket5"))
    assert here.count("\n") > 100
    check_equal(case, here, five)
    check_equal(case, four, five)
