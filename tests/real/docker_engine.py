"""A Docker engine of our own, beside whatever engine the machine has."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
from docker.errors import DockerException

from helpers.waiting import wait_until
from real.packages import what_to_install

PROGRAMS = {"dockerd": "docker.io", "containerd": "containerd", "runc": "runc"}
"""What is needed, and the package of Debian that has it."""
ISOLATED = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc"]
"""Mounts, network and processes of its own: what an engine leaves of them ends with it."""


def missing() -> str | None:
    """Say what is to be installed, or why no engine can be started here; None if one can."""
    if (packages := what_to_install(PROGRAMS)) is not None:
        return packages
    if subprocess.run([*ISOLATED, "true"], capture_output=True).returncode:
        return "an engine can only be started by root, outside of containers without privileges"
    return None


def answers() -> bool:
    """Tell whether an engine runs on this machine: one elsewhere does not see the tests' folders.

    It is the one that DOCKER_HOST names, or that of the machine.
    """
    return os.environ.get("DOCKER_HOST", "unix://").startswith("unix://") and _answers()


@contextmanager
def started(folder: Path, *options: str) -> Iterator[dict[str, str]]:
    """Run an engine with all its state in ``folder``; yield the variables that lead to it.

    It has no network but those between containers. ``options`` are further ones of ``dockerd``.
    Raises :class:`RuntimeError` with the end of its log if it does not start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    address = f"unix://{folder}/docker.sock"
    group = f"batsched-{os.getpid()}"
    command = ["dockerd", f"--host={address}", "--config-file=", f"--pidfile={folder}/pid"]
    command += [f"--data-root={folder}/data", f"--exec-root={folder}/exec", *options]
    command += ["--bridge=none", "--iptables=false", "--ip6tables=false", "--shutdown-timeout=2"]
    command += [f"--cgroup-parent=/{group}", "--exec-opt=native.cgroupdriver=cgroupfs"]
    log = folder / "log"
    # A /run of its own, where it finds no other engine's containerd.
    alone = [*ISOLATED, "sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh", *command]
    with log.open("wb") as file:
        engine = subprocess.Popen(alone, stdout=file, stderr=file, start_new_session=True)
    try:
        wait_until(lambda: _answers(address) or engine.poll() is not None)
        if engine.poll() is not None:
            raise RuntimeError(f"dockerd has ended:\n{log.read_text()[-2000:]}")
        yield {"DOCKER_HOST": address}
    finally:
        _end(engine)
        wait_until(lambda: _removed(group))
        for name in ("data", "exec"):
            shutil.rmtree(folder / name, ignore_errors=True)


def _answers(address: str | None = None) -> bool:
    client = None
    try:
        client = docker.DockerClient(address) if address else docker.from_env()
        return bool(client.ping())
    except (DockerException, OSError):
        return False
    finally:
        if client is not None:
            client.close()


def _end(engine: subprocess.Popen[bytes]) -> None:
    """Ask it to end; its containers and their mounts end with it in any case."""
    try:
        os.killpg(engine.pid, signal.SIGTERM)
        engine.wait(5)
    except (OSError, subprocess.TimeoutExpired):
        os.killpg(engine.pid, signal.SIGKILL)
        engine.wait()


def _removed(group: str) -> bool:
    """Remove the control groups of containers; False while a process that was killed is in one."""
    try:
        for path in Path("/sys/fs/cgroup").glob(f"**/{group}"):
            for folder, *_ in os.walk(path, topdown=False):
                os.rmdir(folder)
    except OSError:
        return False
    return True
