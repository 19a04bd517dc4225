"""Settings as fields of a Struct, each with its help and its flags on the command line."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from batsched_py.errors import InputError, UsageError, parameter
from batsched_py.files.readers import parse_json
from batsched_py.options.budgets import Budgets
from batsched_py.options.checked_values import convert
from batsched_py.options.durations import parse_time
from batsched_py.support.json_values import whole

_POINT_AT_AN_END = re.compile(r"[+-]?([0-9]+\.|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""Numbers that JSON does not have."""


TIME = "a time such as '4 weeks', '36 h' or 7-00:00:00, or seconds"
"""The allowed values of a length of time, in words."""
L = TypeVar("L", bound=msgspec.Struct)
"""Limits with names."""


class Setting(msgspec.Struct, frozen=True):
    """Help and flags of a setting, given by ``Annotated`` at its field."""

    help: str
    """A sentence."""
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    """On the command line; none: ``--`` and the name of the field, with hyphens."""
    group: str | None = None
    """Heading under which a help has it."""
    values: str = ""
    """The allowed values in words, where ``metavar`` does not list them."""
    default: str = ""
    """What counts if the option is not given, where None stands for it."""


class SettingField(msgspec.Struct, frozen=True):
    """A field of a Struct that is a setting."""

    name: str
    kind: Any
    """Its type."""
    default: Any
    setting: Setting

    @property
    def flags(self) -> tuple[str, ...]:
        """Its flags on the command line."""
        return self.setting.flags or (f"--{self.name.replace('_', '-')}",)

    @property
    def help(self) -> str:
        """Its sentence, allowed values and default, for the help of a command."""
        values = self.setting.values
        parts = [self.setting.help, values and f"Allowed: {values}."]
        if self.shown_default:
            parts.append(f"[default: {self.shown_default}]")
        return " ".join(filter(None, parts))

    @property
    def shown_default(self) -> str:
        """Its default in words; empty for a switch and where nothing counts."""
        if self.default is None:
            return self.setting.default
        if isinstance(self.default, bool | dict | list):
            return ""
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)

    @property
    def is_table(self) -> bool:
        """Whether it is a table, whose keys and values are set one by one."""
        return isinstance(self.default, dict)


def setting_fields(struct: type[msgspec.Struct]) -> dict[str, SettingField]:
    """Return the fields of ``struct`` that are settings, by name and in their order."""
    hints = get_type_hints(struct, include_extras=True)
    return {
        field.name: SettingField(
            field.name, get_args(hints[field.name])[0], _default(field), setting
        )
        for field in msgspec.structs.fields(struct)
        for setting in getattr(hints[field.name], "__metadata__", ())
        if isinstance(setting, Setting)
    }


def convert_settings(
    fields: Mapping[str, SettingField], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Convert values to the types of their fields; 5.0 may be a whole number.

    Raises :class:`UsageError` for a value of another type than its field has.
    """
    return {
        name: convert(value, fields[name].kind, parameter(name), UsageError)
        for name, value in values.items()
    }


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def arguments(
    fields: Mapping[str, SettingField], values: Mapping[str, Any], *, as_json: bool = False
) -> list[str]:
    """Return the arguments of a command line that give ``values`` by the names of ``fields``.

    What is None or false is left out. ``as_json`` writes every value of a table as JSON, which is
    else done only where a text would be read as something else.
    """
    parts: list[str] = []
    for name, value in values.items():
        flag = fields[name].flags[-1]
        if fields[name].is_table:
            for key, item in value.items():
                parts += (flag, f"{key}={format_json(item) if as_json else _plain(item)}")
        elif value is True:
            parts.append(flag)
        elif value is not None and value is not False:
            parts += (flag, str(value))
    return parts


def _plain(value: Any) -> str:
    """Return a value as the command line takes it: a text that looks like JSON is quoted."""
    if isinstance(value, str):
        try:
            parse_json(value, Any, value)
        except InputError:
            return value
    return format_json(value)


def format_json(value: Any) -> str:
    """Return the value of an option as JSON; raises :class:`UsageError` if that cannot hold it."""
    try:
        return msgspec.json.encode(value).decode()
    except TypeError as error:
        raise UsageError(
            f"an option of {value!r} cannot be given to another process: {error}"
        ) from None


def parse_options(texts: Sequence[str], flag: str) -> dict[str, Any]:
    """Read ``key=value`` options: numbers, true/false, null and JSON as such, all else as text.

    Raises :class:`UsageError` for what has no ``=`` and for a key given twice.
    """
    options: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (equals and key):
            raise UsageError(f"{flag} {text!r}: expected {flag} key=value")
        if key in options:
            raise UsageError(f"{flag} {key} was given twice")
        try:
            options[key] = parse_json(value, Any, text)
        except InputError:
            options[key] = float(value) if _POINT_AT_AN_END.fullmatch(value) else value
    return options


def parse_budgets(budgets: Budgets | str | None) -> Budgets:
    """Read budgets such as ``decisions=5000,jobs=inf``; raises :class:`UsageError`."""
    return parse_limits("budgets", budgets, Budgets, times=["idle_time"])


def parse_limits(
    option: str, limits: L | str | None, kind: type[L], times: Container[str] = ()
) -> L:
    """Return limits of a ``kind``, such as ``ready=60,run=3600``; None: the defaults.

    Limits whose names are in ``times`` are in seconds or written as
    :func:`~batsched_py.options.durations.parse_time` reads them. Raises :class:`UsageError` for
    unknown names, and for values that the ``kind`` does not allow.
    """
    where = parameter(option)
    if limits is None:
        return kind()
    if isinstance(limits, str):
        values: dict[str, Any] = {}
        for part in limits.split(",") if limits else []:
            name, equals, amount = part.strip().partition("=")
            if name in values or not equals:
                problem = "was given twice" if name in values else "expected NAME=NUMBER"
                raise UsageError(f"{where} {limits}: {name} {problem}")
            values[name] = _read_amount(f"{where} {name}", amount, is_time=name in times)
    else:
        values = msgspec.structs.asdict(limits)
    return convert(values, kind, where, UsageError)


def _read_amount(where: str, amount: str, *, is_time: bool) -> Any:
    try:
        return whole(float(amount))
    except ValueError:
        return parse_time(where, amount) if is_time else amount
