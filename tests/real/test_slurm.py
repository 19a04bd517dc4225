"""Campaigns on a real Slurm, of one node: `make real` starts it (``slurm_node``)."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers.campaigns import CampaignFolder
from helpers.listening import started
from helpers.waiting import LIMIT, wait_until
from real import slurm_node

pytest.importorskip("dask_jobqueue", reason="the extra cluster is not installed")

from helpers.dask_strangers import lets_strangers_in

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.skipif(
        not slurm_node.answers(), reason="no Slurm of these tests answers: make real starts one"
    ),
]

SLURM = "slurm:cores=1,memory=500MB,interface=lo,walltime=5"

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


class RunningCampaign:
    """The command in a process of its own, which waits for its cluster."""

    def __init__(self, process: subprocess.Popen[bytes], said: Path) -> None:
        self.process = process
        self._said = said

    @property
    def said(self) -> str:
        """What it printed until now."""
        return self._said.read_text()

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait until it prints something; fail if it ends without."""

        def printed() -> re.Match[str] | None:
            has_ended = self.process.poll() is not None
            match = re.search(pattern, self.said)
            assert match or not has_ended, self.said
            return match

        match = wait_until(printed)
        assert match is not None
        return match

    def job(self) -> str:
        """Return the number of its job, once there is one."""
        return self.wait_for(r"asked slurm for 1 job of \d+ cores? each: (\d+)")[1]

    def stop(self) -> None:
        """Ask it to end; it cancels its jobs."""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(LIMIT) == 130, self.said


@contextmanager
def running(folder: CampaignFolder, cluster: str) -> Iterator[RunningCampaign]:
    """Start a campaign on a cluster; at the end it is ended, and its jobs have to be."""
    command = [sys.executable, "-m", "batsched_py", "campaign", "test.toml", "-e", "out"]
    said = folder.path / "said"
    with open(said, "wb") as file:
        process = subprocess.Popen(
            [*command, "--no-report", "--cluster", cluster],
            cwd=folder.path,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    started = RunningCampaign(process, said)
    try:
        yield started
    finally:
        process.kill()
        process.wait()
    jobs = re.findall(r"asked slurm for 1 job of \d+ cores? each: (\d+)", started.said)
    wait_until(lambda: not any(job in queue() for job in jobs))


def queue() -> list[str]:
    """Return the numbers of the jobs that wait or run."""
    return slurm("squeue", "--noheader", "--format=%i").split()


def slurm(*command: str) -> str:
    """Return what a command of Slurm prints."""
    done = subprocess.run(command, check=True, timeout=LIMIT, stdout=subprocess.PIPE, text=True)
    return done.stdout


def files_of_runs(out: Path) -> dict[str, bytes]:
    """Return what does not tell when and where a run was made."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.glob("runs/*/*")
        if path.suffix == ".csv" or path.name == "settings.json"
    }


def test_runs_are_those_of_this_machine(campaign: CampaignFolder) -> None:
    assert campaign.run("--jobs", "2").returncode == 0
    campaign.out.rename(campaign.path / "here")
    there = campaign.run("--cluster", f"{SLURM},jobs=2")
    assert there.returncode == 0, there.stderr
    runs = files_of_runs(campaign.out)
    assert runs == files_of_runs(campaign.path / "here")
    assert len({path.split("/")[1] for path in runs}) == 18
    assert "asked slurm for 2 jobs of 1 core each" in there.stderr
    assert [path.name for path in campaign.path.glob("slurm-*.out")] == []
    assert "Registered to" in "".join(
        path.read_text() for path in campaign.out.glob("job-logs/*.err")
    )
    wrong = campaign.run("--cluster", f"{SLURM},quue=main")  # nothing is left to be run
    assert wrong.returncode == 2
    assert "did you mean 'queue'?" in wrong.stderr


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (["scancel"], "CANCELLED, signal 15"),
        # Slurm looks for jobs whose time is over each 30 s; the least walltime is a minute.
        (["scontrol", "update", "EndTime=now+1", "JobId={}"], r"TIMEOUT \(TimeLimit\)"),
    ],
    ids=["scancel", "walltime"],
)
def test_a_job_that_ends_in_mid_run(end: list[str], state: str, campaign: CampaignFolder) -> None:
    campaign.write(ONE, waits=WAITS)
    with running(campaign, SLURM) as command:
        job = command.job()
        wait_until((campaign.path / "began").exists)
        program, *options = end
        slurm(program, *(option.format(job) for option in options or ["{}"]))
        command.wait_for(rf"job {job} of slurm ended: {state}")
        assert command.process.wait(LIMIT) == 0, command.said
    assert "asked slurm for 1 job again" in command.said
    assert len(files_of_runs(campaign.out)) > 1


def test_a_worker_that_cannot_start(campaign: CampaignFolder) -> None:
    with running(campaign, f"{SLURM},python=/nonexistent") as command:
        job = command.job()
        command.wait_for(
            rf"job {job} of slurm ended: FAILED \(NonZeroExitCode\), exit code 127; the end of "
            rf"{campaign.out}/job-logs/dask-worker-{job}.err:\n"
            r".*/nonexistent: No such file or directory"
        )
        command.wait_for(
            r"job \d+ of slurm ended: again FAILED \(NonZeroExitCode\), exit code 127\n"
        )
        command.stop()


def test_a_job_that_waits(campaign: CampaignFolder) -> None:
    with running(campaign, f"{SLURM},job_extra_directives=--begin=now+1hour") as command:
        job = command.job()
        command.wait_for(r"jobs of slurm: 1 PENDING \(BeginTime\)")
        command.stop()
        assert job not in queue()


def test_a_job_that_can_never_run(campaign: CampaignFolder) -> None:
    """Slurm 22.05 lets it wait, 24.11 refuses it."""
    too_many = SLURM.replace("cores=1", f"cores={(os.cpu_count() or 1) + 60}")
    with running(campaign, too_many) as command:
        told = command.wait_for(r"1 (PENDING) \(PartitionConfig\)|CPU count per node can not be")
        if told[1]:
            assert "PENDING (PartitionConfig); no node of the partition has what" in command.said
            command.stop()


def test_keys_are_seen_by_nobody_and_strangers_are_refused(campaign: CampaignFolder) -> None:
    """The job inherits the environment by which its processes are known here."""
    campaign.write(ONE, waits=WAITS)
    command = [sys.executable, "-m", "batsched_py", "campaign", "test.toml", "-e", "out"]
    command += ["--no-report", "--cluster", SLURM]
    temporary = campaign.path / "tmp"
    temporary.mkdir()
    with started(campaign.path, temporary, *command) as program:
        job = program.wait_for(r"asked slurm for 1 job of 1 core each: (\d+)")[1]
        program.wait_for_file(campaign.path / "began")
        (key,) = campaign.out.glob(".cluster-*/key.pem")
        assert key.stat().st_mode & 0o777 == 0o600
        assert key.parent.stat().st_mode & 0o777 == 0o700
        seen = program.texts_others_may_see()
        assert f"\0--tls-key\0{key}\0".encode() in seen  # those of the worker are among them
        script = slurm("scontrol", "write", "batch_script", job, "-")
        logs = "".join(path.read_text() for path in campaign.out.glob("job-logs/*"))
        assert str(key) in script
        assert "Registered to" in logs
        secret = key.read_text().splitlines()[1]
        assert secret not in seen.decode(errors="replace") + script + logs
        ports = program.ports()
        assert len(ports) >= 4  # scheduler, nanny, worker and its page
        assert [port for port in ports if not port.is_loopback] == []  # interface=lo
        for port in ports:
            assert not asyncio.run(lets_strangers_in(f"tls://127.0.0.1:{port.port}"))
    assert not key.parent.exists()


def test_a_queue_that_does_not_exist(campaign: CampaignFolder) -> None:
    refused = campaign.run("--cluster", f"{SLURM},queue=nowhere")
    assert refused.returncode == 2
    assert "sbatch: error: invalid partition specified: nowhere; " in refused.stderr
    assert refused.stderr.count("sbatch: error: ") == 1
