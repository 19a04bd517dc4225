"""Checks, copies and prints values of JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from itertools import chain
from math import isfinite
from types import NoneType
from typing import Any, TypeGuard

_EXACT = 2**53  # beyond, floats have no odd numbers, and an integer would claim digits
_MOST_BITS = 1023  # of an integer that a float can hold, nearly
_SCALARS = frozenset((str, int, float, bool, NoneType))


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint such as ``" (did you mean 'easy'?)"`` if a name is similar, else ``""``."""
    close = get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def whole(number: float) -> float | int:
    """Return a whole number as an integer, so that JSON shows it without ``.0``."""
    return int(number) if abs(number) < _EXACT and number == int(number) else number


def is_integer(value: Any) -> TypeGuard[int]:
    """Return whether a value of JSON is an integer."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a value is a number that a float can hold: JSON has integers of any size."""
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value.bit_length() <= _MOST_BITS
    return False


def quote(value: Any) -> str:
    """Return the repr of a value for a message, at most 60 characters."""
    try:
        text = "missing" if value is None else repr(value)
    except (ValueError, RecursionError):  # of some thousand digits or levels
        text = f"a value of type {type(value).__name__} that is too long to be shown"
    return text if len(text) <= 60 else f"{text[:57]}..."


def copy_containers(value: Any) -> Any:
    """Copy the dicts and lists of a value, also inner ones; other objects are shared."""
    if isinstance(value, dict):
        return {key: copy_containers(inner) for key, inner in value.items()}
    return [copy_containers(inner) for inner in value] if isinstance(value, list) else value


def make_copier(dicts: Iterable[dict[str, Any]]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that copies these dicts as :func:`copy_containers`, as fast as possible."""
    values = chain.from_iterable(map(dict.values, filter(None, dicts)))
    return dict.copy if is_plain(values) else copy_containers


def is_plain(values: Iterable[Any]) -> bool:
    """Return whether all values are strings, numbers, booleans or None."""
    return _SCALARS.issuperset(map(type, values))


def to_python(value: Any) -> Any:
    """Convert numpy's numbers and arrays in a value to Python's, also inner ones."""
    if type(value) in _SCALARS:
        return value
    if type(value) is dict and is_plain(value.values()) and is_plain(value):  # mostly
        return value.copy()
    if isinstance(value, Mapping):
        return {to_python(key): to_python(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_python(inner) for inner in value]
    return value.tolist() if hasattr(type(value), "tolist") else value
