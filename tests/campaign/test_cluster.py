"""Campaigns on clusters: what `--cluster` may say, and runs on real dask workers."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import msgspec
import pytest

from batsched_py.campaign import cluster as module
from batsched_py.campaign import cluster_node as station
from batsched_py.campaign.cluster import (
    ClusterLostError,
    describe,
    job_script,
    open_cluster,
    parse_cluster,
)
from batsched_py.campaign.cluster_address import Request
from batsched_py.campaign.planned_runs import Settings
from batsched_py.campaign.run_task import Files, RunFailed, Task, perform
from batsched_py.campaign.worker_processes import LocalWorkers, WorkerLost
from batsched_py.errors import UsageError
from batsched_py.run.simulate import sha256
from batsched_py.workload.log_archive import find_log

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed")
pytest.importorskip("dask_jobqueue", reason="the extra cluster is not installed")

SLURM = "slurm:cores=4,memory=8GB"
ELSEWHERE = "/no/such/place"  # a path that no worker has, though it is on this machine

# A policy that tells of each run of it where it is; what it does next is filled in.
POLICY = """
import os, time
from pathlib import Path
from batsched_py.campaign.study_files import study_module

beside = study_module(Path(__file__).with_name("beside.py"))

class Policy:
    def __init__(self, *, name="run"):
        with open({calls!r}, "a") as calls:
            print(name, os.getpid(), os.getppid(), file=calls)
        number = open({calls!r}).read().split().count(name)
        if {condition}:
            {action}

    def schedule(self, now, queue, machine):
        for job in list(queue):
            if job.size <= machine.free:
                yield beside.Start(job)
"""


# What --cluster says


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("dask://node1:8786", "tcp://node1:8786"),
        ("tcp://10.0.0.1:8786", "tcp://10.0.0.1:8786"),
        ("tls://node1:8786", "tls://node1:8786"),
        ("dask://[::1]:8786/", "tcp://[::1]:8786"),
    ],
)
def test_addresses(text: str, address: str) -> None:
    assert parse_cluster(text).address == address


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dusk://node1:8786", "did you mean 'dask'?"),
        ("dask://node1", "'node1' is no host and port; expected dask://HOST:PORT"),
        ("dask://node1:port", "is no host and port"),
        ("dask://node1:123456", "is no host and port"),
        ("dask:node1:8786", "expected dask://HOST:PORT"),
        ("slrum:cores=4", "there is no 'slrum' (did you mean 'slurm'?)"),
        ("", "expected dask://HOST:PORT, local, or one of slurm, oar, pbs, sge, lsf"),
        ("slurm", "cores and memory of a job not given"),
        ("slurm:cores=4", "memory of a job not given"),
        (f"{SLURM},quue=main", "there is no option 'quue' (did you mean 'queue'?)"),
        (f"{SLURM},resource_spec=x", "there is no option 'resource_spec'"),  # of OAR and PBS
        (f"{SLURM},scheduler=x", "there is no option 'scheduler'"),  # is for us to say
        (f"{SLURM},job_extra=x", "there is no option 'job_extra'"),  # its old name
        (f"{SLURM},queue", "'queue'; expected NAME=VALUE"),
        (f"{SLURM},queue=", "'queue='; expected NAME=VALUE"),
        (f"{SLURM},", "''; expected NAME=VALUE"),
        (f"{SLURM},cores=8", "cores is given twice"),
        (f"{SLURM},jobs=ten", "jobs=ten; expected a whole number, at least 1"),
        (f"{SLURM},jobs=0", "jobs=0; expected a whole number, at least 1"),
        (f"{SLURM},nanny=yes", "nanny=yes; expected true or false"),
        (f"{SLURM},processes=5", "processes=5; expected at most 4, the cores"),
        ("slurm:cores=4,memory=8", "memory=8; expected an amount of memory with its unit"),
        ("slurm:cores=4,memory=much", "memory=much; expected an amount of memory"),
        ("local:cores=2", "there is no option 'cores'"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_cluster(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            f"{SLURM},walltime=01:00:00,queue=main,account=me,job_extra_directives=--exclusive;"
            "--qos=low",
            [
                "#SBATCH -p main",
                "#SBATCH -A me",
                "#SBATCH --cpus-per-task=4",
                "#SBATCH --mem=8G",
                "#SBATCH -t 01:00:00",
                "#SBATCH --exclusive",
                "#SBATCH --qos=low",
            ],
        ),
        (
            "oar:cores=4,memory=8GB,walltime=2:00:00,queue=default,project=p,"
            "memory_per_core_property_name=not_applicable",
            ["#OAR -q default", "#OAR --project p", "#OAR -l /nodes=1/core=4,walltime=2:00:00"],
        ),
        (
            "pbs:cores=4,memory=8GB,queue=q,walltime=1:00:00,"
            '"resource_spec=select=1:ncpus=4,place=pack"',
            ["#PBS -q q", "#PBS -l select=1:ncpus=4,place=pack", "#PBS -l walltime=1:00:00"],
        ),
        (
            "sge:cores=4,memory=8GB,queue=q,walltime=3600,resource_spec=h_vmem=2G",
            ["#$ -q q", "#$ -l h_vmem=2G", "#$ -l h_rt=3600"],
        ),
        (
            "lsf:cores=4,memory=8GB,queue=q,walltime=1:00,lsf_units=mb",
            ["#BSUB -q q", "#BSUB -n 4", "#BSUB -M 8000", "#BSUB -W 1:00"],
        ),
    ],
)
def test_options_arrive_in_the_job_script(text: str, lines: list[str]) -> None:
    script = job_script(f"{text},python=/opt/python,job_script_prologue=module load a;set -e")
    assert script is not None
    assert [line for line in lines if line not in script.splitlines()] == []
    assert "module load a\nset -e\n/opt/python -m distributed.cli.dask_worker" in script
    assert "--nthreads 4 " in script  # one dask worker to a job


def test_where_runs_would_be_is_told() -> None:
    assert "scheduler at tcp://node1:8786" in describe("dask://node1:8786")
    assert "this machine: 2" in describe("local:workers=2")
    assert "#SBATCH --cpus-per-task=4\n" in describe(SLURM)


@pytest.mark.parametrize("text", ["dask://127.0.0.1:8786", "local:workers=1", SLURM])
def test_without_dask_the_message_says_how_to_get_it(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("distributed", "dask_jobqueue"):
        monkeypatch.setitem(sys.modules, name, None)
    with (
        pytest.raises(UsageError, match=r"pip install 'batsched_py\[cluster\]'"),
        open_cluster(text, {}),
    ):
        pass


def test_ctrl_c_is_what_it_was() -> None:
    """dask-jobqueue lets it end the program without a word."""
    code = f"""
import signal
before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
from batsched_py.campaign.cluster import job_script
assert job_script({SLURM!r})
assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# What goes to a node


def test_every_path_of_an_input_is_moved_and_nothing_else() -> None:
    files = {"/in/log.swf": "1", "/code/policy.py": "2", "/code/users/a.toml": "3"}
    settings = Settings(
        log="sample",
        scheduler="/code/policy.py:Policy",
        users="relative.py:Users",
        platform="/elsewhere/platform.xml",
        user_options={
            "folder": "/code/users/",
            "file": "/code/users/a.toml",
            "text": "/x:y",
            "n": 3,
        },
    )
    task = Task(settings=settings, log="/in/log.swf", files=files, cwd="/home/me", folder="/out")
    there = station.moved(task, Path("/root"))
    assert there.log == "/root/in/log.swf"
    assert there.cwd == "/root/home/me"
    assert there.folder is None  # it is the coordinator's
    assert there.files == {f"/root{path}": digest for path, digest in files.items()}
    assert there.settings == msgspec.structs.replace(
        settings,
        scheduler="/root/code/policy.py:Policy",
        user_options={
            "folder": "/root/code/users",
            "file": "/root/code/users/a.toml",
            "text": "/x:y",
            "n": 3,
        },
    )


# Runs on a cluster of processes


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of two dask workers in processes of their own."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
    ) as cluster:
        yield cluster.scheduler_address.replace("tcp", "dask")


class Study:
    """Inputs of runs, and the runs, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls = folder / "calls"
        self.log = find_log("sample", []).resolve()
        self.policy("False", "pass")

    def policy(self, condition: str, action: str) -> None:
        text = POLICY.format(calls=str(self.calls), condition=condition, action=action)
        (self.folder / "policy.py").write_text(text)
        (self.folder / "beside.py").write_text("from batsched_py import Start\n")

    @property
    def files(self) -> dict[str, str]:
        paths = (self.log, self.folder / "policy.py", self.folder / "beside.py")
        return {str(path): sha256(path) for path in paths}

    def task(self, name: str = "run", place: str = "") -> Task:
        """A short run; ``place`` is put before all paths, as if the worker were far."""
        settings = Settings(
            scheduler="policy.py:Policy", scheduler_options={"name": name}, first=100
        )
        return Task(
            settings=settings,
            log=f"{place}{self.log}",
            files={place + path: digest for path, digest in self.files.items()},
            cwd=f"{place}{self.folder}",
        )

    def runs(self) -> list[list[str]]:
        """Name, process and parent process of each run that began."""
        text = self.calls.read_text() if self.calls.exists() else ""
        return [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def began(self, name: str) -> list[str]:
        """Wait for a run, and return its line."""
        return wait_until(lambda: next((run for run in self.runs() if run[0] == name), None))


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path)


def wait_until(condition: Callable[[], Any], seconds: float = 20) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def alive(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def lasting(files: Files) -> dict[str, Any]:
    """The files of a run without times and host."""
    run = json.loads(files["out_run.json"])
    for name in ("host", "started", "seconds"):
        assert run["provenance"].pop(name) is not None
    del run["wall_time"]
    return {**files, "out_run.json": run}


def test_results_are_those_of_local_workers(address: str, study: Study) -> None:
    names = [f"run{number}" for number in range(6)]
    here = [study.task(name) for name in names]
    with LocalWorkers(1) as local, pytest.MonkeyPatch.context() as patch:
        patch.chdir(study.folder)
        expected = [lasting(local.submit(perform, task).result(30)) for task in here]
    with open_cluster(address, study.files) as executor:
        found = [executor.submit(perform, task) for task in here]
        assert [lasting(future.result(30)) for future in found] == expected
        assert executor.nb_sent == 0  # all of it is at its place
        far = [executor.submit(perform, study.task(name, ELSEWHERE)) for name in names]
        assert [lasting(future.result(30)) for future in far] == expected
    assert Counter(run[0] for run in study.runs()) == dict.fromkeys(names, 3)


def test_inputs_travel_once_to_each_worker(address: str, study: Study) -> None:
    with open_cluster(address, study.files) as executor:
        for _ in range(2):
            tasks = [study.task(f"run{number}", ELSEWHERE) for number in range(6)]
            for future in [executor.submit(perform, task) for task in tasks]:
                future.result(30)
            parents = {run[2] for run in study.runs()}
            assert executor.nb_sent == len(study.files) * len(parents)


def test_paths_of_the_node_are_in_no_result(address: str, study: Study) -> None:
    study.policy("name == 'bad'", "raise ValueError(__file__)")
    with open_cluster(address, study.files) as executor:
        good = executor.submit(perform, study.task("good", ELSEWHERE))
        bad = executor.submit(perform, study.task("bad", ELSEWHERE))
        assert not [name for name, text in good.result(30).items() if b"batsched_py-" in text]
        with pytest.raises(RunFailed) as failed:
            bad.result(30)
    assert "ValueError" in failed.value.message
    assert "batsched_py-" not in failed.value.message + failed.value.log


def test_a_lost_worker_costs_only_its_run(address: str, study: Study) -> None:
    study.policy("name == 'slow' and number == 1", "time.sleep(60)")
    names = [f"run{number}" for number in range(5)]
    with open_cluster(address, study.files) as executor:
        slow = executor.submit(perform, study.task("slow", ELSEWHERE))
        _, child, worker = study.began("slow")
        others = [executor.submit(perform, study.task(name, ELSEWHERE)) for name in names]
        for future in others[:3]:
            future.result(30)
        os.kill(int(worker), signal.SIGKILL)
        for future in [*others, slow]:
            assert future.result(30)["out_jobs.csv"]
    assert Counter(run[0] for run in study.runs()) == {"slow": 2, **dict.fromkeys(names, 1)}
    wait_until(lambda: not alive(child))  # it does not outlive the worker


def test_a_lost_process_costs_only_its_run(address: str, study: Study) -> None:
    study.policy("name == 'bad' or name == 'once' and number == 1", "os.kill(os.getpid(), 9)")
    with open_cluster(address, study.files) as executor:
        futures = {
            name: executor.submit(perform, study.task(name)) for name in ("bad", "good", "once")
        }
        assert futures["good"].result(30)["out_jobs.csv"]
        assert futures["once"].result(30)["out_jobs.csv"]
        with pytest.raises(WorkerLost) as lost:
            futures["bad"].result(30)
    assert "lost 3 times" in str(lost.value)
    assert socket.gethostname() in str(lost.value)
    assert "was killed by SIGKILL" in str(lost.value)
    assert Counter(run[0] for run in study.runs()) == {"bad": 3, "good": 1, "once": 2}


def test_ctrl_c_stops_what_runs_and_leaves_the_workers(address: str, study: Study) -> None:
    study.policy("name == 'slow'", "time.sleep(60)")

    def interrupted() -> None:
        with open_cluster(address, study.files) as executor:
            waiting = [executor.submit(perform, study.task("slow")) for _ in range(20)]
            study.began("slow")
            assert not any(future.done() for future in waiting)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    wait_until(lambda: not any(alive(child) for _, child, _ in study.runs()))
    assert all(alive(worker) for *_, worker in study.runs())
    assert len(study.runs()) <= 2  # one to a worker: the others have not begun


def test_a_run_that_comes_after_the_stop_does_not_begin(study: Study, tmp_path: Path) -> None:
    """dask had sent it to the worker before Ctrl-C; else it would hold the worker to its end."""
    worker = SimpleNamespace(local_directory=str(tmp_path))
    station.stop("a campaign", worker)
    with pytest.raises(WorkerLost, match="the campaign was stopped"):
        station._station("a campaign", tmp_path).perform(perform, study.task())
    assert study.runs() == []


def test_nothing_is_taken_after_the_end(address: str, study: Study) -> None:
    with open_cluster(address, study.files) as executor:
        executor.shutdown()
        with pytest.raises(RuntimeError, match="after the end"):
            executor.submit(perform, study.task())


def test_a_changed_input_is_told(address: str, study: Study) -> None:
    files = study.files
    task = study.task("run", ELSEWHERE)
    with (study.folder / "beside.py").open("a") as file:
        file.write("\n")
    with (
        open_cluster(address, files) as executor,
        pytest.raises(RunFailed, match=r"beside\.py has changed since the campaign began"),
    ):
        executor.submit(perform, task).result(30)


@pytest.mark.parametrize("late", [False, True])
def test_other_code_is_refused(
    address: str, study: Study, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that joins late is looked at when it gets its first run."""
    ours = {**station.identity(), "batsched_py": "9.9", "code": "f" * 64}
    monkeypatch.setattr(station, "identity", lambda: ours)
    if late:
        monkeypatch.setattr(module.ClusterExecutor, "check_workers", lambda self: None)

    def use() -> None:
        with open_cluster(address, study.files) as executor:
            futures = [executor.submit(perform, study.task()) for _ in range(3)]
            for future in reversed(futures):
                error = future.exception(30)
                assert isinstance(error, UsageError)
            raise error

    with pytest.raises(UsageError) as refused:
        use()
    assert f"has batsched_py {version('batsched_py')}, here 9.9; code " in str(refused.value)
    assert "here ffffffffffff" in str(refused.value)
    assert study.runs() == []


# Schedulers that are not there


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CONNECT", 1.0)
    begin = time.monotonic()
    with (
        pytest.raises(UsageError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1"),
        open_cluster(f"dask://127.0.0.1:{free_port()}", {}),
    ):
        pass
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize("end", ["SIGKILL", "SIGSTOP"])
def test_a_scheduler_that_goes(
    end: str, study: Study, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_PULSE", 0.2)
    monkeypatch.setattr(module, "_ALONE", 0.5)
    monkeypatch.setattr(module, "_PATIENCE", 3.0)
    port = free_port()
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with open_cluster(f"dask://127.0.0.1:{port}", study.files) as executor:
            futures = [executor.submit(perform, study.task()) for _ in range(3)]
            wait_until(lambda: "runs wait, for there is no worker" in capfd.readouterr().err)
            assert not any(future.done() for future in futures)
            process.send_signal(getattr(signal, end))
            for future in futures:
                with pytest.raises(ClusterLostError, match="the dask scheduler is gone"):
                    future.result(15)
    finally:
        process.kill()
        process.wait()


# Queueing systems: commands that run a job's script at once, as a process of this machine

SUBMIT = """#!/bin/sh
echo submit >> {folder}/queue
{script}
setsid sh $script > {folder}/job.$$.log 2>&1 < /dev/null &
echo $! >> {folder}/jobs
echo "{said}$!"
"""
CANCEL = """#!/bin/sh
echo cancel "$@" >> {folder}/queue
kill -- -$1
(sleep 1; kill -s KILL -- -$1) > /dev/null 2>&1 &
"""  # as queueing systems do: first asked to end, then killed
# The script is a file that is removed after the submission; OAR is given its text instead.
A_FILE = 'script={folder}/job.$$; cp "$1" $script'
A_TEXT = 'script={folder}/job.$$; for last; do :; done; echo "$last" > $script'
SYSTEMS = {
    "slurm": ("sbatch", "scancel", A_FILE, "Submitted batch job "),
    "oar": ("oarsub", "oardel", A_TEXT, "OAR_JOB_ID="),
}


@pytest.fixture
def queue(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a queueing system whose commands are there."""
    name: str = request.param
    submit, cancel, script, said = SYSTEMS[name]
    folder = tmp_path / "bin"
    folder.mkdir()
    place = script.format(folder=folder)
    for command, text in (
        (submit, SUBMIT.format(folder=folder, script=place, said=said)),
        (cancel, CANCEL.format(folder=folder)),
    ):
        (folder / command).write_text(text)
        (folder / command).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return name


@pytest.mark.parametrize("queue", SYSTEMS, indirect=True)
@pytest.mark.filterwarnings("ignore:OAR Job memory")
def test_jobs_of_a_queueing_system(
    queue: str, study: Study, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = study.folder / "bin"
    text = (
        f"{queue}:cores=2,memory=1GB,jobs=2,interface=lo,nanny=false,local_directory={study.folder}"
    )
    with open_cluster(text, study.files) as executor:
        tasks = [study.task(f"run{number}", ELSEWHERE) for number in range(6)]
        futures = [executor.submit(perform, task) for task in tasks]
        assert all(future.result(40)["out_jobs.csv"] for future in futures)
        pids = (folder / "jobs").read_text().split()
        assert len(pids) == 2
    said = (folder / "queue").read_text().splitlines()
    assert [line.split()[0] for line in said] == ["submit", "submit", "cancel", "cancel"]
    assert {line.split()[1] for line in said[2:]} == set(pids)
    wait_until(lambda: not any(alive(run[i]) for run in study.runs() for i in (1, 2)))
    assert f"asked {queue} for 2 jobs of 2 cores each" in capfd.readouterr().err


@pytest.mark.parametrize("queue", ["slurm"], indirect=True)
def test_a_job_that_ends_early_is_asked_for_again(
    queue: str, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PULSE", 0.2)
    study.policy("name == 'slow' and number == 1", "time.sleep(60)")
    folder = study.folder / "bin"
    import dask

    text = f"{queue}:cores=1,memory=1GB,interface=lo,nanny=false,local_directory={study.folder}"
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "100ms"}),
        open_cluster(text, study.files) as executor,
    ):
        slow = executor.submit(perform, study.task("slow", ELSEWHERE))
        study.began("slow")
        os.killpg(int((folder / "jobs").read_text()), signal.SIGKILL)
        assert slow.result(40)["out_jobs.csv"]
        assert len((folder / "jobs").read_text().split()) == 2


def test_jobs_that_all_end_in_vain() -> None:
    """Each is asked for three times more, and again so after a run that ended."""

    class Nothing:
        workers: ClassVar = {}
        asked = 0

        def scale(self, jobs: int) -> None:
            assert jobs == 2
            self.asked += 1

        def __await__(self) -> Iterator[None]:
            return iter(())

    nothing = Nothing()
    jobs = module._Jobs(nothing, Request("slurm", jobs=2))
    for expected in (3, 6):
        for _ in range(3):
            asyncio.run(jobs.renew())
        with pytest.raises(ClusterLostError, match="the jobs of slurm end before"):
            asyncio.run(jobs.renew())
        assert nothing.asked == expected
        jobs.run_ended()


@pytest.mark.parametrize("queue", ["slurm"], indirect=True)
def test_a_job_that_is_refused(queue: str, study: Study) -> None:
    command = study.folder / "bin" / "sbatch"
    command.write_text("#!/bin/sh\necho 'sbatch: error: invalid partition' >&2\nexit 1\n")
    with (
        pytest.raises(UsageError, match="invalid partition"),
        open_cluster(f"{SLURM},interface=lo", study.files),
    ):
        pass


def test_where_jobs_cannot_be_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with (
        pytest.raises(UsageError, match="no command sbatch on this machine"),
        open_cluster(SLURM, {}),
    ):
        pass
