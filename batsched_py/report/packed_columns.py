"""Tables for the page's script: by column, each value once where they repeat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from batsched_py.report.formatting import is_nothing
from batsched_py.support.file_readers import parse_json

_EXACT = 2**53
DIGITS = 6
"""Significant digits of a number in the page; the CSV files have all."""


def packed(values: Sequence[Any]) -> dict[str, Any]:
    """Return a column as ``{"v": values}``, or ``{"u": different values, "i": which of them}``.

    Numbers keep six significant digits. A setting that is the same for all runs costs one value.
    """
    plain = [_plain(value) for value in values]
    unique: dict[Any, int] = {}
    which = [unique.setdefault(msgspec.json.encode(value), len(unique)) for value in plain]
    different = [parse_json(key, Any, "a value") for key in unique]
    if len(different) == 1:
        return {"u": different, "n": len(plain)}
    if len(different) * 2 > len(plain):
        return {"v": plain}
    return {"u": different, "i": which}


def words(texts: Iterable[str]) -> dict[str, Any]:
    """Return texts whose words repeat (commands) as lists of word numbers."""
    places: dict[str, int] = {}
    lines = [[places.setdefault(word, len(places)) for word in text.split(" ")] for text in texts]
    return {"words": list(places), "lines": lines}


def rounded(value: float) -> float | int:
    """Return a number with six significant digits, as an integer if it is one with few digits."""
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e100 else short


def _plain(value: Any) -> Any:
    if is_nothing(value):
        return None
    if hasattr(value, "item"):  # a scalar of numpy
        value = value.item()
    if isinstance(value, int) and abs(value) > _EXACT:
        return str(value)  # a seed, say: JavaScript would round it
    if isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return rounded(value) if abs(value) != float("inf") else str(value)
    return str(value)
