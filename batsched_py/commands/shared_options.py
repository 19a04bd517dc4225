"""Options that several commands share, made from the fields of settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args, get_type_hints

import msgspec
import typer

from batsched_py.options.setting_fields import SettingField, parse_options
from batsched_py.run.settings import SETTINGS, SINGLE_RULES, Settings


def option(field: SettingField, group: str | None = None) -> Any:
    """Return the Typer option of a setting, under the heading ``group``."""
    return typer.Option(
        *field.flags,
        metavar=field.setting.metavar,
        help=field.help,
        rich_help_panel=group,
        show_default=False,
    )


def seconds_to_wait(flag: str, help: str) -> Any:
    """Return an option for a time limit in seconds, at least 0."""

    def a_number(value: float) -> float:
        if value != value:  # which no range excludes
            raise typer.BadParameter(f"{value} is not a number of seconds")
        return value

    return typer.Option(flag, metavar="S", help=help, min=0, callback=a_number)


LogDirs = Annotated[
    list[Path] | None,
    typer.Option(
        "--log-dir",
        metavar="FOLDER",
        help="Folder that is searched for logs first; repeatable, also the variable BATSCHED_LOGS.",
    ),
]
Input = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="Log (.swf, .swf.gz) or Batsim workload (.json): a file or a name of `logs list`.",
    ),
]
SkipBadLines = Annotated[bool, option(SETTINGS["skip_bad_lines"])]
Nodes = Annotated[int | None, option(SETTINGS["nodes"])]
Sites = Annotated[str | None, option(SETTINGS["sites"])]
Budgets = Annotated[str | None, option(SETTINGS["budgets"])]
SchedulerOptions = Annotated[list[str] | None, option(SETTINGS["scheduler_options"])]

Prefix = Annotated[
    str,
    typer.Option(
        "-e", "--export", help="Prefix of the names of the output files.", metavar="PREFIX"
    ),
]

RULES = ("rules", *SINGLE_RULES)
_Command = Callable[..., None]


def with_fields(
    argument: str, make: Callable[..., Any], fields: Iterable[SettingField], **defaults: Any
) -> Callable[[_Command], _Command]:
    """Replace an ``argument`` of a command by options; ``make`` makes its value from theirs.

    ``defaults`` are those that the command has instead of the fields', where none is given.
    """
    chosen = [
        msgspec.structs.replace(field, default=defaults.get(field.name, field.default))
        for field in fields
    ]
    options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[_typed_in(field), option(field, field.setting.group)],
            default=None if field.is_table else field.default,
        )
        for field in chosen
    ]

    def decorate(command: _Command) -> _Command:
        @wraps(command)
        def wrapper(**arguments: Any) -> None:
            values = {field.name: arguments.pop(field.name) for field in chosen}
            for field in chosen:
                if field.is_table:
                    values[field.name] = parse_options(values[field.name] or [], field.flags[-1])
            command(**arguments, **{argument: make(**values)})

        hints = get_type_hints(command, include_extras=True)
        own = [
            parameter.replace(annotation=hints[name])
            for name, parameter in inspect.signature(command).parameters.items()
            if name != argument
        ]
        parameters = sorted([*options, *own], key=lambda parameter: parameter.kind)
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
        return wrapper

    return decorate


def with_settings(*names: str, **defaults: Any) -> Callable[[_Command], _Command]:
    """Give a command the options of settings (none named: all), as ``settings: Settings``."""
    fields = [SETTINGS[name] for name in names or SETTINGS]
    return with_fields("settings", Settings, fields, **defaults)


def with_rules(command: _Command | None = None, **defaults: str) -> Callable[..., Any]:
    """Add the options of the rules to a command, which gets them as ``rules: Rules``.

    ``defaults`` are rules that the command has instead of the preset's, where none is given.
    """
    if command is None:
        return lambda decorated: with_rules(decorated, **defaults)

    def rules(**values: Any) -> Any:
        given = {name: value for name, value in values.items() if value is not None}
        return Settings(**{**defaults, **given}).run().rules

    return with_fields("rules", rules, [SETTINGS[name] for name in RULES])(command)


def _typed_in(field: SettingField) -> Any:
    """Return the type of a field as a command line has it: text, where it may be one."""
    if field.is_table:
        return list[str] | None
    kinds = get_args(field.kind) if isinstance(field.kind, UnionType) else (field.kind,)
    if str not in kinds:
        return field.kind
    return str | None if type(None) in kinds else str
