"""What makes no sense on a grid is one line that says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batsched_py.errors import UsageError
from batsched_py.schedulers.grid.grid_policy import Grid
from helpers.calling import Called, command

SITES = ["--sites", "4,4"]
SPREAD = [*SITES, "-O", "scenario=multi_site", "-O"]


def called(folder: Path, *line: str, **of_the_job: Any) -> Called:
    """Call for a simulation of a job of 6, which needs both sites of 4."""
    job = {"id": "a", "subtime": 0, "res": 6, "profile": "p", **of_the_job}
    content = {"nb_res": 8, "jobs": [job], "profiles": {"p": {"type": "delay", "delay": 9}}}
    (folder / "w.json").write_text(json.dumps(content))
    return command(folder, "simulate", "w.json", "--scheduler", "grid", *line, "-e", "out")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["--sites", "4,0"], "site2 has no processor"),
        ([*SITES, "--nodes", "8"], "--nodes and --sites"),
        ([*SITES, "--node-factor", "2"], "--node-factor 2.0"),
        ([*SITES, "-O", "scenario=multisite"], "scenario=multisite"),
        ([*SPREAD, "overhead=-0.1"], "overhead=-0.1"),
        ([*SITES, "-O", "selection=bestfit"], "selection=bestfit"),
        ([*SITES, "-O", "reservation=esay"], "reservation=esay"),
        ([*SITES, "-O", "order=fifo"], "order=fifo"),
        ([*SPREAD, "bound=over"], "bound=over"),
        ([*SPREAD, "transfer=-1"], "transfer=-1"),
        ([*SPREAD, "adaptive=often"], "adaptive=often"),
        ([*SPREAD, "seed=-1"], "seed=-1"),
        ([*SPREAD, "lower_bound=1.5"], "lower_bound=1.5"),
        ([*SPREAD, "bandwidth=0"], "bandwidth=0"),
        ([*SPREAD, "fragments=lots"], "fragments=lots"),
        ([*SPREAD, "fragments=1-4:1,4-8:2"], "must begin at 5"),
        ([*SPREAD, "fragments=1-8:0"], "0 fragments of"),
        ([*SPREAD, "fragments=1-4:2"], "ends at 4 processors"),
    ],
)
def test_options(tmp_path: Path, line: list[str], message: str) -> None:
    done = called(tmp_path, *line)
    assert done.returncode == 2
    (said,) = (line for line in done.stderr.splitlines() if "error: " in line)
    assert message in said
    assert done.stderr.splitlines()[-1] == said
    assert not list(tmp_path.glob("out*"))


def test_a_home_that_does_not_exist(tmp_path: Path) -> None:
    done = called(tmp_path, "--sites", "west:4,east:4", home="north")
    assert done.returncode == 2
    expected = "job a has the home 'north'"
    assert expected in done.stderr


def test_a_job_wider_than_all_sites_together(tmp_path: Path) -> None:
    """It is refused before it starts, and a note says so."""
    done = called(tmp_path, *SPREAD, "overhead=0.3", res=9)
    assert done.returncode == 0
    assert "job a of 9" in done.stderr
    assert "REJECTED" in (tmp_path / "out_jobs.csv").read_text()


def test_sites_of_another_size_than_the_platform(tmp_path: Path) -> None:
    (tmp_path / "two.xml").write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM '
        '"https://simgrid.org/simgrid.dtd"><platform version="4.1"><zone id="z" routing="Full">'
        '<host id="master_host" speed="1f"/><host id="a" speed="1f"/><host id="b" speed="1f"/>'
        "</zone></platform>"
    )
    done = called(tmp_path, *SITES, "-p", "two.xml")
    assert done.returncode == 2
    assert "has 2 hosts" in done.stderr


@pytest.mark.parametrize("text", [5, None, "", "1:1,"])
def test_tables_that_are_none(text: Any) -> None:
    with pytest.raises(UsageError, match="fragments="):
        Grid(scenario="multi_site", fragments=text)
