"""Processes that run side by side, whatever they run in."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

_PATIENCE = 3.0
"""Seconds that a process has to end when it is asked to."""


class Process(Protocol):
    """Something that runs, ends with a code, and can be stopped."""

    def poll(self) -> int | None:
        """Return the exit code, None while it runs; negative: ended by that signal."""
        ...

    def stop(self) -> None:
        """End it, whatever it takes, and leave nothing of it but its log."""
        ...


class LocalProcess:
    """A process of this machine whose output goes to ``log``.

    It has a session of its own: Ctrl-C in the terminal reaches only who started it, and what it
    starts itself is stopped with it.
    """

    def __init__(self, command: Sequence[str], log: Path) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def poll(self) -> int | None:
        """Return the exit code, None while it runs; negative: ended by that signal."""
        return self._process.poll()

    def stop(self) -> None:
        """End it and what it started."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self._signal(signal.SIGKILL)
                self._process.wait()

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._process.pid, number)
        except (AttributeError, OSError):  # no groups here, or it is gone
            self._process.send_signal(number)


def ending(code: int) -> str:
    """Say how a process ended, by its exit code."""
    if code < 0:
        return f"was killed by {_signal_name(-code)}"
    if code > 128:  # a shell's or a container's way to say it
        return f"exited with {code} ({_signal_name(code - 128)})"
    return f"exited with {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def last_line(log: Path) -> str:
    """Return the last line that was logged, for messages."""
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1].strip() if lines else "it said nothing"
