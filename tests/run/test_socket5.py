"""Neither a socket nor its protocol, of Batsim 4 or 5, changes a schedule."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from batsched_studies.real_batsim.cases import CASES, Case
from batsched_studies.real_batsim.two_simulators import make_run

pytestmark = pytest.mark.process

ADAPTIVE = {"scenario": "multi_site", "overhead": 0.3, "adaptive": True, "transfer": 0.25}
GRID = make_run(first=300, scheduler="grid", sites="40,20@2,4", scheduler_options=ADAPTIVE)
A_GRID = Case("", "`grid` (adaptive)", "", GRID)
OF_ALL_SIDES = ("`easy`", "`grid` (spread)", "`feedback`", "`resampled`", "`site`", A_GRID.name)
OF_ALL_SIDES += ("partitions, users",)
"""Of the cases, those that always run; one has a machine file, with outages."""
ANY_SIZE = [case for case in CASES if case.group.split("; ")[0] != "more jobs"]
COMPARED = [A_GRID, *(case for case in ANY_SIZE if "Batsim's options" not in case.group)]
"""Simulations of our policies and users, most of 600 jobs."""


def jobs(case: Case, side: str, folder: Path) -> str:
    left = case.run(side, folder / side)
    return Path(f"{left.prefix}_jobs.csv").read_text()


def check_equal(case: Case, one: str, other: str) -> None:
    """Tables are equal to the byte.

    Batsim 5 submits the form of a job that runs longer when it starts. So the stretch of the job
    is found from dates of six decimals: one that lasts 1e-5 s has it to 0.1.
    """
    if one == other or not case.name.startswith("`grid`"):
        assert one == other
        return
    tables = (csv.DictReader(text.splitlines()) for text in (one, other))
    for ours, theirs in zip(*tables, strict=True):
        fields = {name for name in ours if ours[name] != theirs[name]}
        assert fields <= {"stretch"}
        assert not fields or ours["execution_time"] == "0.000010"
        assert float(ours["stretch"]) == pytest.approx(float(theirs["stretch"]), rel=0, abs=0.1)


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
