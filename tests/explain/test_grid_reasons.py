"""What holds a job on a grid, in the words of ``batsched-py explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from batsched_py import simulate
from helpers.calling import command
from helpers.grids import Row, grid_jobs, grid_workload

SPREAD: dict[str, Any] = {"scenario": "multi_site"}
TWO_OF_THREE = [(0, 3, 10), (0, 3, 10), (1, 2, 5)]
EASY = [(0, 3, 10), (0, 2, 8), (1, 4, 5), (2, 1, 20)]
LONG = [(0, 4, 50), (0, 2, 60), (0, 4, 50), *((10 * at, 1, 5) for at in range(1, 5))]
PARTS = [(0, 2, 10), (0, 2, 30), (0, 4, 20), (1, 3, 10), (1, 4, 5)]


def told(folder: Path, rows: list[Row], sites: str, options: dict[str, Any], job: str) -> str:
    """Return what is said of a job."""
    load = grid_workload(grid_jobs(rows), sum(map(int, sites.split(","))))
    run = folder / "run"
    simulate(
        load,
        scheduler="grid",
        scheduler_options=options,
        sites=sites,
        record=Path(f"{run}_exchange.jsonl"),
    ).write(run)
    done = command(folder, "explain", run, "--job", job)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("rows", "sites", "options", "job", "reason"),
    [
        (TWO_OF_THREE, "4,4", {}, "C", "on site1 at t=10 (00:00:10), when w0!A"),
        (TWO_OF_THREE, "4,4", SPREAD | {"lower_bound": 2}, "C", "of its size are not spread"),
        (TWO_OF_THREE, "4,4", SPREAD | {"fragments": "1-4:1,5-8:2"}, "C", "are not spread"),
        (LONG, "4,4", {}, "C", "1 to 2 free"),  # one line, however many are free meanwhile
        (
            [(0, 3, 10), (1, 5, 5)],
            "4,2,2",
            SPREAD | {"fragments": "1-8:2"},
            "B",
            "more than 2 fragments",
        ),
        (
            [(0, 3, 10, 30), (0, 2, 5), (0, 3, 10)],
            "4,4",
            SPREAD | {"overhead": 0.5, "adaptive": True},
            "C",
            "than on 2 now, 1.5 times",
        ),
        (
            EASY,
            "4,2",
            {},
            "D",
            "than the 0 extra nodes there",
        ),
        (
            PARTS,
            "6,6",
            SPREAD | {"reservation": "easy", "lower_bound": 3, "overhead": 1},
            "E",
            "than the 1 extra nodes there",
        ),
        (
            [(0, 4, 10), (1, 5, 5)],
            "3,3",
            SPREAD | {"reservation": "easy"},
            "B",
            "reservation at t=10 (00:00:10), when w0!A",
        ),
        (
            [(0, 4, 10), (1, 4, 5), (2, 2, 9, 9, 1), (3, 4, 5, 5, 1)],
            "4,4",
            {"scenario": "local"},
            "D",
            "on site2 at t=11 (00:00:11), when w0!C",
        ),
    ],
)
def test_reasons(
    tmp_path: Path, rows: list[Row], sites: str, options: dict[str, Any], job: str, reason: str
) -> None:
    assert reason in told(tmp_path, rows, sites, options, job)
