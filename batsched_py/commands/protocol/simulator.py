"""``batsched-py simulator``: the embedded simulator with Batsim's command line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from batsched_py.commands import shared_options as o
from batsched_py.commands.protocol.added_users import Registers, add_users
from batsched_py.commands.protocol.batsim5_arguments import (
    ONLY_5,
    Batsim5Options,
    detect_version,
    find_texts,
    translate_arguments,
)
from batsched_py.commands.protocol.decision_process_options import (
    OF_USERS,
    ArgumentsFromFiles,
    Log,
    expand_files,
    read_file_of,
)
from batsched_py.commands.protocol.simulator_run import (
    BatsimVerbosity,
    Surroundings,
    simulate,
    simulate_batsim5,
)
from batsched_py.commands.shared_options import seconds_to_wait, with_fields
from batsched_py.errors import UsageError
from batsched_py.files.writers import make_folder_of
from batsched_py.options.setting_fields import setting_fields
from batsched_py.plugins.plugins import RIGID
from batsched_py.run.settings import Settings
from batsched_py.simulator.options import Options
from batsched_py.support.old_names import hint_new_name

REFUSED = {
    **dict.fromkeys(("-W", "--workflow", "--WS", "--workflow-start"), "workflows"),
    **dict.fromkeys(("--ignore-beyond-last-workflow", "--workflow-jobs-limit"), "workflows"),
    **dict.fromkeys(("--enable-redis", "--redis-hostname"), "Redis"),
    **dict.fromkeys(("--redis-port", "--redis-prefix"), "Redis"),
    **dict.fromkeys(("--no-sched", "--batexec"), "running without a scheduler"),
    "--sg-cfg": "settings of SimGrid",
    "--simgrid-version": "SimGrid",
}
"""Batsim's options that mean something which the embedded simulator does not do."""


class BatsimArguments(ArgumentsFromFiles):
    """A command with Batsim's options, which may come from files."""

    def prepare(self, ctx: Any, arguments: Sequence[str]) -> list[str]:
        """Refuse Batsim's options that the simulator lacks, and translate Batsim 5's options.

        A text for a scheduler of Batsim 5 that begins with ``@`` is no file.
        """
        texts = find_texts(arguments)
        args = expand_files(arguments, texts)
        if texts and detect_version(args) == 4:
            args = expand_files(arguments)
        ctx.meta[_VERSION] = detect_version(args)
        if ctx.meta[_VERSION] == 5:
            args = translate_arguments(args)
        elif wrong := [name for name in args if name.partition("=")[0] in ONLY_5]:
            raise UsageError(f"{wrong[0]}: only Batsim 5 has that (--protocol 5)")
        for argument in args:
            is_long = argument.startswith("--")
            name = argument.partition("=")[0] if is_long else argument[:2]
            if is_long and (hint := hint_new_name(name)):
                raise UsageError(f"there is no option {name}{hint}")
            if name in REFUSED:
                raise UsageError(
                    f"{name}: the embedded simulator does not do {REFUSED[name]}; use real Batsim"
                )
        return args


_VERSION = f"{__name__}.version"
"""Whose command line it is, 4 or 5: a key of what is known while arguments are read."""

app = typer.Typer(add_completion=False, rich_markup_mode=None)


_OF_USERS = tuple(name for name in OF_USERS if name != "shake")  # which the simulator has


def _print_version(context: typer.Context, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        stood_in_for = "v5.0.0-rc2" if context.meta[_VERSION] == 5 else "v4.2.0"
        print(f"batsched-py {version('batsched_py')} (in place of Batsim {stood_in_for})")
        raise typer.Exit


@app.command(cls=BatsimArguments)
@o.with_settings(*_OF_USERS)
@with_fields("options", Options, setting_fields(Options).values(), trace_machines=True)
@with_fields("only_5", Batsim5Options, setting_fields(Batsim5Options).values())
def simulator(
    *,
    settings: Settings,
    options: Options,
    only_5: Batsim5Options,
    platform: Annotated[
        Path, typer.Option("-p", "--platform", metavar="FILE", help="SimGrid platform file (.xml).")
    ],
    workload: Annotated[
        list[Path] | None,
        typer.Option(
            "-w", "--workload", metavar="FILE", help="Batsim workload (.json); repeatable."
        ),
    ] = None,
    events: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="File of external events; repeatable.")
    ] = None,
    endpoint: Annotated[
        str,
        typer.Option(
            "-s",
            "--socket-endpoint",
            metavar="ENDPOINT",
            help="Endpoint at which the scheduler listens.",
        ),
    ] = "tcp://localhost:28000",
    prefix: Annotated[
        str | None,
        typer.Option(
            "-e",
            "--export",
            metavar="PREFIX",
            help="Prefix of the names of the output files. [default: out; as Batsim 5: out/]",
        ),
    ] = None,
    master_host: Annotated[
        str,
        typer.Option(
            "-m",
            "--master-host",
            metavar="NAME",
            help="Host of the platform that does not compute.",
        ),
    ] = "master_host",
    roles: Annotated[
        list[str] | None,
        typer.Option(
            "-r",
            "--add-role-to-hosts",
            metavar="HOSTS:ROLES",
            help="Roles of hosts, such as host1,host2:storage (Batsim 5: HOST ROLE); repeatable.",
        ),
    ] = None,
    mmax: Annotated[
        int,
        typer.Option(
            metavar="N", help="Number of processors to use, from the first one; 0: all.", min=0
        ),
    ] = 0,
    mmax_workload: Annotated[
        bool, typer.Option("--mmax-workload", help="Use as many processors as the workloads name.")
    ] = False,
    sched_config_file: Annotated[
        Path | None,
        typer.Option("--sched-cfg-file", metavar="FILE", help="File with the text of --sched-cfg."),
    ] = None,
    no_schedule_trace: Annotated[
        bool,
        typer.Option(
            "--disable-schedule-tracing", help="No effect: a Paje trace is never written."
        ),
    ] = False,
    sg_log: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="No effect: there is no log of SimGrid."),
    ] = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing.")] = False,
    verbosity: Annotated[
        BatsimVerbosity,
        typer.Option(
            "-v",
            "--verbosity",
            metavar="LEVEL",
            help="Amount of output: quiet, information, or every message (network-only, debug).",
        ),
    ] = BatsimVerbosity.information,
    dump: Annotated[
        bool,
        typer.Option(
            "--dump-execution-context", help="Print endpoint and prefix as JSON, and exit."
        ),
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version, and exit."
        ),
    ] = False,
    timeout: Annotated[
        float, seconds_to_wait("--timeout", "Seconds to wait for each reply; 0: without limit.")
    ] = 3600,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write all messages to this file (not an option of Batsim)."
        ),
    ] = None,
    log: Log = None,
    log_dir: o.LogDirs = None,
    registers: Registers = False,
) -> None:
    """Simulate for a scheduler in another program, with Batsim's protocol and options.

    The scheduler may be in any language. It listens at the endpoint, and speaks the protocol of
    Batsim 4.2, or that of Batsim 5 in JSON (--protocol 5, or an option that only Batsim 5 has).
    Options for features that this simulator lacks are refused: storage jobs, SMPI and workflows.
    With --users, users submit the jobs of --log, and the scheduler sees them as jobs of a
    workload. The exit code is 1 after an error and after a deadlock.

    Examples:
        batsched-py simulator -p platform.xml -w workload.json -e out/run
        batsched-py simulator -p platform.xml --users feedback --log sample -e out/run
        batsched-py simulator --protocol 5 -p platform.xml -w workload.json -s tcp://localhost:28001
    """
    from batsched_py.plugins.isolated_run import isolate
    from batsched_py.simulator.files.input_files import Inputs, parse_roles, prepare

    if options.protocol not in (4, 5):
        raise UsageError(f"--protocol {options.protocol}: expected 4 or 5")
    is_batsim5 = options.is_batsim5
    if prefix is None:
        prefix = "out/" if is_batsim5 else "out"
    if dump:
        print(_execution_context(endpoint, prefix))
        return
    if sched_config_file is not None:
        if options.sched_config:
            raise UsageError("--sched-cfg and --sched-cfg-file: give one")
        text = read_file_of(str(sched_config_file), "--sched-cfg-file")
        options = msgspec.structs.replace(options, sched_config=text)
    inputs = Inputs(
        platform=platform,
        workloads=workload or [],
        events=(only_5.ee if is_batsim5 else events) or None,
        master_host=master_host,
        roles=parse_roles(roles or []),
        mmax=mmax,
        mmax_workload=mmax_workload,
    )
    if settings.users != RIGID and workload:
        raise UsageError(
            f"-w {workload[0]} and --users {settings.users}: users submit the jobs of --log, so "
            "leave -w out"
        )
    around = Surroundings(
        endpoint=endpoint,
        timeout=timeout or inf,
        prefix=prefix,
        verbosity=BatsimVerbosity.quiet if quiet else verbosity,
        record=record,
    )
    init = only_5.text() if is_batsim5 else ""
    options = only_5.completed(options) if is_batsim5 else options
    with isolate(settings.seed) as notes:
        users = add_users(
            # the seed of all events shuffles those of users too
            msgspec.structs.replace(
                settings, shake=None if settings.users == RIGID else options.shake
            ),
            log,
            log_dir,
            endpoint=endpoint,
            registers=registers,
        )
        if users is not None:
            options = msgspec.structs.replace(
                options,
                dynamic_jobs=True,
                profile_reuse=True,
                exact_times=options.exact_times or is_batsim5,
            )
        made = prepare(inputs, options)
        make_folder_of(f"{prefix}jobs.csv" if is_batsim5 and not users else f"{prefix}_jobs.csv")
        if is_batsim5:
            trace = only_5.trace_pstate_changes
            simulate_batsim5(made, around, init, users, trace_pstates=trace)
        else:
            simulate(made, around, users)
    for note in notes:
        around.note(f"note: {note}")


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
