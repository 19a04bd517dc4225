"""pybatsim, a scheduler program that is not ours: its installation, and runs against it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REQUIREMENTS = (
    "pybatsim==3.2.1",
    # What it needs to run. It asks for a pyzmq that does not build any more, so pip is told not
    # to look at what it asks for; any pyzmq does.
    "docopt==0.6.2",
    "procset>=1,<2",
    "pyzmq",
    "sortedcontainers>=2.3,<3",
)
INSTALL_LIMIT = 240.0
"""Seconds for all of the installation."""
RUN_LIMIT = 300.0
"""Seconds for a simulation, which takes less than one."""
REPLY_LIMIT = 150
"""Seconds that each side waits for a message of the other."""


class CannotInstallError(Exception):
    """The text says why, in one line."""


# Installation ------------------------------------------------------------------------------------


def pybatsim_in(folder: Path) -> Path:
    """Return the command ``pybatsim`` of a virtual environment in ``folder``, made if need be.

    It is made where it stays, since environments cannot be moved, and a mark is set when it is
    whole: what an interrupted run left has none and is made anew. Test processes that run at the
    same time wait for the one that makes it.

    Raises :class:`CannotInstallError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    environment, mark = folder / "environment", folder / "whole.json"
    is_whole = json.dumps([str(environment), sys.executable, sys.version, REQUIREMENTS])
    command = environment / "bin" / "pybatsim"
    with _locked(folder / "lock") as lock:
        if not (command.exists() and mark.exists() and mark.read_text() == is_whole):
            mark.unlink(missing_ok=True)
            shutil.rmtree(environment, ignore_errors=True)
            _install(environment, folder / "install.log", lock)
            mark.write_text(is_whole)
    return command


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Hold a lock; give its file descriptor.

    The system takes it back when the last process that has the descriptor dies: an installation
    has it too, since it may outlive a test that was killed.
    """
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def _install(environment: Path, log: Path, lock: int) -> None:
    deadline = time.monotonic() + INSTALL_LIMIT
    pip = [str(environment / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    steps = {
        "venv": [sys.executable, "-m", "venv", str(environment)],
        "pip": [*pip, "install", "--quiet", "--retries", "1", "--no-deps", *REQUIREMENTS],
    }
    for step, command in steps.items():
        with started(command, environment.parent, log, lock) as process:
            code = exit_code(process, deadline - time.monotonic())
        if code != 0:
            raise CannotInstallError(f"{step}: {_reason(code, log.read_text(errors='replace'))}")


def _reason(code: int | None, log_text: str) -> str:
    """Return the first line of the error; warnings may come before it."""
    if code is None:
        return f"not done within {INSTALL_LIMIT:g} s"
    lines = [line.strip() for line in log_text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")] or lines
    return errors[0] if errors else f"exit code {code}"


# Processes ---------------------------------------------------------------------------------------


@contextmanager
def started(
    command: Sequence[str], folder: Path, log: Path, *descriptors: int
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program that writes what it says to ``log``; it is killed at the latest in the end.

    With its children: it gets a process group of its own. It inherits ``descriptors``.
    """
    with open(log, "wb") as file:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=descriptors,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


def exit_code(process: subprocess.Popen[bytes], limit: float) -> int | None:
    """Wait at most ``limit`` seconds; None if the process still runs."""
    try:
        return process.wait(max(0.0, limit))
    except subprocess.TimeoutExpired:
        return None


def free_address() -> str:
    """Return an address of this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"


# Runs --------------------------------------------------------------------------------------------


@dataclass
class Played:
    """What a run left: exit codes (None: had to be killed) and what both sides said."""

    folder: Path
    scheduler: int | None
    simulator: int | None

    def output(self, name: str) -> bytes:
        """Return the output file ``out_NAME``."""
        return (self.folder / f"out_{name}").read_bytes()

    @property
    def logs(self) -> str:
        """What both sides said."""
        return "\n".join(
            f"--- {path.name}:\n{path.read_text(errors='replace')[-4000:]}"
            for path in (self.folder / "simulator.log", self.folder / "scheduler.log")
        )


def play(pybatsim: Path, scheduler: str, folder: Path, platform: Path, workload: Path) -> Played:
    """Let a scheduler of pybatsim, by its name or file, drive our simulator, in ``folder``."""
    address = free_address()
    theirs = [str(pybatsim), scheduler, "-s", address, "-v", "warning"]
    theirs += ["-t", str(1000 * REPLY_LIMIT)]
    ours = [sys.executable, "-m", "batsched_py", "simulator", "-p", str(platform)]
    ours += ["-w", str(workload), "-s", address, "-e", "out", "--timeout", str(REPLY_LIMIT)]
    deadline = time.monotonic() + RUN_LIMIT
    with (
        started(theirs, folder, folder / "scheduler.log") as scheduling,
        started(ours, folder, folder / "simulator.log") as simulating,
    ):
        simulator = exit_code(simulating, deadline - time.monotonic())
        # A scheduler that was not told that the simulation ended is killed.
        code = exit_code(scheduling, 10 if simulator == 0 else 1)
        return Played(folder, code, simulator)
