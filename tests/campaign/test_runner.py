"""Running campaigns: continuing, failures, interruption, what a run's folder holds."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from batsched_py.campaign.runner import prepare
from batsched_py.campaign.spec import PlannedRun, Settings

FILE = """
name = "test"
[run]
log = ["sample"]
scheduler = ["easy", "fcfs"]
first = 300
"""


def campaign(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "batsched_py", "campaign", "test.toml", "-e", "out"]
    return subprocess.run(
        [*command, *arguments], cwd=folder, capture_output=True, text=True, timeout=120
    )


def results(folder: Path) -> dict[str, float]:
    return {
        path.parent.name: path.stat().st_mtime for path in folder.glob("out/runs/*/out_run.json")
    }


def test_a_second_call_continues(tmp_path: Path) -> None:
    (tmp_path / "test.toml").write_text(FILE)
    first = campaign(tmp_path)
    assert first.returncode == 0, first.stderr
    done = results(tmp_path)
    assert len(done) == 2
    assert (tmp_path / "out" / "runs.csv").is_file()
    (tmp_path / "test.toml").write_text(FILE.replace('"fcfs"]', '"fcfs"]\nshake = [1]'))
    again = campaign(tmp_path)
    assert "2 runs, 0 of them done before" in again.stderr
    third = campaign(tmp_path)
    assert "2 runs, 2 of them done before" in third.stderr
    assert {name: results(tmp_path)[name] for name in done} == done


def test_a_folder_holds_what_it_takes_to_repeat_the_run(tmp_path: Path) -> None:
    (tmp_path / "test.toml").write_text(FILE)
    campaign(tmp_path)
    for folder in (tmp_path / "out" / "runs").iterdir():
        before = (folder / "out_jobs.csv").read_bytes()
        settings = json.loads((folder / "settings.json").read_text())
        assert settings["settings"]["first"] == 300
        (folder / "out_jobs.csv").unlink()
        command = shlex.split((folder / "command.txt").read_text())
        subprocess.run(command, check=True, capture_output=True, cwd="/")
        assert (folder / "out_jobs.csv").read_bytes() == before


def test_a_failed_run_does_not_take_the_others_down(tmp_path: Path) -> None:
    (tmp_path / "test.toml").write_text(FILE.replace('"fcfs"]', '"bad.py:Bad", "fcfs"]'))
    bad = "class Bad:\n def schedule(self, now, queue, machine):\n  return iter(())\n"
    (tmp_path / "bad.py").write_text(bad)
    done = campaign(tmp_path)
    assert done.returncode == 1
    assert "deadlock" in done.stderr
    assert "1 of 3 runs failed" in done.stderr
    assert len(results(tmp_path)) == 2
    good = bad.replace("return iter(())", "\n  yield from Fcfs().schedule(now, queue, machine)")
    (tmp_path / "bad.py").write_text("from batsched_py.schedulers.fcfs import Fcfs\n" + good)
    repaired = campaign(tmp_path)
    assert repaired.returncode == 0, repaired.stderr
    assert "3 runs, 2 of them done before" in repaired.stderr


def test_interruption_stops_cleanly_and_can_be_continued(tmp_path: Path) -> None:
    """Ctrl-C: one line, exit code 130, no process left; what was done stays done."""
    (tmp_path / "slow.py").write_text(
        "import time\n"
        "class Slow:\n"
        " def schedule(self, now, queue, machine):\n"
        "  time.sleep(60)\n"
        "  return iter(())\n"
    )
    (tmp_path / "test.toml").write_text(FILE.replace('"fcfs"]', '"slow.py:Slow"]'))
    command = [sys.executable, "-m", "batsched_py", "campaign", "test.toml", "-e", "out"]
    process = subprocess.Popen(
        [*command, "--jobs", "1"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("out/runs/*Slow*/log.txt")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    assert len(results(tmp_path)) == 1
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True)
    assert left.stdout == ""


def test_names_change_with_what_determines_a_run(tmp_path: Path) -> None:
    plugin = tmp_path / "policy.py"
    plugin.write_text("class P: ...\n")
    log = tmp_path / "x.swf"
    log.write_text("; MaxProcs: 4\n1 0 0 10 1 -1 -1 1 20 -1 1 1 -1 -1 -1 -1 -1 -1\n")

    def name(**settings: object) -> str:
        planned = PlannedRun({}, Settings(**{"log": str(log), **settings}))  # type: ignore[arg-type]
        return prepare([planned], tmp_path)[0].folder.name

    first = name()
    assert name() == first
    assert name(seed=1) != first
    by_file = name(scheduler=f"{plugin}:P")
    plugin.write_text("class P: pass\n")
    assert name(scheduler=f"{plugin}:P") != by_file


@pytest.mark.parametrize("jobs", ["0", "-1"])
def test_number_of_jobs(tmp_path: Path, jobs: str) -> None:
    (tmp_path / "test.toml").write_text(FILE)
    done = campaign(tmp_path, "--jobs", jobs)
    assert done.returncode == 2
    assert "at least 1" in done.stderr
