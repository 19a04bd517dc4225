"""The command ``batsched-py``: finds its subcommands as plug-ins and turns errors into one line.

A subcommand is an entry point of the group ``batsched_py.commands``: a function with Typer
annotations, or a ``typer.Typer`` with subcommands of its own. It is imported only when it is
called, so that a simulation does not wait for the libraries of a figure.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from importlib.metadata import entry_points, version
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from batsched_py.errors import BatschedError, InterruptedByUser
from batsched_py.support.code_places import described

COMMANDS = "batsched_py.commands"
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

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted({entry.name for entry in entry_points(group=COMMANDS)})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        entries = entry_points(group=COMMANDS, name=cmd_name)
        if not entries:
            return None
        loaded = entries[cmd_name].load()
        if not isinstance(loaded, typer.Typer):
            app = typer.Typer(add_completion=False, rich_markup_mode=None)
            app.command(name=cmd_name)(loaded)
            loaded = app
        command = typer.main.get_command(loaded)
        command.name = cmd_name
        return command


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
    """Schedule under Batsim's protocol, with users who react."""
    if show_version:
        typer.echo(f"batsched_py {version('batsched_py')}")
        raise typer.Exit


def main() -> None:
    """Run the command line; exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    try:
        app()
    except BatschedError as error:
        _fail(str(error), error.exit_code)
    except OSError as error:
        _fail(str(error), 1)
    except Exception as error:  # a fault of ours, or of a plug-in
        if os.environ.get(TRACEBACK):
            raise
        _fail(described(error, f"set {TRACEBACK}=1 to see the whole traceback"), 1)


def _flag(command: Any, parameter: str) -> str:
    """Return the flag of a parameter: that of the command's option, if it has it."""
    for option in command.params:
        if option.name == parameter:
            return str(max((*option.opts, *option.secondary_opts), key=len))
    return f"--{parameter.replace('_', '-')}"


def _fail(message: str, code: int) -> NoReturn:
    line = " ".join(message.split())
    print(f"batsched-py: error: {line}", file=sys.stderr)
    sys.exit(code)
