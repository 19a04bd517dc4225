"""Calls of Batsim 5 at fractions of a millisecond: the id of a call holds the exact time."""

from __future__ import annotations

from contextlib import suppress
from math import floor

from batsched_py.units import LATEST_TIME

_EXACT = "at "
"""How an id with the exact time of a call begins."""


def make_exact_id(time: float) -> str:
    """Return the id of a call at ``time`` (seconds), which holds the time with all digits.

    Batsim 5 takes whole milliseconds, and repeats the id when it calls.
    """
    return f"{_EXACT}{time!r}"


def read_exact_time(call_id: str | None) -> float | None:
    """Return the exact time (seconds) that the id of a call holds, None if it holds none."""
    if call_id is not None and call_id.startswith(_EXACT):
        with suppress(ValueError):
            time = float(call_id.removeprefix(_EXACT))
            return time if 0 <= time <= LATEST_TIME else None
    return None


def round_down_to_milliseconds(time: float) -> int:
    """Round ``time`` (seconds) down to a whole millisecond."""
    count = floor(time * 1000)
    while count / 1000 > time:
        count -= 1
    while (count + 1) / 1000 <= time:
        count += 1
    return count
