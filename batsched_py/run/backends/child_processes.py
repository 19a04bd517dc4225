"""Processes that run side by side, whatever they run in."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import shorten
from typing import Protocol

from batsched_py.errors import SimulationError
from batsched_py.run.backends.watchdog import Watchdog
from batsched_py.support.atomic_files import new_file

_PATIENCE = 3.0
"""Seconds that a process has to end when it is asked to."""

_WIDTH = 400
"""Characters of a line of a log that are shown."""

_LOGGED = re.compile(r"\[.*?\] (?:\S+ )?\[\w+/([A-Z]+)\] (.*)")
"""A line of SimGrid's log: time and actor, sometimes a place in the source, level, text."""


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
        with new_file(log) as output:
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
        """End it, even if the wait for that is interrupted.

        Asked to end is all that the run has started, the other side too: this one may be a shell
        that does not pass it on. Whatever of that stays is ended by the watchdog.
        """
        if self._watchdog.group is None:
            self._process.terminate()
        else:
            self._watchdog.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._process.kill()
            self._process.wait()


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


def cause(log: Path) -> str:
    """Return the line of a log that tells why a process failed, for messages.

    That is Batsim's first error; where it shows its usage or tells how to, the first line; else the
    last line that is no mere information.
    """
    if (error := error_line(log)) is not None:
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


def error_line(log: Path) -> str | None:
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
