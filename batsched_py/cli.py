"""The command ``batsched-py``: finds its subcommands and turns errors into one line.

A subcommand is a function with Typer annotations, or a ``typer.Typer`` with subcommands of its own:
one of :data:`PLACES`, or an entry point of the group ``batsched_py.commands``. It is imported only
when it is called, so that a simulation does not wait for the libraries of a figure; its
description in the list of commands is read from its source.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from batsched_py.errors import BatschedError, InterruptedByUser
from batsched_py.support.terminal_text import make_message_line, say, standard_streams

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

COMMANDS = "batsched_py.commands"
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""What keeps numpy, unless the user says otherwise, from starting a thread for each processor: they
are for products of matrices, and take longer to start than most commands run."""
PLACES = {
    "calibrate": f"{COMMANDS}.calibrate:calibrate",
    "campaign": f"{COMMANDS}.campaign:campaign",
    "compare": f"{COMMANDS}.compare:compare",
    "convert": f"{COMMANDS}.logs.convert:convert",
    "explain": f"{COMMANDS}.explain:explain",
    "import": f"{COMMANDS}.logs.import_records:app",
    "info": f"{COMMANDS}.logs.info:info",
    "list": f"{COMMANDS}.list:list_plugins",
    "logs": f"{COMMANDS}.logs.fetch:logs",
    "metrics": f"{COMMANDS}.metrics:metrics",
    "optimum": f"{COMMANDS}.optimum:optimum",
    "replay": f"{COMMANDS}.protocol.replay:replay",
    "report": f"{COMMANDS}.report:report",
    "sample-log": f"{COMMANDS}.logs.sample_log:sample_log",
    "serve": f"{COMMANDS}.protocol.serve:app",
    "simulate": f"{COMMANDS}.simulate:simulate",
    "simulator": f"{COMMANDS}.protocol.simulator:app",
    "users-proxy": f"{COMMANDS}.protocol.users_proxy:app",
}
"""The commands of this package, which are found without a look at what is installed."""
GROUPS = {
    "Start here": ("simulate", "report", "list", "campaign"),
    "Results": ("metrics", "compare", "calibrate", "explain", "optimum"),
    "Logs and workloads": ("info", "logs", "import", "convert", "sample-log"),
    "Users": ("users", "sessions"),
    "Batsim and schedulers in other programs": (*("serve", "simulator", "users-proxy", "replay"),),
}
"""The commands in the order of their list; those of other packages come after these."""
TRACEBACK = "BATSCHED_TRACEBACK"
"""Variable of the environment: if set, unexpected errors show where they come from."""


class _LazyCommands(TyperGroup):
    """Commands by name from the entry points, imported on first use."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # here, since Typer would exit without a word
            raise InterruptedByUser("interrupted") from None
        except BatschedError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand)
            _fail(error.text(partial(_flag, command)), error.exit_code)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and _loaded(args[0]) is None:
            names: Any = dict.fromkeys(self.list_commands(ctx))
            self.commands = names  # Typer suggests one of them
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for names in _grouped(_commands()).values() for name in names]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        from batsched_py.plugins.plugin_descriptions import find_description

        commands = _commands()
        width = max(map(len, commands), default=0)
        for heading, names in _grouped(commands).items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(f"{name:{width}}", find_description(commands[name])) for name in names]
                )

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        loaded = _loaded(cmd_name)
        if loaded is None:
            return None
        if not isinstance(loaded, typer.Typer):
            from batsched_py.commands.help_text import CommandHelp

            app = typer.Typer(add_completion=False, rich_markup_mode=None)
            app.command(name=cmd_name, cls=CommandHelp)(loaded)
            loaded = app
        command = typer.main.get_command(loaded)
        command.name = cmd_name
        return command


@cache
def _commands() -> Mapping[str, EntryPoint]:
    """Return the commands by name, with those of other packages."""
    from importlib.metadata import EntryPoint

    from batsched_py.support.installation import find_entry_points

    places = {name: EntryPoint(name, place, COMMANDS) for name, place in PLACES.items()}
    return {**find_entry_points(COMMANDS), **places}


def _loaded(name: str) -> Any:
    """Return the function or application that is a command; None if there is no such command."""
    if name in PLACES:
        module, _, attribute = PLACES[name].partition(":")
        return getattr(import_module(module), attribute)
    entry = _commands().get(name)
    return None if entry is None else entry.load()


def _grouped(commands: Mapping[str, EntryPoint]) -> dict[str, list[str]]:
    """Return the names of the commands by heading, without empty groups."""
    ours = {name for names in GROUPS.values() for name in names}
    groups = {
        heading: [name for name in names if name in commands] for heading, names in GROUPS.items()
    }
    groups["Of other packages"] = sorted(set(commands) - ours)
    return {heading: names for heading, names in groups.items() if names}


app = typer.Typer(
    cls=_LazyCommands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    """Simulate scheduling on HPC machines, with users who react to the system.

    Begin with `batsched-py simulate sample -e out/first`, then `batsched-py report out/first`.
    `batsched-py COMMAND --help` shows the options of a command, and examples.
    """
    if show_version:
        from importlib.metadata import version

        typer.echo(f"batsched_py {version('batsched_py')}")
        raise typer.Exit


def main() -> None:
    """Run the command line; exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    with standard_streams():
        try:
            _run()
        except BatschedError as error:
            _fail(str(error), error.exit_code)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a fault of ours, or of a plug-in
            if os.environ.get(TRACEBACK):
                traceback.print_exc()
                sys.exit(1)
            from batsched_py.plugins.code_places import describe_exception, find_author_line

            if (
                isinstance(error, OSError) and find_author_line(error) is None
            ):  # the system says enough
                _fail(str(error), 1)
            _fail(describe_exception(error, f"set {TRACEBACK}=1 to see the whole traceback"), 1)


def _run() -> None:
    os.environ.setdefault(*ONE_THREAD)
    try:
        app()
    finally:
        sys.stdout.flush()


def _flag(command: Any, parameter: str) -> str:
    """Return the flag of a parameter: that of the command's option, if it has it."""
    for option in command.params:
        if option.name == parameter:
            return str(max((*option.opts, *option.secondary_opts), key=len))
    return f"--{parameter.replace('_', '-')}"


def _fail(message: str, code: int) -> NoReturn:
    say(f"batsched-py: error: {make_message_line(message)}")
    sys.exit(code)
