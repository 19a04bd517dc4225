"""The embedded simulator driven by a scheduler that is not ours: one of pybatsim 3.2.1."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from helpers.listening import free_address
from helpers.waiting import LIMIT

pytestmark = pytest.mark.process

REQUIREMENTS = (
    "pybatsim==3.2.1",
    # What it needs to run. It asks for a pyzmq that does not build any more, so pip is told not
    # to look at what it asks for; any pyzmq does.
    "docopt==0.6.2",
    "procset>=1,<2",
    "pyzmq",
    "sortedcontainers>=2.3,<3",
)
PIP = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--retries", "1")


@pytest.fixture
def pybatsim(request: pytest.FixtureRequest) -> Path:
    """The command ``pybatsim``, installed once for a checkout, into pytest's cache."""
    environment = request.config.cache.mkdir("pybatsim") / "environment"
    mark = environment / "whole.json"  # what an interrupted installation left has none
    is_whole = json.dumps([sys.executable, sys.version, REQUIREMENTS])
    if not (mark.exists() and mark.read_text() == is_whole):
        shutil.rmtree(environment, ignore_errors=True)
        venv.create(environment, with_pip=True)
        install = [environment / "bin/python", *PIP, "--no-deps", *REQUIREMENTS]
        done = subprocess.run(install, capture_output=True, text=True, check=False, timeout=LIMIT)
        if done.returncode:
            pytest.skip(f"pybatsim cannot be installed: {done.stderr[:300]}")
        mark.write_text(is_whole)
    return environment / "bin" / "pybatsim"


def test_pybatsim_schedules_as_with_batsim(shared: Path, pybatsim: Path, tmp_path: Path) -> None:
    """The same program with the same inputs: the files that Batsim 4.2.0 wrote."""
    folder = shared / "batsim_transcripts" / "31_pybatsim_easyBackfill_small"
    (platform,) = folder.glob("ideal_*.xml")
    address = free_address()
    theirs = [pybatsim, "easyBackfill", "-s", address, "-v", "warning", "-t", "150000"]
    ours = [sys.executable, "-m", "batsched_py", "simulator", "-p", platform, "-s", address]
    ours += ["-w", folder / "workload0.json", "-e", "out", "--timeout", "150"]
    with subprocess.Popen(theirs, cwd=tmp_path, stdout=subprocess.DEVNULL) as scheduler:
        try:
            subprocess.run(ours, cwd=tmp_path, check=True, timeout=LIMIT)
            assert scheduler.wait(10) == 0
        finally:
            scheduler.kill()
    for name in ("jobs.csv", "machine_states.csv"):
        assert (tmp_path / f"out_{name}").read_bytes() == (folder / f"out_{name}").read_bytes()
    assert summary(tmp_path) == summary(folder)


def summary(folder: Path) -> list[tuple[str, str]]:
    """Return the columns of ``_schedule.csv`` in order, without those of the wall clock."""
    with (folder / "out_schedule.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    return [item for item in row.items() if item[0] not in ("scheduling_time", "simulation_time")]
