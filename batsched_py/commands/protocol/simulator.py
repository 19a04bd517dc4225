"""``batsched-py simulator``: the embedded simulator with Batsim's command line."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from typer.core import TyperCommand

from batsched_py.commands.protocol.batsim5_arguments import ONLY_5, as_ours, version_of
from batsched_py.commands.protocol.decision_process_options import ArgumentsFromFiles, text_of_file
from batsched_py.commands.shared_options import seconds_to_wait, with_fields
from batsched_py.errors import BatschedError, UsageError
from batsched_py.simulator.options import Options
from batsched_py.support.atomic_files import make_folder_of
from batsched_py.support.setting_fields import setting_fields
from batsched_py.support.signals import stop_signals
from batsched_py.support.terminal_text import say

if TYPE_CHECKING:
    from batsched_py.protocol import messages as m
    from batsched_py.simulator.engine import Outcome, Simulator
    from batsched_py.transport import Partner
    from batsched_py.transport.simulator_socket import Batsim5Socket

REFUSED = {
    "-W": "workflows",
    "--workflow": "workflows",
    "--WS": "workflows",
    "--workflow-start": "workflows",
    "--ignore-beyond-last-workflow": "workflows",
    "--workflow-jobs-limit": "workflows",
    "--enable-redis": "Redis",
    "--redis-hostname": "Redis",
    "--redis-port": "Redis",
    "--redis-prefix": "Redis",
    "--no-sched": "running without a scheduler",
    "--batexec": "running without a scheduler",
    "--sg-cfg": "settings of SimGrid",
    "--simgrid-version": "SimGrid",
}
"""Batsim's options that mean something which the embedded simulator does not do."""


class RefusedByName(TyperCommand):
    """A command that tells Batsim's options which it does not have from mistakes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse them by name; a command line of Batsim 5 is put into our options."""
        if version_of(args) == 5:
            args = as_ours(args)
        elif wrong := [name for name in args if name.partition("=")[0] in ONLY_5]:
            raise UsageError(f"{wrong[0]}: only Batsim 5 has that (--protocol 5)")
        for argument in args:
            is_long = argument.startswith("--")
            name = argument.partition("=")[0] if is_long else argument[:2]
            if name in REFUSED:
                raise UsageError(
                    f"{name}: the embedded simulator does not do {REFUSED[name]}; use real Batsim"
                )
        return super().parse_args(ctx, args)


class BatsimArguments(ArgumentsFromFiles, RefusedByName):
    """A command with Batsim's options, which may come from files."""


class BatsimVerbosity(StrEnum):
    """How much is said: Batsim's words."""

    quiet = "quiet"
    network_only = "network-only"
    information = "information"
    debug = "debug"


BATSIM_5 = "Batsim 5"
"""Heading of the options that only it has."""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"batsched-py {version('batsched_py')} (stand-in for Batsim v4.2.0)")
        raise typer.Exit


@app.command(cls=BatsimArguments)
@with_fields("options", Options, setting_fields(Options).values(), trace_machines=True)
def simulator(
    *,
    options: Options,
    platform: Annotated[
        Path, typer.Option("-p", "--platform", metavar="FILE", help="SimGrid platform (XML).")
    ],
    workload: Annotated[
        list[Path] | None,
        typer.Option("-w", "--workload", metavar="FILE", help="Workload (JSON; repeatable)."),
    ] = None,
    events: Annotated[
        list[Path] | None,
        typer.Option("--events", metavar="FILE", help="External events (repeatable)."),
    ] = None,
    endpoint: Annotated[
        str,
        typer.Option("-s", "--socket-endpoint", metavar="ENDPOINT", help="The scheduler's socket."),
    ] = "tcp://localhost:28000",
    prefix: Annotated[
        str | None,
        typer.Option(
            "-e",
            "--export",
            metavar="PREFIX",
            help="Prefix of the output files; none: out, under Batsim 5 out/.",
        ),
    ] = None,
    master_host: Annotated[
        str, typer.Option("-m", "--master-host", help="The host that does not compute.")
    ] = "master_host",
    roles: Annotated[
        list[str] | None,
        typer.Option(
            "-r",
            "--add-role-to-hosts",
            metavar="HOSTS:ROLES",
            help="Roles of hosts, such as host1,host2:storage (repeatable).",
        ),
    ] = None,
    mmax: Annotated[
        int, typer.Option("--mmax", help="Use the first N machines only; 0: all.", min=0)
    ] = 0,
    mmax_workload: Annotated[
        bool, typer.Option("--mmax-workload", help="Use as many machines as the workloads say.")
    ] = False,
    sched_config_file: Annotated[
        Path | None, typer.Option("--sched-cfg-file", metavar="FILE", help="File with that text.")
    ] = None,
    no_schedule_trace: Annotated[
        bool,
        typer.Option("--disable-schedule-tracing", help="Accepted: no Paje trace is written."),
    ] = False,
    sg_log: Annotated[
        list[str] | None,
        typer.Option("--sg-log", metavar="TEXT", help="Accepted: there is no log of SimGrid."),
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing.")] = False,
    verbosity: Annotated[
        BatsimVerbosity,
        typer.Option(
            "-v", "--verbosity", help="How much to say; network-only, debug: every message."
        ),
    ] = BatsimVerbosity.information,
    dump: Annotated[
        bool, typer.Option("--dump-execution-context", help="Print the setting as JSON, and end.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    timeout: Annotated[
        float,
        seconds_to_wait("--timeout", "Seconds to wait for each reply; 0: for ever."),
    ] = 3600,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="FILE", help="Write the exchange to FILE (not Batsim's)."),
    ] = None,
    init: Annotated[
        str | None,
        typer.Option(
            "--init",
            metavar="TEXT",
            help="Text for the scheduler, as -s ENDPOINT TEXT.",
            rich_help_panel=BATSIM_5,
        ),
    ] = None,
    init_file: Annotated[
        Path | None,
        typer.Option(
            "--init-file",
            metavar="FILE",
            help="File with that text, as -S ENDPOINT FILE.",
            rich_help_panel=BATSIM_5,
        ),
    ] = None,
    generic_events: Annotated[
        list[Path] | None,
        typer.Option(
            "--ee",
            metavar="FILE",
            help="External events (repeatable).",
            rich_help_panel=BATSIM_5,
        ),
    ] = None,
    energy_host: Annotated[
        bool,
        typer.Option("--energy-host", help="Account for energy.", rich_help_panel=BATSIM_5),
    ] = False,
    trace_machine_state: Annotated[
        bool,
        typer.Option(
            "--trace-machine-state",
            help="Write PREFIXmachine_states.csv.",
            rich_help_panel=BATSIM_5,
        ),
    ] = False,
    trace_pstates: Annotated[
        bool,
        typer.Option(
            "--trace-pstate-changes",
            help="Write PREFIXpstate_changes.csv.",
            rich_help_panel=BATSIM_5,
        ),
    ] = False,
) -> None:
    """Simulate for a scheduler that listens, in Batsim's place and with its options.

    For schedulers in any language that speak Batsim 4.2's protocol, or Batsim 5's in JSON
    (--protocol 5, or options that only Batsim 5 has). What the embedded simulator
    does not do (storage jobs, SMPI, workflows, ...) is refused. Exits with 1 where Batsim stops,
    and on a deadlock, where Batsim exits with 0.
    """
    from batsched_py.simulator.files.input_files import Inputs, parse_roles, prepare
    from batsched_py.simulator.files.output_files import write_outputs

    is_batsim5 = _is_batsim5(options)
    if prefix is None:
        prefix = "out/" if is_batsim5 else "out"
    if is_batsim5:
        options = msgspec.structs.replace(
            options, energy=energy_host, trace_machines=trace_machine_state
        )
        events = generic_events
    if quiet:
        verbosity = BatsimVerbosity.quiet
    if dump:
        print(_execution_context(endpoint, prefix))
        return
    if sched_config_file is not None:
        options = _with_text_of(sched_config_file, options)
    inputs = Inputs(
        platform=platform,
        workloads=workload or [],
        events=events or None,
        master_host=master_host,
        roles=parse_roles(roles or []),
        mmax=mmax,
        mmax_workload=mmax_workload,
    )
    made = prepare(inputs, options)
    make_folder_of(f"{prefix}{'' if is_batsim5 else '_'}jobs.csv")
    if is_batsim5:
        text = _init_text(init, init_file)
        _simulate_batsim5(
            made, endpoint, text, timeout or inf, verbosity, record, prefix, trace_pstates
        )
        return
    with stop_signals():  # no half files either, if it has to end while it writes
        try:
            outcome = _run(made, endpoint, timeout or inf, verbosity, record)
        except BatschedError:
            if made.outcome is not None:  # a deadlock, or an error in the very last reply
                write_outputs(made.outcome, prefix, exact=options.exact_times)
            raise
        paths = write_outputs(outcome, prefix, exact=options.exact_times)
    if verbosity is not BatsimVerbosity.quiet:
        print(f"{len(outcome.jobs)} jobs; wrote {', '.join(paths)}")


def _run(
    made: Simulator, endpoint: str, timeout: float, verbosity: BatsimVerbosity, record: Path | None
) -> Outcome:
    from batsched_py.transport.recording import Recorder, recorded
    from batsched_py.transport.simulator_socket import (
        SimulatorSocket,  # ZeroMQ is imported here, after the mistakes
    )

    exact = made.options.exact_times

    def note(text: str) -> None:
        if verbosity is not BatsimVerbosity.quiet:
            say(text)

    with ExitStack() as stack:
        scheduler: Partner = stack.enter_context(
            SimulatorSocket(endpoint, timeout, exact=exact, note=note)
        )
        if record is not None:
            scheduler = recorded(scheduler, stack.enter_context(Recorder(record)))
        if verbosity in (BatsimVerbosity.network_only, BatsimVerbosity.debug):
            scheduler = _shown(scheduler, exact)
        return made.run(scheduler)


def _init_text(init: str | None, init_file: Path | None) -> str:
    if init is not None and init_file is not None:
        raise UsageError("--init and --init-file: give one")
    return init or "" if init_file is None else text_of_file(str(init_file), "--init-file")


def _simulate_batsim5(
    made: Simulator,
    endpoint: str,
    init: str,
    timeout: float,
    verbosity: BatsimVerbosity,
    record: Path | None,
    prefix: str,
    trace_pstates: bool,
) -> None:
    """Simulate with a scheduler of Batsim 5, as its hello asks, and write the files."""
    from batsched_py.simulator.files.batsim5_files import write_batsim5_outputs
    from batsched_py.simulator.files.input_files import as_asked

    options = made.options
    context = {"socket_endpoint": endpoint, "export_prefix": prefix}
    made.told["batsim_arguments"] = sys.argv
    made.told["batsim_execution_context_json"] = json.dumps(context, separators=(",", ":"))
    with stop_signals(), ExitStack() as stack:
        scheduler = _batsim5_scheduler(stack, endpoint, timeout, verbosity, record, options)
        made = as_asked(made, scheduler.greet(init))
        partner: Partner = scheduler
        if verbosity in (BatsimVerbosity.network_only, BatsimVerbosity.debug):
            partner = _shown(partner, options.exact_times, batsim5=True)
        try:
            outcome = made.run(partner)
        except BatschedError:
            if made.outcome is not None:  # a deadlock, or an error in the very last reply
                write_batsim5_outputs(
                    made.outcome, prefix, options, trace_pstates=trace_pstates, whole=False
                )
            raise
        paths = write_batsim5_outputs(outcome, prefix, options, trace_pstates=trace_pstates)
    if verbosity is not BatsimVerbosity.quiet:
        print(f"{len(outcome.jobs)} jobs; wrote {', '.join(paths)}")


def _is_batsim5(options: Options) -> bool:
    if options.protocol not in (4, 5):
        raise UsageError(f"--protocol {options.protocol}: expected 4 or 5")
    return options.protocol == 5


def _batsim5_scheduler(
    stack: ExitStack,
    endpoint: str,
    timeout: float,
    verbosity: BatsimVerbosity,
    record: Path | None,
    options: Options,
) -> Batsim5Socket:
    from batsched_py.transport.recording import Recorder
    from batsched_py.transport.simulator_socket import Batsim5Socket

    def note(text: str) -> None:
        if verbosity is not BatsimVerbosity.quiet:
            say(text)

    recorder = None if record is None else stack.enter_context(Recorder(record))
    return stack.enter_context(
        Batsim5Socket(endpoint, timeout, exact=options.exact_times, note=note, recorder=recorder)
    )


def _shown(scheduler: Partner, exact: bool, *, batsim5: bool = False) -> Partner:
    """Print every message and its reply, on standard error."""
    from batsched_py.protocol import batprotocol_json, message_json

    codec: Any = batprotocol_json if batsim5 else message_json

    def exchange(message: m.Message) -> m.Message:
        raw: bytes = codec.encode_events(message, exact=exact)
        said = raw.removesuffix(b"\0").decode()
        say(f"-> {said}")
        reply = scheduler(message)
        say(f"<- {codec.encode_decisions(reply).decode()}")
        return reply

    return exchange


def _execution_context(endpoint: str, prefix: str) -> str:
    return json.dumps(
        {
            "socket_endpoint": endpoint,
            "redis_enabled": False,
            "redis_hostname": "127.0.0.1",
            "redis_port": 6379,
            "redis_prefix": "default",
            "export_prefix": prefix,
            "external_scheduler": True,
        },
        separators=(",", ":"),
    )


def _with_text_of(path: Path, options: Options) -> Options:
    if options.sched_config:
        raise UsageError("--sched-cfg and --sched-cfg-file: give one")
    text = text_of_file(str(path), "--sched-cfg-file")
    return msgspec.structs.replace(options, sched_config=text)
