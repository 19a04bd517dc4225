"""``batsched-py serve``: a policy, and users if wanted, for a Batsim that connects."""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from batsched_py.commands import shared_options as o
from batsched_py.commands.protocol import decision_process_options as p
from batsched_py.errors import InvariantError, UsageError, describe_waiting_jobs
from batsched_py.files.writers import make_folder_of, write_whole
from batsched_py.run.settings import Settings
from batsched_py.run.stored_values import Run
from batsched_py.support.signals import ignore_stop_signals, stop_signals
from batsched_py.support.terminal_text import one_line, say

if TYPE_CHECKING:
    from batsched_py.decision_process import DecisionProcess
    from batsched_py.protocol import messages as m
    from batsched_py.results.columns_beyond_batsim import UsersTable
    from batsched_py.transport import Partner
    from batsched_py.transport.conversation import ExchangeObserver
    from batsched_py.workload import Workload
    from batsched_py.workload.logs.clock import Clock

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class BatschedVerbosity(StrEnum):
    """How much is printed, in the words of batsched."""

    silent = "silent"
    quiet = "quiet"
    info = "info"
    debug = "debug"


@app.command(cls=p.ArgumentsFromFiles)
@o.with_settings(*p.OF_SITES, *p.OF_USERS, p.BUDGETS)
def serve(
    *,
    settings: Settings,
    variant: Annotated[
        str,
        typer.Option(
            "-v",
            "--variant",
            metavar="NAME",
            help="Policy: a name from `batsched-py list`, or FILE.py:CLASS.",
        ),
    ] = "easy",
    variant_options: Annotated[
        str | None,
        typer.Option(
            "--variant_options",
            metavar="JSON",
            help="Options of the policy as a JSON object, or @FILE with it.",
        ),
    ] = None,
    variant_options_filepath: Annotated[
        str | None,
        typer.Option(
            "--variant_options_filepath",
            metavar="FILE",
            help="File with options of the policy as a JSON object.",
        ),
    ] = None,
    endpoint: Annotated[
        str,
        typer.Option(
            "-s",
            "--socket-endpoint",
            metavar="ENDPOINT",
            help="Endpoint to listen at: tcp://ADDRESS:PORT (port * takes a free one) or ipc://PATH.",
        ),
    ] = "tcp://127.0.0.1:28000",
    queue_order: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--queue_order",
            metavar="ORDER",
            help="Order of the queue, as the option order of a policy or as in batsched.",
        ),
    ] = None,
    verbosity: Annotated[
        BatschedVerbosity,
        typer.Option(
            help="Amount of messages on the terminal; debug prints every message of Batsim."
        ),
    ] = BatschedVerbosity.info,
    log: p.Log = None,
    clock: p.ClockText = None,
    prefix: Annotated[
        str | None,
        typer.Option(
            "-e",
            "--export",
            metavar="PREFIX",
            help="Also write PREFIX_users.csv, the users and sessions of jobs.",
        ),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write all messages to this file.")
    ] = None,
    first_timeout: Annotated[
        float,
        o.seconds_to_wait(
            "--first-timeout", "Seconds to wait for Batsim to connect; 0: without limit."
        ),
    ] = 3600,
    silence_timeout: Annotated[
        float,
        o.seconds_to_wait(
            "--silence-timeout", "Seconds to wait for each further message; 0: without limit."
        ),
    ] = 3600,
    log_dir: o.LogDirs = None,
) -> None:
    """Schedule the jobs of Batsim 4.2 or 5, which connects to this program.

    The program ends with the simulation. The exit code is 0 only if the simulation ended as it
    should. An argument @FILE stands for the arguments in that file.

    Examples:
        batsched-py serve -v easy --variant_options '{"extra_nodes": "instant"}'
        batsched-py serve -v fcfs --users feedback --log sample -s tcp://*:28001
    """
    from batsched_py.plugins.isolated_run import isolate

    options = p.read_json_options(variant_options, variant_options_filepath)
    if queue_order is not None:
        options |= _order_option(variant, queue_order, options)
    settings = msgspec.structs.replace(settings, scheduler=variant, scheduler_options=options)
    run = p.make_run(settings)
    workload = p.load_users_workload(run, log, log_dir)
    if prefix is not None:
        make_folder_of(f"{prefix}_users.csv")
    with isolate(run.seed) as notes:
        _serve(
            run,
            workload,
            p.read_clock(clock),
            endpoint,
            first_timeout,
            silence_timeout,
            prefix,
            record,
            verbosity,
        )
    for note in notes:
        _say(f"note: {note}", verbosity)


def _serve(
    run: Run,
    workload: Workload | None,
    clock: Clock | None,
    endpoint: str,
    first_timeout: float,
    silence_timeout: float,
    prefix: str | None,
    record: Path | None,
    verbosity: BatschedVerbosity,
) -> None:
    # ZeroMQ is imported here, after the mistakes.
    from batsched_py.model.counters import read_counters
    from batsched_py.run.progress import describe_progress, show_progress
    from batsched_py.transport import BEGUN, LISTENING
    from batsched_py.transport import conversation as c
    from batsched_py.transport.recording import Recorder
    from batsched_py.transport.scheduler_socket import SchedulerSocket

    table = None if prefix is None else _make_users_table()
    with ExitStack() as stack:
        stack.enter_context(stop_signals())
        socket = stack.enter_context(SchedulerSocket(endpoint))
        recorder = None if record is None else stack.enter_context(Recorder(record))
        make = p.SchedulerMaker(run, workload, socket.batsims_endpoint, clock)

        def begin(begins: m.SimulationBegins) -> Partner:
            _say(BEGUN, verbosity)
            partner = make(begins)
            if verbosity is BatschedVerbosity.info:
                tell = partial(describe_progress, make.process)
                stack.enter_context(show_progress(tell))
            return partner

        observer = _observer(table, verbosity)
        conversation = c.Conversation(
            begin, observer, lambda: _stuck(make.process), make.read_request
        )
        _say(f"{LISTENING}{socket.address}", verbosity)
        command = partial(make.batsim_command, prefix or "PREFIX")
        _say(f"start Batsim 4 as: {command()}", verbosity)
        _say(f"or Batsim 5 as: {command(batsim5=True)}", verbosity)
        limits = c.WaitLimits(first=first_timeout or inf, silence=silence_timeout or inf)
        try:
            c.serve(socket, conversation, limits, recorder)
        finally:  # the end is reported, even if somebody asks for it meanwhile
            ignore_stop_signals()
    if table is not None:
        write_whole(f"{prefix}_users.csv", table.csv())
    try:
        summary = (read_counters(make.process.users) or {}).get("summary")
    except InvariantError as error:  # the simulation has come to its end all the same
        summary = f"note: {error}"
    if summary:
        _say(one_line(str(summary)), verbosity)
    _say(f"the simulation ended at {conversation.now:f} s", verbosity)


def _stuck(process: DecisionProcess) -> str | None:
    """Say which jobs wait while nothing runs, None if there are none."""
    if process.nb_running or not len(process.queue):
        return None
    jobs, machine = list(process.queue), process.machine
    return describe_waiting_jobs(
        [job.id for job in jobs],
        machine.nb_processors,
        machine.free,
        (jobs[0].id, jobs[0].size),
        any_started=machine.nb_ended > 0,
    )


def _order_option(variant: str, queue_order: str, options: dict[str, Any]) -> dict[str, str]:
    """Return the policy's option ``order``, if it has one; raises :class:`UsageError`."""
    from batsched_py.plugins.plugins import SCHEDULERS, find_accepted_options, load

    if "order" in options:
        raise UsageError(f"--queue_order {queue_order}: the policy's options have an order too")
    accepted = find_accepted_options(load(SCHEDULERS, variant))
    if accepted is not None and "order" not in accepted:
        if queue_order == "fcfs":  # what all policies without the option do
            return {}
        raise UsageError(
            f"--queue_order {queue_order}: {variant} has no option 'order'; with one are easy, "
            "list, planning, ..."
        )
    return {"order": queue_order}


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


def _say(text: str, verbosity: BatschedVerbosity) -> None:
    if verbosity in (BatschedVerbosity.info, BatschedVerbosity.debug):
        print(text, flush=True)
