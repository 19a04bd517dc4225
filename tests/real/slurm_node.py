"""A Slurm of one node, this machine: its three daemons, with all their state in a folder.

It leaves alone what else is on the machine: a Slurm that is installed as a service, or the
cluster that this machine submits to.
"""

from __future__ import annotations

import os
import pwd
import re
import secrets
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from helpers.waiting import wait_until
from real.packages import program as installed
from real.packages import what_to_install

_NAME = "batsched-tests"
"""The cluster's: tests submit jobs to no other one."""
PROGRAMS = {
    "munged": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sbatch": "slurm-client",
    "squeue": "slurm-client",
}
_LIMIT = 30.0
"""Seconds to start and to end, each of which takes about one."""

# No control groups, which containers do not have; other options keep their defaults.
_CONF = """\
ClusterName={name}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=1
ReturnToService=2
KillWait=2
NodeName=localhost NodeAddr=127.0.0.1 CPUs={cores} RealMemory={megabytes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str | None:
    """Return what is to be done, None if a Slurm can be started."""
    try:
        _user()
    except KeyError:
        return f"user {os.getuid()} has no name, by which Slurm knows users: add it to /etc/passwd"
    return what_to_install(PROGRAMS)


def answers() -> bool:
    """Whether one of ours is running, in ``SLURM_CONF``."""
    conf = Path(os.environ.get("SLURM_CONF", "/nowhere"))
    return (
        missing() is None
        and conf.is_file()
        and f"ClusterName={_NAME}\n" in conf.read_text()
        and _state_of_node(os.environ) != ""
    )


@contextmanager
def started(folder: Path) -> Iterator[dict[str, str]]:
    """Start the three daemons; give the environment variables for who submits jobs.

    Whatever ends the block, its jobs are ended, and then the daemons. Raises
    :class:`RuntimeError`, with what they said, if the node is not ready in time.
    """
    conf = folder / "slurm.conf"
    conf.write_text(_configuration(folder))
    if _version() >= (23, 11):  # before, it is used only if it is asked for
        (folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
    key = folder / "munge.key"
    key.touch(0o600)
    key.write_bytes(secrets.token_bytes(128))
    for name in ("state", "spool"):
        (folder / name).mkdir(mode=0o755)
    variables = {"SLURM_CONF": str(conf)}
    with ExitStack() as stack:
        stack.callback(_kill_left, conf)
        munged = ["munged", "--foreground", "--force"]  # the folder may be of one user alone
        munged += [f"--key-file={key}", f"--socket={folder}/munge.socket"]
        munged += [f"--{name}-file={folder}/munged.{name}" for name in ("pid", "log", "seed")]
        stack.enter_context(_daemon(munged, folder))
        _wait_until((folder / "munge.socket").exists, folder)
        stack.enter_context(_daemon(["slurmctld", "-D", "-f", str(conf)], folder))
        stack.enter_context(_daemon(["slurmd", "-D", "-N", "localhost", "-f", str(conf)], folder))
        stack.callback(_end_jobs, variables)
        _wait_until(lambda: _state_of_node(variables) == "idle", folder)
        yield variables


def _configuration(folder: Path) -> str:
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        return _CONF.format(
            name=_NAME,
            folder=folder,
            user=_user(),
            controller_port=one.getsockname()[1],
            node_port=other.getsockname()[1],
            cores=os.cpu_count(),
            megabytes=pages * size * 9 // 10 // 2**20,
        )


def _user() -> str:
    """Return the name of who runs this, whatever the environment says; raises KeyError."""
    return pwd.getpwuid(os.getuid()).pw_name


def _version() -> tuple[int, ...]:
    """Return the year and month, from a line such as ``slurm-wlm 22.05.8``."""
    said = _ask({}, installed("slurmd") or "", "-V")
    return tuple(int(part) for part in re.findall(r"\d+", said)[:2])


@contextmanager
def _daemon(command: list[str], folder: Path) -> Iterator[None]:
    program = installed(command[0])
    assert program is not None
    with open(folder / f"{command[0]}.said", "wb") as file:
        process = subprocess.Popen(
            [program, *command[1:]],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the tests, which end it then
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _ask(variables: Mapping[str, str], *command: str) -> str:
    """Return what a command of Slurm prints, nothing if it fails."""
    asked = subprocess.run(
        command,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=_LIMIT,
        text=True,
        check=False,
    )
    return asked.stdout.strip() if asked.returncode == 0 else ""


def _state_of_node(variables: Mapping[str, str]) -> str:
    return _ask(variables, "sinfo", "--noheader", "--format=%T")


def _end_jobs(variables: Mapping[str, str]) -> None:
    with suppress(subprocess.TimeoutExpired, AssertionError):
        _ask(variables, "scancel", "--partition=main")
        wait_until(lambda: not _ask(variables, "squeue", "--noheader"), _LIMIT)


def _kill_left(conf: Path) -> None:
    """Kill processes of jobs that outlived the daemons: these have our ``SLURM_CONF``."""
    mark = f"SLURM_CONF={conf}\0".encode()
    for place in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if int(place.parent.name) != os.getpid() and mark in place.read_bytes():
                os.kill(int(place.parent.name), signal.SIGKILL)


def _wait_until(condition: Callable[[], bool], folder: Path) -> None:
    try:
        wait_until(condition, _LIMIT)
    except AssertionError:
        logs = [*folder.glob("*.said"), *folder.glob("*.log")]
        texts = [f"{log.name}:\n{log.read_text(errors='replace')[-1000:]}" for log in logs]
        raise RuntimeError(f"no Slurm within {_LIMIT:g} s\n" + "\n".join(texts)) from None
