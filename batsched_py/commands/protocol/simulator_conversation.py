"""The conversation of ``serve`` and ``users-proxy`` with a Batsim that connects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import msgspec
import typer

from batsched_py.commands import shared_options as o
from batsched_py.errors import InvariantError
from batsched_py.files.writers import make_folder_of, write_whole
from batsched_py.support.signals import ignore_stop_signals, stop_signals
from batsched_py.support.terminal_text import one_line, say

if TYPE_CHECKING:
    from batsched_py.model.user_model import UserModel
    from batsched_py.protocol import messages as m
    from batsched_py.results.columns_beyond_batsim import UsersTable
    from batsched_py.results.machine_power import Change
    from batsched_py.transport import Partner
    from batsched_py.transport.conversation import ExchangeObserver


class BatschedVerbosity(StrEnum):
    """How much is printed, in the words of batsched."""

    silent = "silent"
    quiet = "quiet"
    info = "info"
    debug = "debug"


Endpoint = Annotated[
    str,
    typer.Option(
        "-s",
        "--socket-endpoint",
        metavar="ENDPOINT",
        help="Endpoint to listen at: tcp://ADDRESS:PORT (port * takes a free one) or ipc://PATH.",
    ),
]
Verbosity = Annotated[
    BatschedVerbosity,
    typer.Option(help="Amount of messages on the terminal; debug prints every message of Batsim."),
]
Prefix = Annotated[
    str | None,
    typer.Option(
        "-e",
        "--export",
        metavar="PREFIX",
        help="Also write PREFIX_users.csv, the users and sessions of jobs.",
    ),
]
Record = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write all messages to this file.")
]
FirstTimeout = Annotated[
    float,
    o.seconds_to_wait(
        "--first-timeout", "Seconds to wait for Batsim to connect; 0: without limit."
    ),
]
SilenceTimeout = Annotated[
    float,
    o.seconds_to_wait(
        "--silence-timeout", "Seconds to wait for each further message; 0: without limit."
    ),
]


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings around a conversation: the address, the files, the output and the limits."""

    endpoint: str
    prefix: str | None
    """Of ``PREFIX_users.csv``; None: it is not written."""
    record: Path | None
    verbosity: BatschedVerbosity
    first_timeout: float
    """Seconds; 0: without limit."""
    silence_timeout: float
    """Seconds; 0: without limit."""

    def say(self, text: str) -> None:
        """Print a text, unless the command is to be quiet."""
        if self.verbosity in (BatschedVerbosity.info, BatschedVerbosity.debug):
            print(text, flush=True)


class PartnerMaker(Protocol):
    """Makes the partner of Batsim, once its first message is there."""

    @property
    def users(self) -> UserModel | None:
        """The users of the simulation, None if there are none."""

    def __call__(self, begins: m.SimulationBegins) -> Partner:
        """Return what answers the messages."""

    def list_power_changes(self) -> Sequence[Change]:
        """Return when processors were switched off and on."""

    def read_request(self, text: str) -> dict[str, bool]:
        """Return the features to request from a Batsim 5 that was started with ``text``."""

    def batsim_command(self, prefix: str = "PREFIX", *, batsim5: bool = False) -> str:
        """Return the command line that starts Batsim 4 or 5."""

    def describe_progress(self) -> str:
        """Return the progress of the simulation in words."""

    def find_stuck_jobs(self) -> str | None:
        """Return which jobs wait while nothing runs, None if there are none."""


def converse(make_maker: Callable[[str, ExitStack], PartnerMaker], around: Surroundings) -> None:
    """Reply to the messages of one simulation, and write the table of its users.

    ``make_maker`` gets the endpoint for Batsim, and a stack whose end is that of the conversation.
    """
    # ZeroMQ is imported here, after the mistakes.
    from batsched_py.run.progress import show_progress
    from batsched_py.transport import BEGUN, LISTENING
    from batsched_py.transport import conversation as c
    from batsched_py.transport.recording import Recorder
    from batsched_py.transport.scheduler_socket import SchedulerSocket

    prefix, record = around.prefix, around.record
    if prefix is not None:
        make_folder_of(f"{prefix}_users.csv")
    table = None if prefix is None else _make_users_table()
    with ExitStack() as stack:
        stack.enter_context(stop_signals())
        socket = stack.enter_context(SchedulerSocket(around.endpoint))
        recorder = None if record is None else stack.enter_context(Recorder(record))
        make = make_maker(socket.batsims_endpoint, stack)

        def begin(begins: m.SimulationBegins) -> Partner:
            around.say(BEGUN)
            partner = make(begins)
            if around.verbosity is BatschedVerbosity.info:
                stack.enter_context(show_progress(make.describe_progress))
            return partner

        observer = _observer(table, around.verbosity)
        conversation = c.Conversation(begin, observer, make.find_stuck_jobs, make.read_request)
        around.say(f"{LISTENING}{socket.address}")
        command = partial(make.batsim_command, prefix or "PREFIX")
        around.say(f"start Batsim 4 as: {command()}")
        around.say(f"or Batsim 5 as: {command(batsim5=True)}")
        limits = c.WaitLimits(
            first=around.first_timeout or inf, silence=around.silence_timeout or inf
        )
        try:
            c.serve(socket, conversation, limits, recorder)
        finally:  # the end is reported, even if somebody asks for it meanwhile
            ignore_stop_signals()
    if table is not None:
        write_whole(f"{prefix}_users.csv", table.csv())
        if changes := make.list_power_changes():
            from batsched_py.results.machine_power import format_changes

            write_whole(f"{prefix}_power.csv", format_changes(changes))
    _say_summary(make.users, around)
    around.say(f"the simulation ended at {conversation.now:f} s")


def _say_summary(users: UserModel | None, around: Surroundings) -> None:
    """Print what the users counted, if they have a summary."""
    from batsched_py.model.counters import read_counters

    try:
        summary = (read_counters(users) or {}).get("summary")
    except InvariantError as error:  # the simulation has come to its end all the same
        summary = f"note: {error}"
    if summary:
        around.say(one_line(str(summary)))


def _make_users_table() -> UsersTable:
    from batsched_py.results.columns_beyond_batsim import UsersTable  # which needs numpy

    return UsersTable()


def _observer(table: UsersTable | None, verbosity: BatschedVerbosity) -> ExchangeObserver | None:
    if verbosity is not BatschedVerbosity.debug:
        return None if table is None else table.observe

    def observe(message: m.Message, reply: m.Message) -> None:
        say(f"{message.now:f}: {message.events} -> {reply.events}")
        if table is not None:
            table.observe(message, reply)

    return observe
