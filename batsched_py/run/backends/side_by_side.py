"""Runs the scheduler and Batsim as two processes, and watches both until they end.

As with Batsim's own runner, robin, a run succeeds only if both sides end well, and four timeouts
limit it. Batsim's exit code 0 proves nothing, since it also ends so in a deadlock; our
process ends well only after SIMULATION_ENDS.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from functools import partial
from pathlib import Path
from time import monotonic, sleep

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import SimulationError
from batsched_py.files.readers import read_log
from batsched_py.files.writers import find_temporary_folder, write_whole
from batsched_py.run.backends.child_processes import (
    Process,
    ProcessGroup,
    describe_exit,
    find_cause,
    find_error_line,
)
from batsched_py.run.backends.launchers import Launcher, RunFolder
from batsched_py.run.progress import SIMULATED, show_progress
from batsched_py.run.stored_values import Timeouts
from batsched_py.transport import BEGUN, LISTENING

_TICK = 0.02
_UNHEARD = 0.5
"""Seconds in which the scheduler may yet hear a Batsim that has ended."""
_CLOSED = "the connection was closed"
"""What the scheduler says if Batsim left first."""
_WRITTEN = (
    "input/platform.xml",
    "input/workload.json",
    "output/out_*",
    "scheduler.log",
    "batsim.log",
    "version.log",
    "commands.sh",
)


def run_side_by_side(
    scheduler: list[str],
    launcher: Launcher,
    folder: RunFolder,
    limits: Timeouts,
    progress: bool | None = None,
    here: DecisionProcess | None = None,
) -> None:
    """Run the scheduler and Batsim until both end, and show the ``progress`` meanwhile.

    ``scheduler`` is a command line, ``here`` a scheduler of this process in its place, whose
    progress is not shown. The folder keeps the exact commands and the logs. Raises
    :class:`SimulationError` unless both sides ended well; neither goes on running.
    """
    try:
        if here is not None:
            return _run_beside(here, launcher, folder, limits)
        with ProcessGroup() as group:
            ours = group.start(scheduler, folder.scheduler_log)
            endpoint = _wait_until_it_listens(ours, folder, limits.ready)
            arguments = launcher.arguments(folder, endpoint)
            _keep_commands(folder, scheduler, launcher.command(arguments, folder))
            with (
                launcher.started(arguments, folder, folder.batsim_log, group) as batsim,
                show_progress(partial(_progress, folder), progress),
            ):
                codes = _wait_for_both(ours, batsim, folder, limits)
        if (problem := _problem(*codes, folder, limits)) is not None:
            raise SimulationError(problem)
    except SimulationError as error:
        logs = "both logs are" if here is None else "the log is"
        raise SimulationError(f"{error}; {logs} in {folder.root}") from None


def _run_beside(
    process: DecisionProcess, launcher: Launcher, folder: RunFolder, limits: Timeouts
) -> None:
    from batsched_py.results.columns_beyond_batsim import UsersTable
    from batsched_py.results.machine_power import POWER, format_changes
    from batsched_py.transport.conversation import Conversation, WaitLimits, serve
    from batsched_py.transport.scheduler_socket import SchedulerSocket

    features = dict.fromkeys(("dynamic_registration", "profile_reuse"), folder.registers)
    table = UsersTable()
    conversation = Conversation(
        lambda begins: process.answer, table.observe, asked=lambda text: features
    )
    with SchedulerSocket(launcher.listen_on(folder)) as socket, ProcessGroup() as group:
        arguments = launcher.arguments(folder, socket.batsims_endpoint)
        _keep_commands(folder, ["true"], launcher.command(arguments, folder))
        with launcher.started(arguments, folder, folder.batsim_log, group) as batsim:
            serve(socket, conversation, WaitLimits(first=limits.ready, silence=limits.run))
            deadline = monotonic() + limits.success
            while (code := batsim.poll()) is None and monotonic() < deadline:
                sleep(_TICK)
    write_whole(folder.outputs / "out_users.csv", table.csv())
    if sleepers := process.machine.sleepers:
        write_whole(folder.outputs / f"out{POWER}", format_changes(sleepers.changes))
    if code != 0:
        raise SimulationError(_end("Batsim", code, 0, folder.batsim_log, limits))


def socket_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a new folder for the socket of a run, with a short name."""
    usual = find_temporary_folder()
    short = "/tmp" if len(usual) > 60 and Path("/tmp").is_dir() else None
    return tempfile.TemporaryDirectory(prefix="batsched-", dir=short)


def _wait_until_it_listens(ours: Process, folder: RunFolder, timeout: float) -> str:
    deadline = monotonic() + timeout
    while True:
        code = ours.poll()
        for line in _scheduler_lines(folder):
            if line.startswith(LISTENING):
                return line.removeprefix(LISTENING)
        if code is not None:
            message = find_cause(folder.scheduler_log)
            raise SimulationError(
                f"the scheduler {describe_exit(code)} before it listened: {message}"
            )
        if monotonic() > deadline:
            raise SimulationError(f"the scheduler did not listen within {timeout:g} s (ready)")
        sleep(_TICK)


def _scheduler_lines(folder: RunFolder) -> list[str]:
    """Return the complete lines of the scheduler's log."""
    return read_log(folder.scheduler_log).split("\n")[:-1]


def _progress(folder: RunFolder) -> str:
    """Return the last line of the scheduler's log on its progress, or where the logs are."""
    for line in reversed(_scheduler_lines(folder)):
        if f" s: {SIMULATED}" in line:
            return f"Batsim simulates; at {line}"
    return f"Batsim simulates (logs in {folder.root})"


def _keep_commands(folder: RunFolder, scheduler: list[str], batsim: list[str]) -> None:
    sockets = shlex.quote(str(folder.sockets))
    write_whole(
        folder.root / "commands.sh",
        "#!/bin/sh\n"
        "# What was run, side by side; if the scheduler ends without success, Batsim is ended.\n"
        f"cd {shlex.quote(os.getcwd())} || exit\n"
        f"[ -O {sockets} ] || mkdir -m 700 {sockets} || exit\n"
        f"{shlex.join(batsim)} &\n"
        f"trap 'kill $! 2>/dev/null; rmdir {sockets}' EXIT\n"
        "trap exit INT TERM\n"
        f"{shlex.join(scheduler)} && wait $!\n",
    )


def _wait_for_both(
    ours: Process, batsim: Process, folder: RunFolder, limits: Timeouts
) -> tuple[int | None, int | None]:
    """Return the exit codes of the scheduler and Batsim, None for one that did not end in time."""
    deadline = monotonic() + limits.run
    bounded = False
    while True:
        codes = ours.poll(), batsim.poll()
        ended = [code for code in codes if code is not None]
        if len(ended) == len(codes) or monotonic() > deadline:
            return codes
        if ended and not bounded:
            bounded = True
            rest = limits.success if ended[0] == 0 else limits.failure
            # Else ours waits for who is gone.
            if codes[1] is not None and BEGUN not in _scheduler_lines(folder):
                rest = min(rest, _UNHEARD)
            deadline = min(deadline, monotonic() + rest)
        sleep(_TICK)


def _problem(
    ours: int | None, batsim: int | None, folder: RunFolder, limits: Timeouts
) -> str | None:
    """Return what went wrong, None if nothing did."""
    if ours == 0 and batsim == 0:
        return None
    if ours is None and batsim is None:
        return f"the simulation did not end within {limits.run:g} s (run)"
    if ours is None and batsim is not None and BEGUN not in _scheduler_lines(folder):
        why = find_cause(folder.batsim_log)
        return f"Batsim {describe_exit(batsim)} before it sent a message: {why}"
    parts = [
        _end("Batsim", batsim, ours, folder.batsim_log, limits),
        _end("the scheduler", ours, batsim, folder.scheduler_log, limits),
    ]
    if ours and _CLOSED not in parts[1]:
        parts.reverse()  # the cause is ours, and Batsim complains of the reply that it got
    return "; ".join(parts)


def _end(name: str, code: int | None, other: int | None, log: Path, limits: Timeouts) -> str:
    """Return how one side ended, with the cause from its log."""
    if code is None:
        limit = limits.success if other == 0 else limits.failure
        return f"{name} did not end within {limit:g} s after the other side"
    if code:
        return f"{name} {describe_exit(code)}: {find_cause(log)}"
    error = find_error_line(log)
    return f"{name} exited with 0{f': {error}' if error else ''}"


def prepare_folder(root: Path) -> None:
    """Make a run folder, and remove the files that an earlier run wrote there."""
    for name in ("input", "output"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for pattern in _WRITTEN:
        for old in root.glob(pattern):
            old.unlink()
