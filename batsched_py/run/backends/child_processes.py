"""Starts and ends the programs of a run, and finds the cause of a failure in their logs."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import shorten
from time import monotonic
from typing import Protocol, Self

from batsched_py.errors import SimulationError
from batsched_py.files.writers import new_file

_PATIENCE = 3.0
"""Seconds that programs have to end when they are asked to."""

_WIDTH = 400
"""Characters of a line of a log that are shown."""

_LOGGED = re.compile(r"\[.*?\] (?:\S+ )?\[\w+/([A-Z]+)\] (.*)")
"""A line of SimGrid's log: time and actor, sometimes a place in the source, level, text."""


class Process(Protocol):
    """A program that runs somewhere and ends with an exit code."""

    def poll(self) -> int | None:
        """Return the exit code, None while it runs; negative: ended by that signal."""
        ...


class ProcessGroup:
    """The programs of one run, in one process group that the first program leads.

    A context manager: leaving it ends the programs, and all that they have started in the group.
    If this process is killed, Linux kills the group: a pipe closes then, of which this process
    alone has the writing end. Ctrl-C in the terminal reaches this process, and not the group.
    """

    def __init__(self) -> None:
        self._pipe = os.pipe()
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, command: Sequence[str], log: Path) -> Process:
        """Start a program whose output goes to ``log``; raises :class:`SimulationError`."""
        group = self._processes[0].pid if self._processes else 0
        with new_file(log) as output:
            try:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    process_group=group,
                    pass_fds=self._pipe[:1],  # it works as long as one of them has it open
                )
            except OSError as error:
                raise SimulationError(f"{command[0]} cannot be started: {error.strerror}") from None
        self._processes.append(process)
        if not group:
            _kill_when_closed(self._pipe[0], process.pid)
        return process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        deadline = monotonic() + _PATIENCE
        try:
            self._signal(signal.SIGTERM)
            for process in self._processes:
                process.wait(max(0.0, deadline - monotonic()))
        except subprocess.TimeoutExpired:
            pass
        finally:  # also if the wait is interrupted
            self._signal(signal.SIGKILL)
            for process in self._processes:
                process.wait()
            for end in self._pipe:
                os.close(end)

    def _signal(self, number: int) -> None:
        if self._processes:
            with suppress(OSError):  # no process is left
                os.killpg(self._processes[0].pid, number)


def _kill_when_closed(pipe: int, group: int) -> None:
    """Let Linux send SIGKILL to a process group when a pipe has no writer any more."""
    if sys.platform == "linux":
        fcntl.fcntl(pipe, fcntl.F_SETOWN, -group)
        fcntl.fcntl(pipe, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)


def describe_exit(code: int) -> str:
    """Return the end of a process in words, such as ``was killed by SIGKILL``."""
    if code < 0:
        return f"was killed by {_signal_name(-code) or -code}"
    name = _signal_name(code - 128)  # a shell's or a container's way to say it
    return f"exited with {code} ({name})" if name else f"exited with {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def find_cause(log: Path) -> str:
    """Return the line of a log that explains why a process failed.

    That is Batsim's first error; where it shows its usage or tells how to, the first line; else the
    last line that is no mere information.
    """
    if (error := find_error_line(log)) is not None:
        return error
    own_words = (line for line in _lines(log) if not _LOGGED.match(line))
    first = last = next(own_words, "")
    if not first:
        return "its log names no cause" if any(_lines(log)) else "its log is empty"
    for last in own_words:
        if last.startswith(("Usage:", "Run with ")):
            if first.startswith("Unexpected argument: "):  # all that follow it are named too
                first = first.partition(",")[0]
            return shorten(first, _WIDTH)
    return shorten(last, _WIDTH)


def find_error_line(log: Path) -> str | None:
    """Return Batsim's first line of the level CRITICAL or ERROR, None if there is none.

    A backtrace, of which the last line is the last one of the log, follows it.
    """
    for line in _lines(log):
        match = _LOGGED.match(line)
        if match is not None and match[1] in ("CRITICAL", "ERROR"):
            return shorten(match[2], _WIDTH)
    return None


def _lines(log: Path) -> Iterator[str]:
    with suppress(OSError), log.open(errors="replace") as file:
        yield from filter(None, map(str.strip, file))
