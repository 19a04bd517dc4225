"""Starts a scheduler of others for one simulation, and ends it."""

from __future__ import annotations

import shlex
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from batsched_py.errors import SimulationError, UsageError, parameter
from batsched_py.run.backends.child_processes import (
    Process,
    ProcessGroup,
    describe_exit,
    find_cause,
)
from batsched_py.run.backends.side_by_side import socket_folder
from batsched_py.run.stored_values import Timeouts

_TICK = 0.02
_PORT = "{port}"
_MOMENT = 1.0
"""Seconds in which a program ends that has closed its connection."""


class StartedScheduler:
    """A scheduler that was started, with its output in the file ``log``."""

    def __init__(self, process: Process, endpoint: str, log: Path, ready: float) -> None:
        self.endpoint = endpoint
        self._process, self._log = process, log
        self._ready, self._deadline = ready, monotonic() + ready

    def check(self, met: bool) -> None:
        """Raise :class:`SimulationError` if it has ended, or does not listen in time.

        ``met``: it has taken a connection.
        """
        if (ended := self._describe_end()) is not None:
            raise SimulationError(ended if met else f"{ended} (before it listened)")
        if not met and monotonic() > self._deadline:
            raise SimulationError(
                f"the scheduler did not listen at {self.endpoint} within {self._ready:g} s "
                f"(ready); its log is {self._log}"
            )

    def _describe_end(self) -> str | None:
        code = self._process.poll()
        if code is None:
            return None
        cause = find_cause(self._log)
        return f"the scheduler {describe_exit(code)}: {cause}; its log is {self._log}"

    def explain(self, error: SimulationError) -> SimulationError:
        """Return an error with the end of the program, if that is the cause."""
        deadline = monotonic() + _MOMENT
        while "went away" in str(error) and monotonic() < deadline:
            if (ended := self._describe_end()) is not None:
                return SimulationError(f"{error}: {ended}")
            sleep(_TICK)
        return error

    def wait_for_end(self, limit: float) -> str | None:
        """Wait until the program ends; return what was wrong with its end, None if nothing was."""
        deadline = monotonic() + limit
        while (code := self._process.poll()) is None:
            if monotonic() > deadline:
                return f"the scheduler was ended {limit:g} s after the simulation (success)"
            sleep(_TICK)
        return f"after the simulation, {self._describe_end()}" if code else None


@contextmanager
def start_scheduler(
    command: str, log: Path, limits: Timeouts, note: Callable[[str], None]
) -> Iterator[StartedScheduler]:
    """Start a scheduler for a block; it ends with the block, at the latest.

    ``note`` is called if its end was not a good one, though it has replied to all messages: so
    does pybatsim where jobs were never started. Raises :class:`SimulationError` if it fails before,
    and :class:`UsageError` for a command line that is none.
    """
    with socket_folder() as sockets, ProcessGroup() as group:
        endpoint = find_free_endpoint() if _PORT in command else f"ipc://{sockets}/scheduler"
        words = make_command(command, endpoint)
        started = StartedScheduler(group.start(words, log), endpoint, log, limits.ready)
        try:
            yield started
        except SimulationError as error:
            raise started.explain(error) from None
        if (problem := started.wait_for_end(limits.success)) is not None:
            note(problem)


def make_command(command: str, endpoint: str) -> list[str]:
    """Return the words of a command line, with the endpoint where the scheduler is to listen.

    >>> make_command("batsched -v easy_bf", "tcp://127.0.0.1:28000")
    ['batsched', '-v', 'easy_bf', '-s', 'tcp://127.0.0.1:28000']
    >>> make_command("./mine --port {port}", "tcp://127.0.0.1:28000")
    ['./mine', '--port', '28000']
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{parameter('scheduler_command')} {command}: {error}") from None
    if not words:
        raise UsageError(f"{parameter('scheduler_command')}: expected a program or a command line")
    port = endpoint.rpartition(":")[2]
    placed = [word.replace("{endpoint}", endpoint).replace(_PORT, port) for word in words]
    return placed if placed != words else [*words, "-s", endpoint]


def check_program(command: str) -> None:
    """Raise :class:`UsageError` if the program of a command line is not on this machine."""
    name = make_command(command, "")[0]
    if shutil.which(name) is None:
        raise UsageError(
            f"there is no program {name!r} for {parameter('scheduler_command')} {command}: "
            "install it, put it on PATH, or give its path"
        )


def find_free_endpoint() -> str:
    """Return an endpoint of this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"tcp://127.0.0.1:{probe.getsockname()[1]}"
