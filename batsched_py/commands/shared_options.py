"""Options that several commands share: the rules by which a log becomes jobs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from batsched_py.errors import UsageError
from batsched_py.workload.conversion_rules import make_rules

RulesPreset = Annotated[
    str,
    typer.Option(
        "--rules",
        metavar="PRESET",
        help="How a log becomes jobs: replay-feedback, predictsim or dynp; the options below "
        "change single rules.",
    ),
]
Size = Annotated[
    str | None,
    typer.Option("--size", metavar="requested|allocated", help="Processors of a job."),
]
Walltime = Annotated[
    str | None,
    typer.Option(
        "--walltime",
        metavar="requested|double|exact",
        help="Kill limit; double: max(request, 2 x run time); exact: none, policies are told the "
        "run time.",
    ),
]
Runtime = Annotated[
    str | None,
    typer.Option("--runtime", metavar="recorded|cut-at-request", help="Run time of a job."),
]
Drop = Annotated[
    str | None,
    typer.Option(
        "--drop",
        metavar="KIND,...",
        help="Jobs to leave out: zero-runtime, no-request, no-allocation, too-wide, cancelled, "
        "failed, no-user.",
    ),
]
UnknownUser = Annotated[
    str | None,
    typer.Option(
        "--unknown-user",
        metavar="one|each|drop",
        help="Jobs of unknown users: all of one user, each of its own, or left out.",
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="delay|parallel_homogeneous", help="What a job does in Batsim's terms."
    ),
]
First = Annotated[int | None, typer.Option("--first", metavar="N", help="Only the first N jobs.")]
SkipBadLines = Annotated[
    bool, typer.Option("--skip-bad-lines", help="Leave malformed lines out and count them.")
]
LogDirs = Annotated[
    list[Path] | None,
    typer.Option(
        "--log-dir",
        metavar="FOLDER",
        help="Folder to look for logs in first (repeatable; also the variable BATSCHED_LOGS).",
    ),
]
Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="SWF log (.swf, .swf.gz) or Batsim workload (.json): a file or a log's name.",
    ),
]
Nodes = Annotated[
    int | None,
    typer.Option("--nodes", help="Number of processors (default: the log's machine)."),
]
Backend = Annotated[
    str | None,
    typer.Option(
        "--backend",
        metavar="NAME",
        help="What simulates: embedded (default), batsim (the program), docker (its image), or "
        "socket (the embedded simulator as another process).",
    ),
]
Batsim = Annotated[
    str | None,
    typer.Option(
        "--batsim", metavar="COMMAND", help="Batsim's program or command line (--backend batsim)."
    ),
]
Timeouts = Annotated[
    str | None,
    typer.Option(
        "--timeouts",
        metavar="NAME=S,...",
        help="Seconds for another process as back end: ready, run, success, failure.",
    ),
]
WarmUp = Annotated[
    str | None,
    typer.Option(
        "--warm-up",
        metavar="TIME",
        help="Jobs submitted in so much time from the first submission on are not measured, such "
        "as '4 weeks'.",
    ),
]
CoolDown = Annotated[
    str | None,
    typer.Option("--cool-down", metavar="TIME", help="The same up to the last submission."),
]

_RULES: dict[str, Any] = {
    "rules": RulesPreset,
    "size": Size,
    "walltime": Walltime,
    "runtime": Runtime,
    "drop": Drop,
    "unknown_user": UnknownUser,
    "profile": Profile,
    "first": First,
}


def refuse_twice(name: str, user_options: dict[str, Any]) -> None:
    """Raise :class:`UsageError` if an option is given as -U too."""
    if name in user_options:
        raise UsageError(f"--{name} and -U {name}={user_options[name]}: give one of them")


def with_rules(command: Callable[..., None] | None = None, **defaults: str) -> Callable[..., Any]:
    """Give a command the options of the rules; it takes what they say as ``rules: Rules``.

    ``defaults`` are rules that the command has instead of the preset's, where none is given.
    """
    if command is None:
        return lambda decorated: with_rules(decorated, **defaults)

    @wraps(command)
    def wrapper(**arguments: Any) -> None:
        chosen = {name: arguments.pop(name) for name in _RULES}
        chosen |= {name: value for name, value in defaults.items() if chosen[name] is None}
        command(**arguments, rules=make_rules(chosen.pop("rules"), **chosen))

    own = get_type_hints(command, include_extras=True)
    parameters = [
        parameter.replace(annotation=own[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "rules"
    ]
    parameters += [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=annotation,
            default="replay-feedback" if name == "rules" else None,
        )
        for name, annotation in _RULES.items()
    ]
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
    return wrapper
