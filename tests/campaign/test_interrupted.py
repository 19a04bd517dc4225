"""A campaign that is killed at any moment goes on, and ends with the same table."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from helpers.campaigns import SLOW
from helpers.sealed_runs import unsealed
from helpers.waiting import LIMIT, is_alive, wait_until

pytestmark = [pytest.mark.process, pytest.mark.slow]

FILE = """
name = "test"
replications = 2
[run]
log = ["sample"]
scheduler = ["easy", "fcfs"]
users = "resampled"
user_options = { weeks = 2, long_weeks = 3, edge_weeks = 1 }
"""
COMMAND = [
    *(sys.executable, "-m", "batsched_py", "campaign", "test.toml"),
    *("--jobs", "2", "--no-report"),
]
OF_THE_MOMENT = ["folder", "host", "started", "seconds", "wall_time"]
OF_THE_CLOCK = {"wall_time", "provenance"}


def table(folder: Path) -> pd.DataFrame:
    csv, parquet = pd.read_csv(folder / "results.csv"), pd.read_parquet(folder / "results.parquet")
    assert list(csv) == list(parquet)
    assert len(csv) == len(parquet)
    return csv.drop(columns=OF_THE_MOMENT)


def run(folder: Path, out: str) -> None:
    done = subprocess.run(
        [*COMMAND, "-e", out], cwd=folder, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """The folder of an uninterrupted campaign, and how long it took."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "test.toml").write_text(FILE)
    begin = time.monotonic()
    run(folder, "whole")
    return folder, time.monotonic() - begin


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3))]
)
def test_killed_at_random_moments(whole: tuple[Path, float], seed: int) -> None:
    """Some kill -9 of the command alone, from its first moments to its report."""
    folder, length = whole
    moments = [random.Random(seed).uniform(0, length) for _ in range(3)]
    out = f"killed{seed}"
    for moment in moments:
        process = subprocess.Popen(
            [*COMMAND, "-e", out],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(moment)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    run(folder, out)
    pd.testing.assert_frame_equal(table(folder / out), table(folder / "whole"))
    for path in sorted((folder / "whole").glob("runs/*/*")):
        again = folder / out / path.relative_to(folder / "whole")
        if path.name == "out_run.json":
            first, resumed = unsealed(path), unsealed(again)
            assert {name for name in first if first[name] != resumed[name]} <= OF_THE_CLOCK
        elif path.name != "command.txt":  # which names the folder
            assert again.read_bytes() == path.read_bytes()
    assert [*(folder / out).rglob("*.part")] == []


def begun(folder: Path, schedulers: str) -> tuple[subprocess.Popen[str], int]:
    """Start a campaign in a process group of its own; return it and its worker, in a slow run."""
    (folder / "slow.py").write_text(SLOW)
    (folder / "test.toml").write_text(f"[run]\nfirst = 50\nscheduler = {schedulers}\n")
    process = subprocess.Popen(
        [*COMMAND, "-e", "out", "--jobs", "1"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until((folder / "worker").exists)
    return process, int((folder / "worker").read_text())


def test_workers_end_with_who_started_them(tmp_path: Path) -> None:
    """Killed, the command cannot tell its workers to end; they see that it is gone."""
    process, worker = begun(tmp_path, '"slow.py:Slow"')
    process.kill()
    process.communicate()
    wait_until(lambda: not is_alive(worker))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_stops_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C or SIGTERM: one line, exit code 130, no process left; what was done stays done."""
    process, _ = begun(tmp_path, '["easy", "slow.py:Slow"]')
    os.killpg(process.pid, number)
    _, stderr = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    assert len([*tmp_path.glob("out/runs/*/out_run.json")]) == 1
    left = subprocess.run(["pgrep", "-f", str(tmp_path)], capture_output=True, text=True)
    assert left.stdout == ""
