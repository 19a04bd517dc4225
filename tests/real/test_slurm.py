"""Campaigns on a real Slurm, of one node: `make real` starts it (``slurm_node``)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.campaigns import CampaignFolder, files_of_runs
from helpers.waiting import LIMIT, wait_until
from real import slurm_node

pytest.importorskip("dask_jobqueue", reason="the extra cluster is not installed")

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.skipif(
        not slurm_node.answers(), reason="no Slurm of these tests answers: make real starts one"
    ),
]

OF_JOB = {"CORES": "1", "MEMORY": "500MB", "INTERFACE": "lo", "WALLTIME": "5"}
CLUSTER = ("--cluster", "slurm")
NO_REPORT = ("campaign", "test.toml", "-e", "out", "--no-report")

EIGHTEEN = """
[run]
first = 60
scheduler = ["fcfs", "easy"]
users = ["rigid", "feedback", "distribution"]
seed = [1, 2, 3]
"""

ONE = """
[run]
first = 60
scheduler = "waits.py:WaitsAtFirst"
"""

# The first run waits, to be ended by somebody; the one that is made in its place does not.
WAITS = """
import time
from pathlib import Path
from batsched_py import Start

MARK = Path(__file__).with_name("began")

class WaitsAtFirst:
    def schedule(self, now, queue, machine):
        if not MARK.exists():
            MARK.touch()
            time.sleep(600)
        for job in list(queue):
            if job.size <= machine.free:
                yield Start(job)
"""


@pytest.fixture
def campaign(tmp_path: Path) -> CampaignFolder:
    """18 runs."""
    folder = CampaignFolder(tmp_path)
    folder.write(EIGHTEEN)
    return folder


def started(folder: CampaignFolder, *options: str, **of_job: str) -> subprocess.Popen[str]:
    """Start the command in a process of its own, with dask's settings of jobs."""
    told = {f"DASK_JOBQUEUE__SLURM__{name}": of for name, of in {**OF_JOB, **of_job}.items()}
    return subprocess.Popen(
        [sys.executable, "-m", "batsched_py", *NO_REPORT, *CLUSTER, *options],
        cwd=folder.path,
        env={**os.environ, **told},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def queue() -> list[str]:
    """Return the numbers of the jobs that wait or run."""
    command = ("squeue", "--noheader", "--format=%i")
    done = subprocess.run(command, check=True, timeout=LIMIT, stdout=subprocess.PIPE, text=True)
    return done.stdout.split()


def test_runs_are_those_of_this_machine(campaign: CampaignFolder) -> None:
    assert campaign.run("--jobs", "2").returncode == 0
    campaign.out.rename(campaign.path / "here")
    there = started(campaign, "--jobs", "2")
    _, said = there.communicate(timeout=LIMIT)
    assert there.returncode == 0, said
    assert "asked slurm" in said
    runs = files_of_runs(campaign.out)
    assert runs == files_of_runs(campaign.path / "here")
    assert len({path.split("/")[1] for path in runs}) == 18
    assert [path.name for path in campaign.out.glob(".*")] == [".lock"]  # no key is left
    wait_until(lambda: queue() == [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_jobs_end_with_the_command(campaign: CampaignFolder, number: signal.Signals) -> None:
    campaign.write(ONE, waits=WAITS)
    process = started(campaign)
    wait_until((campaign.path / "began").exists)
    process.send_signal(number)
    _, said = process.communicate(timeout=LIMIT)
    assert process.returncode == (130 if number == signal.SIGTERM else -number), said
    wait_until(lambda: queue() == [])


def test_a_queue_that_does_not_exist(campaign: CampaignFolder) -> None:
    process = started(campaign, QUEUE="nowhere")
    _, said = process.communicate(timeout=LIMIT)
    assert process.returncode == 2
    assert "partition specified: nowhere" in said
