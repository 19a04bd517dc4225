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

from helpers.waiting import LIMIT, wait_until

pytestmark = [pytest.mark.process, pytest.mark.slow]

FILE = """
name = "test"
replications = 4
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


@pytest.mark.parametrize("seed", [1, 2, 3])
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
    for path in sorted((folder / "whole").glob("runs/*/out_jobs.csv")):
        again = folder / out / path.relative_to(folder / "whole")
        assert again.read_bytes() == path.read_bytes()


def test_workers_end_with_who_started_them(tmp_path: Path) -> None:
    """Killed, the command cannot tell its workers to end; they see that it is gone."""
    (tmp_path / "slow.py").write_text(
        "import os, pathlib, time\n"
        "class Slow:\n"
        " def schedule(self, now, queue, machine):\n"
        "  pathlib.Path('worker').write_text(str(os.getpid()))\n"
        "  time.sleep(600)\n"
        "  return iter(())\n"
    )
    (tmp_path / "test.toml").write_text('[run]\nscheduler = "slow.py:Slow"\n')
    process = subprocess.Popen([*COMMAND, "-e", "out"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    noted = tmp_path / "worker"
    worker = int(wait_until(lambda: noted.exists() and noted.read_text()))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not _alive(worker))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")  # one that nobody waits for is a zombie
    return not status.is_file() or "State:\tZ" not in status.read_text()
