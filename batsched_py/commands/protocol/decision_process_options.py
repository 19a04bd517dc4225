"""Options of the commands that run a decision process: ``serve`` and ``replay``."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from typer.core import TyperCommand

from batsched_py.commands import shared_options as o
from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import ProtocolError, UsageError
from batsched_py.protocol.messages import SimulationBegins
from batsched_py.run.backends.batsim_arguments import batsim_arguments
from batsched_py.run.simulate import RIGID, ProcessSettings, check_settings, make_process
from batsched_py.support.option_values import parse_options
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.log_archive import find_log

Users = Annotated[
    str,
    typer.Option(
        "--users",
        help="Users who submit dynamically: feedback, another model's name, or file.py:Class "
        "(default rigid: none, the jobs are Batsim's).",
        metavar="NAME",
    ),
]
Sessions = Annotated[
    str | None,
    typer.Option("--sessions", help="Delimitation in minutes, such as arrival:60 or max:20."),
]
UserOption = Annotated[
    list[str] | None,
    typer.Option("-U", help="Option of the user model (repeatable).", metavar="KEY=VALUE"),
]
Log = Annotated[
    str | None,
    typer.Option(
        "--log",
        metavar="INPUT",
        help="What the users replay: SWF log or Batsim workload (.json), a file or a log's name.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the users' chance.")]
Shake = Annotated[
    int | None,
    typer.Option("--shake", help="Seed of a shaken order of users who submit at one instant."),
]


class ArgumentsFromFiles(TyperCommand):
    """A command whose argument ``@FILE`` stands for the arguments in that file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the content of the files in place; comments begin with ``#``."""
        expanded: list[str] = []
        for at, argument in enumerate(args):
            # behind --variant_options, @FILE is a value: see json_options
            if argument.startswith("@") and not (at and args[at - 1] == "--variant_options"):
                expanded += _arguments(argument)
            else:
                expanded.append(argument)
        return super().parse_args(ctx, expanded)


def _arguments(argument: str) -> list[str]:
    try:
        return shlex.split(read_text(argument[1:], argument), comments=True)
    except ValueError as error:
        raise UsageError(f"{argument}: {error}; expected arguments as a shell takes them") from None


def json_options(text: str | None, path: str | None) -> dict[str, Any]:
    """Return the options of the policy that batsched's two options give; both may be used.

    ``text`` is a JSON object, or ``@FILE``; ``path`` a file with one.
    """
    options: dict[str, Any] = {}
    for flag, given in (
        ("--variant_options_filepath", None if path is None else f"@{path}"),
        ("--variant_options", text),
    ):
        if given is not None:
            content = read_text(given[1:], flag) if given.startswith("@") else given
            options |= json_object(content, f"{flag} {given}")
    return options


def json_object(text: str, what: str) -> dict[str, Any]:
    """Read a JSON object; raises :class:`UsageError`."""
    try:
        content = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        content = error
    if not isinstance(content, dict):
        raise UsageError(
            f"{what}: expected a JSON object with options of the policy, such as "
            '{"extra_nodes": "instant"}'
        )
    return content


def settings_of(
    scheduler: str,
    scheduler_options: dict[str, Any],
    users: str,
    sessions: str | None,
    user_option: Sequence[str] | None,
    seed: int,
    shake: int | None,
) -> ProcessSettings:
    """Return the settings that the options say, checked."""
    user_options = parse_options(user_option or [], "-U")
    if sessions is not None:
        o.refuse_twice("sessions", user_options)
        user_options["sessions"] = sessions
    settings = ProcessSettings(
        scheduler=scheduler,
        scheduler_options=scheduler_options,
        users=users,
        user_options=user_options,
        seed=seed,
        shake=shake,
    )
    check_settings(settings)
    if shake is not None and users == RIGID:
        raise UsageError(
            f"--shake {shake}: without users there is nothing to shake on this side (the embedded "
            "simulator, `batsched-py simulator`, has --shake too)"
        )
    return settings


def users_workload(
    settings: ProcessSettings,
    log: str | None,
    rules: Rules,
    log_dirs: Sequence[Path] | None,
    skip_bad_lines: bool,
) -> Workload | None:
    """Return what the users replay, None without users."""
    if settings.users == RIGID:
        if log is not None:
            raise UsageError(
                f"--log {log}: without users the jobs are Batsim's (its option -w); add --users "
                "feedback, or leave --log out"
            )
        return None
    if log is None:
        raise UsageError(f"--users {settings.users} needs --log: what do they replay?")
    return load_workload(find_log(log, log_dirs or []), rules, skip_bad_lines=skip_bad_lines)


def process_maker(
    settings: ProcessSettings, workload: Workload | None, endpoint: str
) -> Callable[[SimulationBegins], DecisionProcess]:
    """Return what makes the process once Batsim has said how it was started.

    Options in Batsim's ``--sched-cfg``, a JSON object, complete those of the command line. What
    does not fit is found at once: a first process is made here.
    """
    first = make_process(settings, workload, six_decimals=True)

    def make(begins: SimulationBegins) -> DecisionProcess:
        config = begins.config
        if workload is not None and not config.get("dynamic-jobs-enabled"):
            arguments = batsim_arguments(
                platform="PLATFORM.xml",
                workloads=[],
                endpoint=endpoint,
                prefix="PREFIX",
                dynamic=True,
            )
            raise ProtocolError(
                "users who react submit their jobs during the simulation, and Batsim was started "
                f"without that; start it as: batsim {shlex.join(arguments)}"
            )
        text = config.get("sched-config")
        if not text:
            return first
        options = json_object(text, f"Batsim's --sched-cfg {text}") | settings.scheduler_options
        return make_process(
            msgspec.structs.replace(settings, scheduler_options=options),
            workload,
            six_decimals=True,
        )

    return make


def read_text(path: str, option: str) -> str:
    """Return the content of the file that ``option`` names; raises :class:`UsageError`."""
    try:
        return Path(path).read_text()
    except OSError as error:
        raise UsageError(f"{option}: {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{option}: {path} is not a text file") from None
