"""Processes that run side by side, whatever they run in."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from batsched_py.errors import SimulationError
from batsched_py.run.backends.watchdog import Watchdog

_PATIENCE = 3.0
"""Seconds that a process has to end when it is asked to."""

_TAIL = 10_000
"""Bytes at the end of a log in which its last line is looked for."""


class Process(Protocol):
    """Something that runs, ends with a code, and can be stopped."""

    def poll(self) -> int | None:
        """Return the exit code, None while it runs; negative: ended by that signal."""
        ...

    def stop(self) -> None:
        """End it, whatever it takes, and leave nothing of it but its log."""
        ...


class LocalProcess:
    """A process of this machine whose output goes to ``log``, in the group of ``watchdog``.

    Ctrl-C in the terminal reaches only who started it.
    """

    def __init__(self, command: Sequence[str], log: Path, watchdog: Watchdog) -> None:
        """Start it; raises :class:`SimulationError` if it cannot be."""
        self._watchdog = watchdog
        with log.open("wb") as output:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    process_group=watchdog.group,
                )
            except OSError as error:
                raise SimulationError(f"{command[0]} cannot be started: {error.strerror}") from None

    def poll(self) -> int | None:
        """Return the exit code, None while it runs; negative: ended by that signal."""
        return self._process.poll()

    def stop(self) -> None:
        """End it, even if the wait for that is interrupted; the watchdog ends what it started."""
        if not self._watchdog.terminate():
            self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._process.kill()
            self._process.wait()


def signal_group(process: subprocess.Popen[bytes], name: str) -> None:
    """Send a signal to a process with a session of its own, and to what it has started itself."""
    number = getattr(signal, name, signal.SIGTERM)
    try:
        os.killpg(process.pid, number)
    except (AttributeError, OSError):  # no groups here, or all of it is gone
        process.send_signal(number)


def ending(code: int) -> str:
    """Say how a process ended, by its exit code."""
    if code < 0:
        return f"was killed by {_signal_name(-code) or -code}"
    name = _signal_name(code - 128)  # a shell's or a container's way to say it
    return f"exited with {code} ({name})" if name else f"exited with {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def last_line(log: Path) -> str:
    """Return the last line that was logged, for messages."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
            lines = file.read().decode(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1].strip() if lines else "it said nothing"
