"""A guard that ends what a run has started, if the run is gone without having done so itself.

SIGKILL (of a person, or of a system that is out of memory) leaves no process the time to clean up.
So each run starts this file as a small process of its own, the guard: it waits at a pipe whose
other end nobody but the run holds, and so hears of every end. It leads a process group, in which
the run's processes are born: none is missed, whenever the run ends.

As a process it needs the standard library only, and Docker's if there is a container.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Self

_GRACE = 1.0
"""Seconds that the guard leaves to processes between SIGTERM and SIGKILL."""
_MADE = 2.0
"""Seconds within which an engine makes a container."""


class Watchdog:
    """Guards what one run starts and makes; raises OSError if it cannot be started.

    A context manager: leaving it ends the processes. Where there are no process groups (Windows) it
    guards nothing.
    """

    def __init__(self) -> None:
        self.group: int | None = None
        """Process group for what the run starts; None: there are none here."""
        self._guard: subprocess.Popen[bytes] | None = None
        if not hasattr(os, "killpg"):
            return
        # The guard inherits which signals are blocked, so that it survives those of its group.
        requests = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, requests)
        try:
            self._guard = subprocess.Popen(
                [sys.executable, "-P", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                process_group=0,
                bufsize=0,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.group = self._guard.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill all processes of the group, stopped ones too, and the guard."""
        guard, self._guard = self._guard, None
        if guard is not None:
            self._signal("SIGKILL")
            guard.communicate()

    def register(self, what: str | Path) -> None:
        """Have a container of Docker (by its name, best before it is made) or a folder (by its
        absolute path) removed if the run is gone."""
        if self._guard is not None and self._guard.stdin is not None:
            with suppress(OSError):  # somebody has killed the guard: that is no reason to fail
                self._guard.stdin.write(os.fsencode(what) + b"\0")

    def terminate(self) -> None:
        """Ask all processes of the run to end."""
        self._signal("SIGTERM")

    def _signal(self, name: str) -> None:
        if self.group is not None:
            with suppress(OSError):
                os.killpg(self.group, getattr(signal, name))


def _guard() -> None:
    """Wait until the run is gone, then end what it has left, and itself."""
    names = sys.stdin.buffer.read().split(b"\0")[:-1]
    registered = list(dict.fromkeys(map(os.fsdecode, names)))
    folders = [name for name in registered if os.path.isabs(name)]
    os.killpg(0, signal.SIGTERM)
    begin = time.monotonic()
    try:
        for name in registered:
            if name not in folders:
                remove_container(name)
    finally:
        time.sleep(max(0.0, begin + _GRACE - time.monotonic()))
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)


def remove_container(name: str) -> None:
    """Remove a container of Docker, even one that is yet to come: an engine that was asked for it
    makes it although nobody waits any more."""
    import docker

    deadline = time.monotonic() + _MADE
    with closing(docker.from_env()) as client:
        while time.monotonic() < deadline:
            try:
                client.containers.get(name).remove(v=True, force=True)
                return
            except docker.errors.NotFound:
                time.sleep(0.1)


if __name__ == "__main__":
    _guard()
