"""Calls of Batsim 5 at fractions of a millisecond: the exact time is in the id of the call."""

from __future__ import annotations

from contextlib import suppress
from math import floor

_EXACT = "at "
"""How an id with the exact time of a call begins."""


def exact_id(time: float) -> str:
    """Return an id for a call at ``time`` (seconds), which holds it with all digits.

    Batsim 5 takes whole milliseconds, and repeats the id when it calls.
    """
    return f"{_EXACT}{time!r}"


def exact_time(call_id: str | None) -> float | None:
    """Return the time (seconds) in the id of a call, None if there is none."""
    if call_id is not None and call_id.startswith(_EXACT):
        with suppress(ValueError):
            return float(call_id.removeprefix(_EXACT))
    return None


def milliseconds_down(time: float) -> int:
    """Return the last whole millisecond that is not after ``time`` (seconds)."""
    count = floor(time * 1000)
    while count / 1000 > time:
        count -= 1
    while (count + 1) / 1000 <= time:
        count += 1
    return count
