"""The options of policies and user models: reading them from the command line, and checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from math import inf, isfinite, isnan, nan
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from batsched_py.errors import InputError, UsageError, parameter
from batsched_py.support.file_readers import parse_json
from batsched_py.support.json_values import did_you_mean, is_number
from batsched_py.units import DAY, HOUR, MINUTE, WEEK

MOST_USERS = 100_000
"""Users that a model may make up: each takes some 5 kB, for a chance of its own."""
MOST_WEEKS = 10_000.0
"""Weeks that users may go on for: two centuries."""
_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?")
_SECONDS = r"(?P<s>\d{1,2}(?:\.\d+)?)"
_DAYS = re.compile(
    rf"(?P<d>\d{{1,7}})-(?P<h>\d{{1,9}})(?::(?P<m>\d{{1,2}})(?::{_SECONDS})?)?", re.ASCII
)
_HOURS = re.compile(rf"(?P<d>)(?:(?P<h>\d{{1,9}}):)?(?P<m>\d{{1,9}}):{_SECONDS}", re.ASCII)
L = TypeVar("L", bound=msgspec.Struct)
"""Limits with names."""


def one_of(option: str, value: Any, allowed: Iterable[str]) -> str:
    """Return ``value``, one of the texts ``allowed``; raises :class:`UsageError`."""
    names = list(allowed)
    if value not in names:
        hint = did_you_mean(str(value), names)
        raise UsageError(f"{option}={value}{hint}: expected one of {', '.join(names)}")
    return str(value)


def boolean(option: str, value: Any) -> bool:
    """Return ``value``, true or false; raises :class:`UsageError`."""
    if not isinstance(value, bool):
        raise UsageError(f"{option}={value}: expected true or false")
    return value


def number(option: str, value: Any, least: float, most: float = inf) -> float:
    """Return ``value``, a number from ``least`` to ``most``; raises :class:`UsageError`."""
    if not is_number(value) or not least <= value <= most:
        limits = f"at least {least:g}" if most == inf else f"from {least:g} to {most:g}"
        raise UsageError(f"{option}={value}: expected a number {limits}")
    return float(value)


def whole_number(option: str, value: Any, least: int, most: float = inf) -> int:
    """Return ``value``, a whole number from ``least`` to ``most``; raises :class:`UsageError`.

    A float such as 5.0 is one too.
    """
    if not is_number(value) or value != int(value) or not least <= value <= most:
        limits = f", at least {least}" if most == inf else f" from {least} to {most}"
        raise UsageError(f"{option}={value}: expected a whole number{limits}")
    return int(value)


def path(option: str, value: Any) -> Path:
    """Return ``value``, the path of a file or folder, not empty; raises :class:`UsageError`."""
    if not isinstance(value, str | Path) or not str(value):
        raise UsageError(
            f"{option}={value}: expected the path of a file or folder; a name that reads as a "
            "number is written with its folder, for example ./5"
        )
    return Path(value)


def finite(text: str) -> float:
    """Return the finite number that ``text`` says, nan if it says none."""
    try:
        value = float(text)
    except ValueError:
        return nan
    return value if isfinite(value) else nan


def parse_time(option: str, text: str | float | None) -> float:
    """Return a length of time in seconds: ``4 weeks``, ``1.5 h``, ``90 min``, ``7-00:00:00``.

    A number alone is seconds, None is 0. A text with ``:`` or ``-`` is read by
    :func:`slurm_time`. Raises :class:`UsageError` for a text that is no time of at least 0 s.
    """
    if not isinstance(text, str):
        return text or 0.0
    amount = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text.strip()[len(amount) :]
    value = finite(amount) * _UNITS.get(unit.removesuffix("s") or "s", nan)
    if isnan(value):
        value = slurm_time(text.strip())
    if not 0 <= value < inf:
        raise UsageError(
            f"{option} {text!r}: expected a time, such as '4 weeks', '90 min', '7-00:00:00' or 3600"
        )
    return value


def slurm_time(text: str) -> float:
    """Return a length of time in seconds, written as Slurm, PBS and OAR do; nan if it is none.

    The forms are days-hours, days-hours:minutes, days-hours:minutes:seconds, minutes:seconds and
    hours:minutes:seconds. Source: ``man sbatch``, option ``--time``.

    >>> slurm_time("1-12"), slurm_time("30:00"), slurm_time("7-00:00:00")
    (129600.0, 1800.0, 604800.0)
    """
    match = _DAYS.fullmatch(text) or _HOURS.fullmatch(text)
    if not match:
        return nan
    days, hours, minutes, seconds = (
        float(match.groupdict()[name] or 0) for name in ("d", "h", "m", "s")
    )
    return days * DAY + hours * HOUR + minutes * MINUTE + seconds


def time_of_day(option: str, text: Any) -> float:
    """Return the seconds since midnight of such as ``06:00``; raises :class:`UsageError`."""
    match = _CLOCK.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise UsageError(f"{option}: {text!r} is not a time of day such as 06:00")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    clock = hours * HOUR + minutes * MINUTE + seconds
    if clock > DAY:
        raise UsageError(f"{option}: {text!r} is after 24:00")
    return clock


def daily_window(option: str, begin: Any, end: Any) -> tuple[float, float]:
    """Return when a window of the day opens and closes, seconds since midnight.

    It closes later than it opens, the next day if it goes over midnight. Raises
    :class:`UsageError` for what is no time of day, and for a window of no length.
    """
    opens, closes = time_of_day(option, begin), time_of_day(option, end)
    if opens == closes or (opens == DAY and not closes):  # 24:00 is 0:00 of the next day
        raise UsageError(
            f"{option}: from {begin} to {end} is a window of no length; expected two different "
            "times of a day"
        )
    return opens, closes if closes > opens else closes + DAY


def named_limits(
    option: str, given: L | str | None, kind: type[L], times: Container[str] = ()
) -> L:
    """Return the limits of a ``kind``: ``ready=60,run=3600``, any of them; None: the defaults.

    Limits whose names are in ``times`` are in seconds or written as :func:`parse_time` reads them.
    Raises :class:`UsageError` for unknown names, and for limits that are not above 0.
    """
    if isinstance(given, str):
        given = _read_limits(f"{parameter(option)} {given}", given, kind, times)
    limits = kind() if given is None else given
    for name, value in msgspec.structs.asdict(limits).items():
        if not isinstance(value, float | int) or not value > 0:
            unit = "seconds" if name in times else "a number"
            raise UsageError(f"{parameter(option)} {name}={value}: expected {unit} above 0")
    return limits


def _read_limits(said: str, text: str, kind: type[L], times: Container[str]) -> L:
    limits: dict[str, float] = {}
    for part in text.split(",") if text else []:
        name, _, amount = part.strip().partition("=")
        if name in limits:
            raise UsageError(f"{said}: {name} was given twice")
        try:
            limits[name] = float(amount)
        except ValueError:
            if name in times:
                limits[name] = parse_time(f"{said}: {name}", amount)
                continue
            raise UsageError(f"{said}: {part!r}, expected NAME=NUMBER") from None
    try:
        return kind(**limits)
    except TypeError:
        names = ", ".join(kind.__struct_fields__)
        raise UsageError(f"{said}: expected some of {names}") from None


_UNITS = {
    **dict.fromkeys(("s", "sec", "second"), 1.0),
    **dict.fromkeys(("min", "minute"), MINUTE),
    **dict.fromkeys(("h", "hour"), HOUR),
    **dict.fromkeys(("d", "day"), DAY),
    **dict.fromkeys(("w", "week"), WEEK),
}


def fits(value: Any, kind: Any) -> bool:
    """Tell whether a value is of the kind that an annotation says; True for unknown annotations.

    A whole number is a number too, and 5.0 a whole one.
    """
    origin = get_origin(kind)
    if origin is Annotated:
        return fits(value, get_args(kind)[0])
    if origin is Literal:
        return value in get_args(kind)
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return isinstance(value, kind)
    is_of_kind, _ = _KINDS.get(origin or kind, (None, ""))
    return is_of_kind is None or is_of_kind(value)


def in_words(kind: Any) -> str:
    """Return what an annotation asks for, for a message."""
    origin = get_origin(kind)
    if origin is Annotated:
        return in_words(get_args(kind)[0])
    if origin is Literal:
        return " or ".join(map(repr, get_args(kind)))
    if origin in (Union, UnionType):
        return " or ".join(in_words(each) for each in get_args(kind))
    return _KINDS.get(origin or kind, (None, getattr(kind, "__name__", str(kind))))[1]


def _is_whole(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, Integral) and not isinstance(value, bool)


_KINDS: dict[Any, tuple[Callable[[Any], bool], str]] = {
    int: (_is_whole, "a whole number"),
    float: (lambda value: isinstance(value, Real) and not isinstance(value, bool), "a number"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
    str: (lambda value: isinstance(value, str | Path), "a text"),
    NoneType: (lambda value: value is None, "null"),
    list: (lambda value: isinstance(value, list | tuple), "a list"),
    dict: (lambda value: isinstance(value, Mapping), "an object"),
    Mapping: (lambda value: isinstance(value, Mapping), "names and values"),
}
"""Annotations that are checked: by what, and their names in messages."""
_POINT_AT_AN_END = re.compile(r"[+-]?([0-9]+\.|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""Numbers that JSON does not have."""


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
