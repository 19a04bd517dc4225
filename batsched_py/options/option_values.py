"""Checks that the constructors of policies and user models apply to their options."""

from __future__ import annotations

from math import inf, isfinite, nan
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from batsched_py.errors import UsageError
from batsched_py.support.json_values import did_you_mean, is_number

MOST_USERS = 100_000
"""Users that a model may make up: each takes some 5 kB, for a chance of its own."""
MOST_WEEKS = 10_000.0
"""Weeks that users may go on for: two centuries."""


def one_of(option: str, value: Any, allowed: Any) -> str:
    """Return ``value``, one of the texts ``allowed``; raises :class:`UsageError`.

    ``allowed`` are texts, or a ``Literal`` of them, which may be annotated.
    """
    names = list(find_choices(allowed) or allowed)
    if value not in names:
        hint = did_you_mean(str(value), names)
        raise UsageError(f"{option}={value}{hint}: expected one of {', '.join(names)}")
    return str(value)


def find_choices(type: Any) -> tuple[Any, ...]:
    """Return the values of a ``Literal``, which may be annotated; none of other types."""
    if get_origin(type) is Annotated:
        type = get_args(type)[0]
    return get_args(type) if get_origin(type) is Literal else ()


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
    """Read a finite number from a text; nan if it is none."""
    try:
        value = float(text)
    except ValueError:
        return nan
    return value if isfinite(value) else nan
