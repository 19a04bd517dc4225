"""The work of ``batsched-py simulator``: simulate with a scheduler that listens, write files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from batsched_py.errors import BatschedError, DeadlockError
from batsched_py.support.signals import stop_signals
from batsched_py.support.terminal_text import say

if TYPE_CHECKING:
    from types import ModuleType

    from batsched_py.commands.protocol.added_users import AddedUsers
    from batsched_py.protocol import messages as m
    from batsched_py.simulator.engine import Simulator
    from batsched_py.simulator.outcome import Outcome
    from batsched_py.transport import Partner


class BatsimVerbosity(StrEnum):
    """How much is printed, in the words of Batsim."""

    quiet = "quiet"
    network_only = "network-only"
    information = "information"
    debug = "debug"


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings around a simulation: the scheduler's address, the files, and the output."""

    endpoint: str
    timeout: float
    """Seconds for each reply."""
    prefix: str
    """Of the files."""
    verbosity: BatsimVerbosity
    record: Path | None
    """The file for the exchange."""

    def note(self, text: str) -> None:
        """Print a text on stderr, unless the command is to be quiet."""
        if self.verbosity is not BatsimVerbosity.quiet:
            say(text)


_Write = Callable[["Outcome", bool], list[str]]
"""Writes the files of a simulation, which ended in a deadlock or not, and returns their paths."""


def simulate(made: Simulator, around: Surroundings, users: AddedUsers | None = None) -> None:
    """Simulate in place of Batsim 4.2, and write the same files.

    With ``users``, the tables are those of ``batsched-py simulate``. Raises
    :class:`BatschedError`; after a deadlock, or if only the last reply was wrong, the files are
    there nevertheless.
    """
    # ZeroMQ is imported here, after the mistakes.
    from batsched_py.protocol import message_json
    from batsched_py.simulator.files.batsim_files import write_batsim4_outputs
    from batsched_py.transport.recording import Recorder, record_messages
    from batsched_py.transport.simulator_socket import SimulatorSocket

    exact, begin = made.options.exact_times, perf_counter()

    def write(outcome: Outcome, deadlock: bool) -> list[str]:
        further = write_batsim4_outputs(outcome, around.prefix, exact=exact, tables=users is None)
        return further if users is None else [*_write(users, outcome, around, begin), *further]

    with stop_signals(), ExitStack() as stack:
        if users is None:
            scheduler: Partner = stack.enter_context(
                SimulatorSocket(around.endpoint, around.timeout, exact=exact, note=around.note)
            )
        else:
            users.external.set_place(
                stack, around.endpoint, around.timeout, exact=exact, note=around.note
            )
            scheduler = users.external.make_partner()
        if around.record is not None:
            scheduler = record_messages(scheduler, stack.enter_context(Recorder(around.record)))
        _run(made, scheduler, around, message_json, write)


def simulate_batsim5(
    made: Simulator,
    around: Surroundings,
    init: str,
    users: AddedUsers | None = None,
    *,
    trace_pstates: bool,
) -> None:
    """Simulate with a scheduler of Batsim 5, and write the files of Batsim 5.

    ``init`` is the text for the scheduler. With ``users``, the files are the tables of
    ``batsched-py simulate``. Raises as :func:`simulate`.
    """
    from batsched_py.protocol import messages as m
    from batsched_py.protocol.batsim5 import batprotocol_json
    from batsched_py.simulator.files.batsim_files import write_batsim5_outputs
    from batsched_py.simulator.files.input_files import apply_hello
    from batsched_py.transport.recording import Recorder
    from batsched_py.transport.simulator_socket import Batsim5Socket

    options, record, begin = made.options, around.record, perf_counter()
    context = {"socket_endpoint": around.endpoint, "export_prefix": around.prefix}
    called = {
        "batsim_arguments": sys.argv,
        "batsim_execution_context_json": json.dumps(context, separators=(",", ":")),
    }

    def write(outcome: Outcome, deadlock: bool) -> list[str]:
        if users is not None:
            return _write(users, outcome, around, begin)
        return write_batsim5_outputs(
            outcome, around.prefix, options, trace_pstates=trace_pstates, whole=not deadlock
        )

    with stop_signals(), ExitStack() as stack:
        recorder = None if record is None else stack.enter_context(Recorder(record))
        exact, note = options.exact_times, around.note
        place = (around.endpoint, around.timeout)
        if users is None:
            socket = stack.enter_context(
                Batsim5Socket(*place, exact=exact, note=note, recorder=recorder)
            )
            scheduler: Partner = socket
            hello = socket.greet(init)
        else:
            external = users.external
            external.set_place(stack, *place, exact=exact, note=note, recorder=recorder)
            features = external.read_request(init)
            hello = m.Hello(timestamp=0.0, name="", version="", features=features)
            scheduler = external.make_partner()
        made = apply_hello(made, hello, called)
        _run(made, scheduler, around, batprotocol_json, write)


def _write(users: AddedUsers, outcome: Outcome, around: Surroundings, begin: float) -> list[str]:
    """Write the tables of a simulation with users that began at ``begin``; return their paths."""
    from batsched_py.results.embedded_output import EmbeddedOutput
    from batsched_py.run.described_result import describe_result

    output, wall_time = EmbeddedOutput(outcome), perf_counter() - begin
    result = describe_result(users.resolved, output, wall_time, users.external)
    for text in result.notes:
        around.note(f"note: {text}")
    return [str(path) for path in result.write(around.prefix)]


def _run(
    made: Simulator, scheduler: Partner, around: Surroundings, codec: ModuleType, write: _Write
) -> None:
    """Simulate, and write the files; no half ones either, if it has to end meanwhile."""
    if around.verbosity in (BatsimVerbosity.network_only, BatsimVerbosity.debug):
        scheduler = _shown(scheduler, codec, made.options.exact_times)
    try:
        outcome = made.run(scheduler)
    except BatschedError as error:
        if made.outcome is not None:  # a deadlock, or an error in the very last reply
            write(made.outcome, isinstance(error, DeadlockError))
        raise
    paths = write(outcome, False)
    for text in made.platform.notes():
        around.note(f"note: {text}")
    if around.verbosity is not BatsimVerbosity.quiet:
        print(f"{len(outcome.jobs)} jobs; wrote {', '.join(paths)}")


def _shown(scheduler: Partner, codec: ModuleType, exact: bool) -> Partner:
    """Print every message and its reply, on standard error."""

    def exchange(message: m.Message) -> m.Message:
        raw: bytes = codec.encode_events(message, exact=exact)
        say(f"-> {raw.removesuffix(bytes(1)).decode()}")
        reply = scheduler(message)
        say(f"<- {codec.encode_decisions(reply).decode()}")
        return reply

    return exchange
