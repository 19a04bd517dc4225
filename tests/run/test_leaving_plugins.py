"""A policy that ends Python in its run: one line, exit code 1, and other runs go on."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from helpers.calling import command
from helpers.logs import small_log

WAYS = {
    "sys_exit": "raise SystemExit(0)",
    "generator": "raise GeneratorExit",
    "cancelled": "import asyncio; raise asyncio.CancelledError",
    "os_exit": "import os; os._exit(0)",
    "interrupt": "raise KeyboardInterrupt",
}
POLICY = """
class Leaving:
    def schedule(self, now, queue, machine):
        {}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "log.swf").write_text(small_log())
    for name, way in WAYS.items():
        (tmp_path / f"{name}.py").write_text(POLICY.format(way))
    return tmp_path


@pytest.mark.parametrize("name", ["sys_exit", "generator", "cancelled", "interrupt"])
def test_a_simulation(folder: Path, name: str) -> None:
    """It cannot notice `os._exit`."""
    done = command(folder, "simulate", "log.swf", "--scheduler", f"{name}.py:Leaving", "-e", "out")
    assert done.returncode == (130 if name == "interrupt" else 1)
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert not (folder / "out_run.json").exists()


@pytest.mark.process
def test_a_campaign(folder: Path) -> None:
    policies = ["easy", *(f"{name}.py:Leaving" for name in WAYS), "fcfs"]
    (folder / "test.toml").write_text(f'[run]\nlog = ["log.swf"]\nscheduler = {policies}\n')
    done = command(folder, "campaign", "test.toml", "-e", "out", "--jobs", "1", "--no-report")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.count("failed: ") == len(WAYS)
    with (folder / "out/results.csv").open() as file:
        assert {row["scheduler"] for row in csv.DictReader(file)} == {"easy", "fcfs"}
