"""Campaigns on clusters: what `--cluster` may say, and runs on real dask workers."""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import logging
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import pytest

from batsched_py.campaign.campaign_file import read_campaign
from batsched_py.campaign.cluster import dask_schedulers, node, queued_jobs
from batsched_py.campaign.cluster import executor as module
from batsched_py.campaign.cluster import private_folder as private_folder_module
from batsched_py.campaign.cluster.address import Request
from batsched_py.campaign.cluster.executor import (
    ClusterLostError,
    describe,
    job_script,
    open_cluster,
    parse_cluster,
)
from batsched_py.campaign.cluster.private_folder import make_keys
from batsched_py.campaign.cluster.queued_jobs import QueuedJobs
from batsched_py.campaign.preparation import prepare
from batsched_py.campaign.run_task import Task, perform
from batsched_py.campaign.runner import execute
from batsched_py.campaign.worker_processes import LocalWorkers, WorkerLost
from batsched_py.errors import UsageError
from batsched_py.run.settings import Settings
from batsched_py.support.file_digest import digest
from batsched_py.workload.log_archive import find_log
from helpers.other_programs import free_address
from helpers.waiting import LIMIT, is_alive, wait_until

pytestmark = [pytest.mark.process, pytest.mark.slow]

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed")
pytest.importorskip("dask_jobqueue", reason="the extra cluster is not installed")

from helpers.dask_strangers import lets_in, lets_strangers_in  # noqa: E402

SLURM = "slurm:cores=4,memory=8GB"

# A policy that tells of each run of it where it is; what it does next is filled in.
POLICY = """
import os, time
from pathlib import Path
from batsched_py.support.plugin_files import load_file

Start = load_file(str(Path(__file__).with_name("beside.py")) + ":Start")

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
                yield Start(job)
"""


# What --cluster says


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("dask://node1:8786", "scheduler at tcp://node1:8786"),
        ("tcp://10.0.0.1:8786", "scheduler at tcp://10.0.0.1:8786"),
        ("tls://node1:8786", "scheduler at tls://node1:8786"),
        ("dask://[::1]:8786/", "scheduler at tcp://[::1]:8786"),
        ("local:workers=2", "this machine: 2"),
        (SLURM, "#SBATCH --cpus-per-task=4\n"),
    ],
)
def test_where_runs_would_be_is_told(text: str, place: str, tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    assert place in describe(text, folder)
    assert not folder.exists()


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
        ("slurm:memroy=1GB", "expected one of account, cores, interface, job_extra_directives, "),
        ("slurm:memroy=1GB", "memory, python, queue, walltime"),  # no old names, no internals
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
    options = "python=/opt/python,job_script_prologue=module load a;set -e"
    script = job_script(parse_cluster(f"{text},{options}"), Path("campaign"))
    assert [line for line in lines if line not in script.splitlines()] == []
    assert "module load a\nset -e\n/opt/python -m distributed.cli.dask_worker" in script
    assert "--nthreads 4 " in script  # one dask worker to a job
    assert " tls://ADDRESS" in script
    assert "--dashboard-address 127.0.0.1:0 " in script
    private = Path("campaign/.cluster-NAME").absolute()
    assert f"--local-directory {private} " in script
    assert f" --tls-key {private}/key.pem" in script


def test_what_the_options_say_is_kept() -> None:
    options = "local_directory=/scratch/me,worker_extra_args=--lifetime;1h"
    script = job_script(parse_cluster(f"{SLURM},{options}"), Path("campaign"))
    assert "--local-directory /scratch/me " in script
    assert "--dashboard-address 127.0.0.1:0 --lifetime 1h " in script


@pytest.mark.parametrize("text", ["dask://127.0.0.1:8786", "local:workers=1", SLURM])
def test_without_dask_the_message_says_how_to_get_it(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("distributed", "dask_jobqueue"):
        monkeypatch.setitem(sys.modules, name, None)
    cannot_open(text, tmp_path, r"pip install 'batsched_py\[cluster\]'")


def test_ctrl_c_is_what_it_was() -> None:
    """dask-jobqueue lets it end the program without a word."""
    code = f"""
import signal
before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
from pathlib import Path
from batsched_py.campaign.cluster.executor import describe
assert describe({SLURM!r}, Path("campaign"))
assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=LIMIT)


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

    def task(self, name: str = "run") -> Task:
        """A short run, whose policy is in a file beside where the campaign is started."""
        settings = Settings(
            scheduler="policy.py:Policy", scheduler_options={"name": name}, first=100
        )
        paths = (self.log, self.folder / "policy.py", self.folder / "beside.py")
        files = {str(path): digest(path) for path in paths}
        return Task(settings=settings, log=str(self.log), files=files)

    def runs(self) -> list[list[str]]:
        """Name, process and parent process of each run that began."""
        text = self.calls.read_text() if self.calls.exists() else ""
        return [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def began(self, name: str) -> list[str]:
        """Wait for a run, and return its line."""
        return wait_until(lambda: next((run for run in self.runs() if run[0] == name), None))


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.chdir(tmp_path)
    return Study(tmp_path)


def test_nodes_write_the_folders_of_the_runs(address: str, study: Study) -> None:
    """A campaign's folder holds the same whoever ran it."""
    (study.folder / "test.toml").write_text(
        '[run]\nfirst = 50\nscheduler = ["fcfs", "no.py:No", "easy"]\n'
    )
    (study.folder / "no.py").write_text(
        "class No:\n def schedule(self, *state): raise ValueError\n"
    )
    contents = []
    for place in ("here", "there"):
        folder = study.folder / place
        runs = prepare(read_campaign(study.folder / "test.toml"), folder)
        inputs = {path for run in runs for path in run.task.files}
        with LocalWorkers(1) if place == "here" else open_cluster(address, folder, inputs) as them:
            failures = execute(runs, them)
        assert [failure.message.split(" (")[0] for failure in failures] == ["ValueError:"]
        assert [run.state().done for run in runs] == [True, False, True]
        tables = {path.relative_to(folder): path for path in folder.glob("runs/*/*")}
        contents.append(
            {
                name: path.read_bytes()
                for name, path in tables.items()
                if path.suffix == ".csv" or path.name in ("settings.json", "error.txt")
            }
        )
        assert len(tables) == 2 * 6 + 4
    assert contents[0] == contents[1]
    assert [*study.folder.glob("**/.session*")] == []


def test_a_lost_worker_costs_only_its_run(address: str, study: Study) -> None:
    study.policy("name == 'slow' and number == 1", "time.sleep(600)")
    names = [f"run{number}" for number in range(5)]
    with open_cluster(address, study.folder) as executor:
        slow = executor.submit(perform, study.task("slow"))
        _, child, worker = study.began("slow")
        others = [executor.submit(perform, study.task(name)) for name in names]
        for future in others[:3]:
            future.result(LIMIT)
        os.kill(int(worker), signal.SIGKILL)
        for future in [*others, slow]:
            assert future.result(LIMIT)["out_jobs.csv"]
    assert Counter(run[0] for run in study.runs()) == {"slow": 2, **dict.fromkeys(names, 1)}
    wait_until(lambda: not is_alive(int(child)))  # it does not outlive the worker


def test_a_lost_process_costs_only_its_run(address: str, study: Study) -> None:
    study.policy("name == 'bad' or name == 'once' and number == 1", "os.kill(os.getpid(), 9)")
    with open_cluster(address, study.folder) as executor:
        futures = {
            name: executor.submit(perform, study.task(name)) for name in ("bad", "good", "once")
        }
        assert futures["good"].result(LIMIT)["out_jobs.csv"]
        assert futures["once"].result(LIMIT)["out_jobs.csv"]
        with pytest.raises(WorkerLost) as lost:
            futures["bad"].result(LIMIT)
    assert "lost 3 times" in str(lost.value)
    assert socket.gethostname() in str(lost.value)
    assert "was killed by SIGKILL" in str(lost.value)
    assert Counter(run[0] for run in study.runs()) == {"bad": 3, "good": 1, "once": 2}


def test_ctrl_c_stops_what_runs_and_leaves_the_workers(address: str, study: Study) -> None:
    study.policy("name == 'slow'", "time.sleep(600)")

    def interrupted() -> None:
        with open_cluster(address, study.folder) as executor:
            waiting = [executor.submit(perform, study.task("slow")) for _ in range(20)]
            study.began("slow")
            assert not any(future.done() for future in waiting)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    wait_until(lambda: not any(is_alive(int(child)) for _, child, _ in study.runs()))
    assert all(is_alive(int(worker)) for *_, worker in study.runs())
    assert len(study.runs()) <= 2  # one to a worker: the others have not begun


def test_a_run_that_comes_after_the_stop_does_not_begin(study: Study) -> None:
    """dask had sent it to the worker before Ctrl-C; else it would hold the worker to its end."""
    with module._session(study.folder, ()) as place:
        node.stop(place)
        with pytest.raises(RuntimeError, match="after shutdown"):
            node.run(place, perform, study.task())
    assert study.runs() == []


def test_a_fault_in_watching_over_the_jobs_ends_the_runs_and_is_told_as_what_it_is(
    address: str, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as a scheduler that does not answer."""

    async def renew(self: QueuedJobs, nb_workers: int) -> None:
        raise KeyError("job-7")

    monkeypatch.setattr(module, "_PULSE", 0.2)
    monkeypatch.setattr(QueuedJobs, "renew", renew)
    with open_cluster(address, study.folder) as executor:
        wait_until(executor._gone.done)  # type: ignore[attr-defined]
        future = executor.submit(perform, study.task())
        with pytest.raises(ClusterLostError, match=r"watched over: KeyError\('job-7'\)"):
            future.result(LIMIT)


def test_nothing_is_taken_after_the_end(address: str, study: Study) -> None:
    with open_cluster(address, study.folder) as executor:
        executor.shutdown()
        with pytest.raises(RuntimeError, match="after the end"):
            executor.submit(perform, study.task())


@pytest.fixture(params=["at first", "late"])
def joining(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that joins late is looked at when it gets its first run."""
    if request.param == "late":
        monkeypatch.setattr(module.ClusterExecutor, "check_nodes", lambda self: None)


def refusal(address: str, study: Study, *inputs: str) -> str:
    def use() -> None:
        with open_cluster(address, study.folder, inputs) as executor:
            futures = [executor.submit(perform, study.task()) for _ in range(3)]
            errors = [future.exception(LIMIT) for future in reversed(futures)]
            assert {type(error) for error in errors} == {UsageError}
            raise errors[0]

    with pytest.raises(UsageError) as refused:
        use()
    assert study.runs() == []
    return str(refused.value)


@pytest.mark.usefixtures("joining")
def test_other_code_is_refused(address: str, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {**node.identity(), "batsched_py": "9.9", "code": "f" * 64}
    monkeypatch.setattr(node, "identity", lambda: ours)
    message = refusal(address, study)
    assert f"has batsched_py {version('batsched_py')}, here 9.9; code " in message
    assert "here ffffffffffff" in message


@pytest.mark.usefixtures("joining")
def test_a_node_that_does_not_see_a_file_is_told(
    address: str, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder's path may be there, as another one: what counts is the campaign's file in it."""
    message = refusal(address, study, "/no/such/place/log.swf")
    assert f"node {socket.gethostname()} does not see /no/such/place/log.swf: the camp" in message
    monkeypatch.setattr(module, "write_whole", lambda path, content: None)
    assert f"does not see {study.folder}: the campaign's folder" in refusal(address, study)


# Schedulers that are not there


@contextmanager
def dask_program(program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *arguments]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([*command, "--no-dashboard"], stdout=quiet, stderr=quiet)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def cannot_open(text: str, folder: Path, message: str) -> None:
    with pytest.raises(UsageError, match=message), open_cluster(text, folder):
        pass


def test_a_scheduler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_schedulers, "_CONNECT", 1.0)
    address = free_address().replace("tcp", "dask")
    cannot_open(address, tmp_path, r"no dask scheduler answers at tcp://127\.0\.0\.1")


def test_a_host_that_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told before the seconds that a scheduler has for its answer."""

    def no_client(*arguments: object, **options: object) -> None:
        pytest.fail("nothing is there to connect to")

    monkeypatch.setattr(distributed, "Client", no_client)
    cannot_open("dask://nohost.invalid:8786", tmp_path, r"no host 'nohost\.invalid' is known here")


@pytest.mark.parametrize("end", ["SIGKILL", "SIGSTOP"])
def test_a_scheduler_that_goes(
    end: str, study: Study, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "_PULSE", 0.2)
    monkeypatch.setattr(module, "_ALONE", 0.5)
    monkeypatch.setattr(module, "_PATIENCE", 3.0)
    port = int(free_address().rpartition(":")[2])
    with dask_program("scheduler", "--host", "127.0.0.1", "--port", str(port)) as process:
        wait_until(lambda: listens(port))
        with open_cluster(f"dask://127.0.0.1:{port}", study.folder) as executor:
            futures = [executor.submit(perform, study.task()) for _ in range(3)]
            wait_until(lambda: "runs wait, for there is no worker" in capfd.readouterr().err)
            assert not any(future.done() for future in futures)
            process.send_signal(getattr(signal, end))
            for future in futures:
                with pytest.raises(ClusterLostError, match="the dask scheduler is gone"):
                    future.result(LIMIT)


# Who may connect


async def refuse_strangers(client: distributed.Client) -> int:
    """Assert that nothing of a cluster lets others in; return how many addresses it has."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    nannies = [worker["nanny"] for worker in workers.values() if worker["nanny"]]
    addresses = [client.scheduler.address, *workers, *nannies]
    for address in addresses:
        assert await lets_in(address, **client.security.get_connection_args("client"))
        assert not await lets_strangers_in(address)
    return len(addresses)


def test_on_this_machine_strangers_are_refused(study: Study) -> None:
    with open_cluster("local:workers=2", study.folder) as executor:
        assert asyncio.run(refuse_strangers(executor._client)) == 5  # type: ignore[attr-defined]
        assert executor.submit(perform, study.task()).result(LIMIT)["out_jobs.csv"]


def test_a_plain_client_is_refused(study: Study) -> None:
    with open_cluster("local", study.folder) as executor:
        address = executor._client.scheduler.address  # type: ignore[attr-defined]
        with pytest.raises(OSError, match="TCP"):
            distributed.Client(address.replace("tls://", "tcp://"), timeout=2)


def test_a_scheduler_of_the_user_with_the_keys_of_dasks_configuration(
    study: Study, capfd: pytest.CaptureFixture[str]
) -> None:
    import dask

    host, _, port = free_address().removeprefix("tcp://").partition(":")
    address, keys = f"tls://{host}:{port}", study.folder / "keys"
    cannot_open(address, study.folder, "names no key and certificate of a client")
    config = {
        "distributed.comm.tls.ca-file": str(keys / "certificate.pem"),
        "distributed.comm.tls.client.cert": str(keys / "certificate.pem"),
        "distributed.comm.tls.client.key": str(keys / "key.pem"),
    }
    with dask.config.set(config):
        cannot_open(address, study.folder, "cannot be used: .*No such file")
        keys.mkdir()
        make_keys(keys)
        options = ["--tls-ca-file", f"{keys}/certificate.pem", "--tls-key", f"{keys}/key.pem"]
        options += ["--tls-cert", f"{keys}/certificate.pem", "--host", host]
        with (
            dask_program("scheduler", *options, "--port", port, "--protocol", "tls"),
            dask_program("worker", address, *options, "--local-directory", str(keys)),
            open_cluster(address, study.folder) as executor,
        ):
            assert executor.submit(perform, study.task()).result(LIMIT)["out_jobs.csv"]
    assert "whoever reaches" not in capfd.readouterr().err


def test_a_scheduler_with_other_keys(study: Study) -> None:
    import dask

    with open_cluster("local", study.folder) as executor:
        address = executor._client.scheduler.address  # type: ignore[attr-defined]
        cannot_open(address.replace("tls", "dask"), study.folder, "with TLS or without")
        make_keys(study.folder)
        names = {"ca-file": "certificate", "client.cert": "certificate", "client.key": "key"}
        files = {name: f"{study.folder}/{file}.pem" for name, file in names.items()}
        with dask.config.set({f"distributed.comm.tls.{name}": files[name] for name in files}):
            cannot_open(address, study.folder, "are its keys those of dask's configuration")


def test_of_a_scheduler_without_keys_it_is_said_what_that_means(
    address: str, study: Study, capfd: pytest.CaptureFixture[str]
) -> None:
    with open_cluster(address, study.folder):
        place = address.replace("dask", "tcp")
    notes = [line for line in capfd.readouterr().err.splitlines() if line.startswith("note")]
    assert len(notes) == 1
    assert notes[0].startswith(f"note: whoever reaches {place} can run programs in your name")


def test_a_file_system_that_keeps_nobody_out(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_to_all(prefix: str, dir: Path, ignore_cleanup_errors: bool) -> TemporaryDirectory[str]:
        folder = TemporaryDirectory(dir=dir)
        os.chmod(folder.name, 0o755)
        return folder

    monkeypatch.setattr(private_folder_module, "TemporaryDirectory", open_to_all)
    cannot_open("local", study.folder, "other users may enter")


# Queueing systems: commands that run a job's script at once, as a process of this machine

SUBMIT = """#!/bin/sh
echo submit >> {folder}/queue
{script}
setsid sh $script > {folder}/job.$$.log 2>&1 < /dev/null &
echo $! >> {folder}/jobs
echo "{reply}$!"
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
    submit, cancel, script, reply = SYSTEMS[name]
    folder = tmp_path / "bin"
    folder.mkdir()
    place = script.format(folder=folder)
    for command, text in (
        (submit, SUBMIT.format(folder=folder, script=place, reply=reply)),
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
    """Also in a folder whose path needs quotes; strangers are let in nowhere."""
    folder, campaign = study.folder / "bin", study.folder / "my campaign"
    text = f"{queue}:cores=2,memory=1GB,jobs=2,interface=lo"
    with open_cluster(text, campaign) as executor:
        (private,) = campaign.glob(".cluster-*")
        assert private.stat().st_mode & 0o777 == 0o700
        assert (private / "key.pem").stat().st_mode & 0o777 == 0o600
        tasks = [study.task(f"run{number}") for number in range(6)]
        futures = [executor.submit(perform, task) for task in tasks]
        assert all(future.result(LIMIT)["out_jobs.csv"] for future in futures)
        pids = (folder / "jobs").read_text().split()
        assert len(pids) == 2
        client = executor._client  # type: ignore[attr-defined]
        wait_until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 2)
        assert asyncio.run(refuse_strangers(client)) == 5
        workers = client.scheduler_info(n_workers=-1)["workers"]
        assert all(w["local_directory"].startswith(str(private)) for w in workers.values())
    assert [*campaign.glob(".*")] == []
    calls = (folder / "queue").read_text().splitlines()
    assert [line.split()[0] for line in calls] == ["submit", "submit", "cancel", "cancel"]
    assert {line.split()[1] for line in calls[2:]} == set(pids)
    wait_until(lambda: not any(is_alive(int(run[i])) for run in study.runs() for i in (1, 2)))
    assert f"asked {queue} for 2 jobs of 2 cores each" in capfd.readouterr().err


@pytest.mark.parametrize("queue", ["slurm"], indirect=True)
def test_a_job_that_ends_early_is_asked_for_again(
    queue: str, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PULSE", 0.2)
    study.policy("name == 'slow' and number == 1", "time.sleep(600)")
    folder = study.folder / "bin"
    import dask

    text = f"{queue}:cores=1,memory=1GB,interface=lo,nanny=false,local_directory={study.folder}"
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "100ms"}),
        open_cluster(text, study.folder) as executor,
    ):
        slow = executor.submit(perform, study.task("slow"))
        study.began("slow")
        os.killpg(int((folder / "jobs").read_text()), signal.SIGKILL)
        assert slow.result(LIMIT)["out_jobs.csv"]
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
    jobs = QueuedJobs(nothing, Request("pbs", jobs=2))
    for expected in (3, 6):
        for _ in range(3):
            asyncio.run(jobs.renew(0))
        with pytest.raises(ClusterLostError, match="the jobs of pbs end before"):
            asyncio.run(jobs.renew(0))
        assert nothing.asked == expected
        jobs.run_ended()


# What Slurm 22.05 says of jobs

SCONTROL = """\
JobId={job} JobName=dask-worker
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=127:0
   StdErr={folder}/dask-worker-%J.err
   StdIn=/dev/null
   StdOut={folder}/dask-worker-%J.out
"""


class SlurmCommands:
    """``squeue`` and ``scontrol``, which print what was recorded."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        self.squeue()
        self.scontrol()
        (folder / "dask-worker-7.err").write_text("slurm_script: line 11: /nonexistent: No such\n")

    def squeue(self, *lines: str) -> None:
        """Let Slurm know these jobs."""
        self._say("squeue", "".join(f"{line}\n" for line in lines))

    def scontrol(self, wait: str = "") -> None:
        """Let Slurm answer how a job ended, after what it does first."""
        self._say("scontrol", SCONTROL.format(job=7, folder=self.folder), wait)

    def is_down(self) -> None:
        """Let the controller be stopped."""
        text = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
        self._say("squeue", "", f"echo '{text}' >&2; exit 1")

    def _say(self, command: str, text: str, end: str = "") -> None:
        (self.folder / command).write_text(f"#!/bin/sh\ncat <<'END'\n{text}END\n{end}\n")
        (self.folder / command).chmod(0o755)


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmCommands:
    return SlurmCommands(tmp_path, monkeypatch)


class SubmittedJob:
    """A job as dask-jobqueue has it."""

    status = distributed.Status.running

    def __init__(self, job_id: str | None) -> None:
        self.job_id = job_id


class Submissions:
    """A cluster of dask-jobqueue whose jobs are numbered from 7, and start no worker."""

    def __init__(self, jobs: int) -> None:
        self.workers: dict[str, SubmittedJob] = {}
        self.worker_spec: dict[str, None] = {}
        self.refuses = False
        self._numbers = itertools.count(7)
        self.scale(jobs)

    def scale(self, jobs: int) -> None:
        while len(self.workers) < jobs:
            number = None if self.refuses else str(next(self._numbers))
            name = f"job-{number}"
            self.workers[name] = SubmittedJob(number)
            self.worker_spec[name] = None

    def __await__(self) -> Iterator[None]:
        if self.refuses:
            raise RuntimeError("Exit code: 1\nstdout:\n\nstderr:\nsbatch: error: it is down\n")
        return iter(())

    @property
    def numbers(self) -> list[str | None]:
        return [job.job_id for job in self.workers.values()]


def test_how_a_job_ended_is_told_and_another_is_asked_for(
    slurm: SlurmCommands, capfd: pytest.CaptureFixture[str]
) -> None:
    slurm.squeue("7|FAILED|NonZeroExitCode", "8|RUNNING|None", "1|PENDING|Resources")
    submissions = Submissions(2)
    jobs = QueuedJobs(submissions, Request("slurm", jobs=2))
    asyncio.run(jobs.renew(0))
    assert capfd.readouterr().err == (
        "job 7 of slurm ended: FAILED (NonZeroExitCode), exit code 127; the end of "
        f"{slurm.folder}/dask-worker-7.err:\n"
        "    slurm_script: line 11: /nonexistent: No such\n"
        "asked slurm for 1 job again\n"
    )
    assert submissions.numbers == ["8", "9"]
    assert [*submissions.workers] == [*submissions.worker_spec]


def test_slurm_is_asked_for_one_of_the_jobs_that_ended_alike_and_for_all_ways_at_once(
    slurm: SlurmCommands, capfd: pytest.CaptureFixture[str]
) -> None:
    """A controller that hangs is waited for once."""
    slurm.squeue("7|FAILED|NonZeroExitCode", "8|FAILED|NonZeroExitCode", "9|CANCELLED|None")
    until_both_are_asked = (
        f"cd {slurm.folder}; touch asked-$3; while [ ! -e asked-9 ]; do sleep 0.05; done"
    )
    slurm.scontrol(until_both_are_asked)
    asyncio.run(QueuedJobs(Submissions(3), Request("slurm", jobs=3)).renew(0))
    assert sorted(path.name for path in slurm.folder.glob("asked-*")) == ["asked-8", "asked-9"]
    assert capfd.readouterr().err.splitlines() == [
        "jobs 7 8 of slurm ended: FAILED (NonZeroExitCode), the last with exit code 127; "
        f"{slurm.folder}/dask-worker-8.err cannot be read",
        "job 9 of slurm ended: CANCELLED, exit code 127",
        "asked slurm for 3 jobs again",
    ]


def test_what_a_job_waits_for_is_told_once(
    slurm: SlurmCommands, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queued_jobs, "_UNCHANGED", 0.0)
    jobs = QueuedJobs(Submissions(1), Request("slurm", jobs=1))
    for reason in ("None", "Resources", "Resources", "Priority"):
        slurm.squeue(f"7|PENDING|{reason}")
        asyncio.run(jobs.renew(0))
    assert capfd.readouterr().err.splitlines() == [
        "jobs of slurm: 1 PENDING",
        "jobs of slurm: 1 PENDING (Resources)",
        "jobs of slurm: 1 PENDING (Priority)",
    ]
    assert "no worker: jobs of slurm: 1 PENDING (Priority); see" in asyncio.run(jobs.no_worker())


def test_a_job_that_slurm_has_forgotten_is_over(
    slurm: SlurmCommands, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one that it does not know yet."""
    monkeypatch.setattr(queued_jobs, "_UNCHANGED", 0.0)
    submissions = Submissions(1)
    jobs = QueuedJobs(submissions, Request("slurm", jobs=1))
    for lines in ([], ["7|RUNNING|None"]):
        slurm.squeue(*lines)
        asyncio.run(jobs.renew(0))
        assert submissions.numbers == ["7"]
    assert "jobs of slurm: 1 RUNNING; those that run find no way" in asyncio.run(jobs.no_worker())
    slurm.squeue()
    asyncio.run(jobs.renew(0))
    assert submissions.numbers == ["8"]
    assert "job 7 of slurm ended: not in the queue any more" in capfd.readouterr().err


def test_while_slurm_is_down_no_job_counts_as_in_vain(
    slurm: SlurmCommands, capfd: pytest.CaptureFixture[str]
) -> None:
    slurm.is_down()
    submissions = Submissions(1)
    jobs = QueuedJobs(submissions, Request("slurm", jobs=1))
    submissions.workers.clear()  # dask lost its worker
    submissions.worker_spec.clear()
    submissions.refuses = True
    for _ in range(10):
        asyncio.run(jobs.renew(0))
    assert capfd.readouterr().err.splitlines() == [
        "slurm does not answer: slurm_load_jobs error: Unable to contact slurm controller "
        "(connect failure)",
        "slurm takes no further job: sbatch: error: it is down",
    ]
    submissions.refuses = False
    slurm.squeue("8|RUNNING|None")
    asyncio.run(jobs.renew(0))
    assert submissions.numbers == ["8"]


def test_the_same_end_again_is_one_line_until_a_run_ended(
    slurm: SlurmCommands, capfd: pytest.CaptureFixture[str]
) -> None:
    jobs = QueuedJobs(Submissions(1), Request("slurm", jobs=1))
    said = []
    for number in (7, 8, 9):
        slurm.squeue(f"{number}|FAILED|NonZeroExitCode")
        asyncio.run(jobs.renew(0))
        said.append(capfd.readouterr().err.splitlines())
        if number == 8:
            jobs.run_ended()
    assert said[1] == [
        "job 8 of slurm ended: again FAILED (NonZeroExitCode), exit code 127",
        "asked slurm for 1 job again",
    ]
    assert "job 9 of slurm ended: FAILED (NonZeroExitCode), exit code 127; " in said[2][0]


@pytest.mark.parametrize(
    ("reason", "obstacle"),
    [
        ("PartitionConfig", "no node of the partition"),
        ("QOSMaxWallDurationPerJobLimit", "the walltime"),
        ("AssocMaxCpuPerJobLimit", "more than the site's limit"),
        ("QOSMaxMemoryPerNode", "more than the site's limit"),
        ("InvalidAccount", "account"),
        # Other jobs end, nodes return.
        ("AssocMaxJobsLimit", ""),
        ("QOSMaxCpuPerUserLimit", ""),
        ("AssocGrpCpuLimit", ""),
        ("ReqNodeNotAvail, Reserved for maintenance", ""),
        ("Resources", ""),
    ],
)
def test_what_does_not_pass_by_itself_is_said_in_plain_words(
    slurm: SlurmCommands, capfd: pytest.CaptureFixture[str], reason: str, obstacle: str
) -> None:
    slurm.squeue(f"7|PENDING|{reason}", f"8|PENDING|{reason}")
    jobs = QueuedJobs(Submissions(2), Request("slurm", jobs=2))
    asyncio.run(jobs.renew(0))
    line = capfd.readouterr().err
    assert line.startswith(f"jobs of slurm: 2 PENDING ({reason})" + "; " * bool(obstacle))
    assert obstacle in line
    assert line.count("; see 'Troubleshooting'") == bool(obstacle)
    assert asyncio.run(jobs.no_worker()).count("see 'Troubleshooting'") == 1


def test_a_submission_is_not_cut_off_in_between(slurm: SlurmCommands) -> None:
    """Else dask would not know of the job, and nobody would cancel it."""
    ended = []

    class Slow(Submissions):
        def __await__(self) -> Iterator[None]:
            yield from asyncio.sleep(0.2).__await__()
            ended.append(self.numbers)

    async def interrupted() -> None:
        submissions = Slow(1)
        watch = asyncio.create_task(QueuedJobs(submissions, Request("slurm", jobs=1)).renew(0))
        while submissions.numbers == ["7"]:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        watch.cancel()
        await asyncio.sleep(0.5)

    slurm.squeue("7|FAILED|NonZeroExitCode")
    asyncio.run(interrupted())
    assert ended == [["8"]]


def test_jobs_are_not_asked_about_while_all_have_workers(slurm: SlurmCommands) -> None:
    slurm.squeue("7|FAILED|NonZeroExitCode")
    submissions = Submissions(1)
    asyncio.run(QueuedJobs(submissions, Request("slurm", jobs=1)).renew(1))
    assert submissions.numbers == ["7"]


def test_of_other_systems_the_status_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "oarstat").write_text("#!/bin/sh\necho $3: Waiting\n")
    (tmp_path / "oarstat").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    jobs = QueuedJobs(Submissions(1), Request("oar", jobs=1))
    assert "no way here; oarstat -s -j 7: 7: Waiting; see" in asyncio.run(jobs.no_worker())


def test_logs_of_jobs_are_in_the_campaigns_folder(tmp_path: Path) -> None:
    logs = f"#SBATCH -e {tmp_path}/job-logs/dask-worker-%J.err"
    assert logs in describe(SLURM, tmp_path)
    assert logs not in describe(f"{SLURM},log_directory={tmp_path}/mine", tmp_path)
    assert "#SBATCH -e" not in describe(SLURM, tmp_path / "a b")  # no way to quote it
    assert [*tmp_path.iterdir()] == []


def test_without_bokeh_there_is_no_dashboard(
    address: str, study: Study, capfd: pytest.CaptureFixture[str]
) -> None:
    with open_cluster(address, study.folder):
        has_bokeh = importlib.util.find_spec("bokeh") is not None
        assert ("dashboard of the cluster" in capfd.readouterr().err) == has_bokeh


def test_what_speaks_no_http_is_no_dashboard() -> None:
    """Only the printed link is lost, not the campaign."""
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        port = server.getsockname()[1]
        answer = pool.submit(dask_schedulers._is_dashboard, f"http://127.0.0.1:{port}/status")
        with server.accept()[0] as connection:
            connection.recv(1000)
            connection.sendall(b"SSH-2.0-OpenSSH\r\n")
        assert answer.result(LIMIT) is False


@pytest.mark.parametrize("queue", ["slurm"], indirect=True)
def test_a_job_that_is_refused(queue: str, study: Study) -> None:
    command = study.folder / "bin" / "sbatch"
    said = "sbatch: error: invalid partition x\nsbatch: error: submission failed"
    command.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    message = ": sbatch: error: invalid partition x; submission failed$"
    cannot_open(f"{SLURM},interface=lo", study.folder, message)


def test_where_jobs_cannot_be_submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    cannot_open(SLURM, tmp_path, "no command sbatch on this machine")
