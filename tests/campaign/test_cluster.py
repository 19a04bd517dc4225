"""Campaigns on clusters: dask's own cluster of this machine, and jobs that are local processes."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("dask_jobqueue", reason="the extra cluster is not installed")

import dask
import distributed
from dask_jobqueue.local import LocalCluster as LocalJobs

from batsched_py.campaign.run_campaign import run_campaign
from batsched_py.campaign.workers import cluster
from batsched_py.campaign.workers.cluster import Requirements, check_worker
from batsched_py.errors import UsageError
from batsched_py.support.installation import PROGRAM
from helpers.campaigns import SLOW, CampaignFolder, files_of_runs
from helpers.waiting import LIMIT, is_alive, wait_until

pytestmark = [pytest.mark.process, pytest.mark.slow]

TWO = """
[run]
first = 30
scheduler = ["fcfs", "easy"]
users = "feedback"
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as local:
        yield local.scheduler_address


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CampaignFolder:
    monkeypatch.chdir(tmp_path)
    folder = CampaignFolder(tmp_path)
    folder.write(TWO, slow=SLOW)
    return folder


def test_runs_are_those_of_this_machine(campaign: CampaignFolder, address: str) -> None:
    done = campaign.run("--cluster", address)
    assert done.returncode == 0, done.stderr
    there = files_of_runs(campaign.out)
    assert len(there) == 2 * 3
    assert campaign.run("-e", "here").returncode == 0
    assert there == files_of_runs(campaign.path / "here")
    assert [path.name for path in campaign.out.glob(".*")] == [".lock"]


def test_a_request_to_end_ends_what_runs_on_workers(campaign: CampaignFolder, address: str) -> None:
    """Here by SIGTERM; Ctrl-C takes the same way."""
    campaign.write('[run]\nfirst = 9\nscheduler = "slow.py:Slow"\n')
    line = [*PROGRAM, "campaign", "test.toml", "-e", "out", "--cluster", address]
    process = subprocess.Popen(line, cwd=campaign.path, stderr=subprocess.PIPE, text=True)
    wait_until((campaign.path / "worker").exists)
    worker = int((campaign.path / "worker").read_text())
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    wait_until(lambda: not is_alive(worker))


def needs(folder: Path, **fields: Any) -> Requirements:
    mark = folder / ".session"
    mark.touch()
    return msgspec.structs.replace(
        Requirements(str(mark), str(folder), [], cluster._versions()), **fields
    )


def test_a_worker_that_does_not_see_the_folder_or_has_other_code_says_so(tmp_path: Path) -> None:
    check_worker(needs(tmp_path))
    for changed, message in (
        ({"mark": str(tmp_path / "absent")}, f"see {tmp_path}"),
        ({"inputs": ["/absent.swf"]}, r"/absent\.swf"),
        ({"versions": {**cluster._versions(), "numpy": "0.1"}}, r"numpy .*0\.1"),
    ):
        with pytest.raises(UsageError, match=message):
            check_worker(needs(tmp_path, **changed))


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A queueing system whose jobs are processes of this machine."""
    monkeypatch.setattr(cluster, "_systems", lambda: {"local": LocalJobs})
    of_job = {"cores": 2, "memory": "1GB", "scheduler-options": {"host": "127.0.0.1"}}
    with dask.config.set({f"jobqueue.local.{name}": value for name, value in of_job.items()}):
        yield


@pytest.mark.usefixtures("jobs")
def test_jobs_are_asked_for_and_cancelled(
    campaign: CampaignFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = campaign.run("--cluster", "local", "--dry-run").stdout
    assert "--nthreads 2 " in shown
    assert "--dashboard-address 127.0.0.1:0" in shown
    results = run_campaign("test.toml", "out", cluster="local", jobs=1, progress=False)
    assert len(results.runs) == 2
    number = int(capsys.readouterr().err.rpartition("asked local for jobs: ")[2].split()[0])
    wait_until(lambda: not is_alive(number))
    assert [path.name for path in campaign.out.glob(".*")] == [".lock"]  # no key either


def test_clusters_that_are_not_there(
    campaign: CampaignFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No configuration of dask, no commands of the system, no scheduler at an address."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="DASK_JOBQUEUE__SLURM__CORES"):
        run_campaign("test.toml", cluster="slurm", progress=False)
    with (
        dask.config.set({"jobqueue.slurm.cores": 1, "jobqueue.slurm.memory": "1GB"}),
        pytest.raises(UsageError, match="no job can"),
    ):
        run_campaign("test.toml", cluster="slurm", progress=False)
    with pytest.raises(UsageError, match="no dask scheduler"):
        run_campaign("test.toml", cluster="tcp://127.0.0.1:9", progress=False)
