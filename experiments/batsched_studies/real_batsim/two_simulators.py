"""Runs a case with the embedded simulator or with real Batsim, and finds its output files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

from batsched_py.errors import SimulationError
from batsched_py.run.backends.child_processes import (
    Process,
    ProcessGroup,
    describe_exit,
    find_cause,
)
from batsched_py.run.backends.side_by_side import socket_folder
from batsched_py.run.simulate import simulate
from batsched_py.support.installation import PROGRAM
from batsched_py.transport import Partner
from batsched_py.transport.conversation import Conversation, WaitLimits, serve
from batsched_py.transport.recording import Recorder
from batsched_py.transport.scheduler_socket import SchedulerSocket
from batsched_py.workload import Workload
from batsched_py.workload.batsim.batsim_workload import write_workload

PROGRAMS = {"embedded": [*PROGRAM, "simulator"], "batsim": ["batsim"]}
"""The command of each simulator: the same options and files go to both."""
_LIMIT = 60.0
"""The longest time (s) that a program may take to send a message or to end."""


class OutputFiles(NamedTuple):
    """The output files that one simulator wrote for a case."""

    prefix: Path
    """The beginning of the names of ``PREFIX_jobs.csv`` and the other files."""
    exchange: Path
    """The file with all messages."""


Run = Callable[[str, Path], OutputFiles]
"""A function that runs a case with one simulator, in a folder for it."""


def make_run(source: str | Workload = "sample", batsim: str | None = None, **settings: Any) -> Run:
    """Return a function that runs :func:`batsched_py.simulate` with ``settings`` on either side."""

    def run(side: str, folder: Path) -> OutputFiles:
        left = OutputFiles(folder / "out", folder / "exchange.jsonl")
        of_batsim: dict[str, Any] = (
            {"folder": folder / "run", "batsim": batsim} if side == "batsim" else {}
        )
        result = simulate(
            source, backend=side, record=left.exchange, progress=False, **of_batsim, **settings
        )
        result.write(left.prefix)
        return left

    return run


def make_served_run(
    scheduler: Callable[[], Partner],
    workload: Workload,
    platform: Path,
    *options: str,
    events: Sequence[str] = (),
) -> Run:
    """Return a function that runs a simulator's command line and serves it with a scheduler.

    ``options`` are Batsim's, ``events`` the lines of a file of external events.
    """

    def run(side: str, folder: Path) -> OutputFiles:
        folder.mkdir(parents=True)
        left = OutputFiles(folder / "out", folder / "exchange.jsonl")
        write_workload(workload, folder / "workload.json")
        command = [*PROGRAMS[side], "-p", str(platform), "-w", str(folder / "workload.json")]
        command += ["-e", str(left.prefix), "-q", "--disable-schedule-tracing", *options]
        if events:
            (folder / "events.jsonl").write_text("\n".join(events) + "\n")
            command += ["--events", str(folder / "events.jsonl")]
        _serve(scheduler(), command, folder, left.exchange)
        return left

    return run


def _serve(scheduler: Partner, command: list[str], folder: Path, exchange: Path) -> None:
    """Run a simulator for a scheduler of this process; raises :class:`SimulationError`."""
    log = folder / "simulator.log"
    with ExitStack() as stack:
        recorder = stack.enter_context(Recorder(exchange))
        sockets = stack.enter_context(socket_folder())
        group = stack.enter_context(ProcessGroup())
        socket = stack.enter_context(SchedulerSocket(f"ipc://{sockets}/batsim"))
        program = group.start([*command, "-s", socket.address], log)
        try:
            conversation = Conversation(lambda begins: scheduler)
            serve(socket, conversation, WaitLimits(first=_LIMIT, silence=_LIMIT), recorder)
            code = _end_of(program)
        except SimulationError as error:
            raise SimulationError(f"{error}; the simulator said: {find_cause(log)}") from None
    if code:
        raise SimulationError(f"{command[0]} {describe_exit(code)}: {find_cause(log)}")


def _end_of(program: Process) -> int:
    deadline = monotonic() + _LIMIT
    while (code := program.poll()) is None:
        if monotonic() > deadline:
            raise SimulationError(f"it did not end within {_LIMIT:g} s after SIMULATION_ENDS")
        sleep(0.01)
    return code
