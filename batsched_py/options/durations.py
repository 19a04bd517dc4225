"""Reads and writes lengths of time and times of day."""

from __future__ import annotations

import re
from itertools import pairwise
from math import inf, isnan, nan
from typing import Annotated, Any

from msgspec import Meta

from batsched_py.errors import UsageError
from batsched_py.options.option_values import finite
from batsched_py.units import DAY, HOUR, MINUTE, SYMBOLS, UNITS, WEEK, choose_unit

Duration = Annotated[
    float | str, Meta(description="a time, such as 7 days, 90 min or 7-00:00:00, or seconds")
]
"""The type of an option that :func:`parse_time` reads, with its help."""
_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?")
_SECONDS = r"(?P<s>\d{1,2}(?:\.\d+)?)"
_DAYS = re.compile(
    rf"(?P<d>\d{{1,7}})-(?P<h>\d{{1,9}})(?::(?P<m>\d{{1,2}})(?::{_SECONDS})?)?", re.ASCII
)
_HOURS = re.compile(rf"(?P<d>)(?:(?P<h>\d{{1,9}}):)?(?P<m>\d{{1,9}}):{_SECONDS}", re.ASCII)
_UNITS = {
    **dict.fromkeys(("s", "sec", "second"), 1.0),
    **dict.fromkeys(("min", "minute"), MINUTE),
    **dict.fromkeys(("h", "hour"), HOUR),
    **dict.fromkeys(("d", "day"), DAY),
    **dict.fromkeys(("w", "week"), WEEK),
}


def parse_time(option: str, text: str | float | None) -> float:
    """Return a length of time in seconds: ``4 weeks``, ``1.5 h``, ``90 min``, ``7-00:00:00``.

    A number alone is seconds, None is 0. A text with ``:`` or ``-`` is read by
    :func:`parse_slurm_time`. Raises :class:`UsageError` for a text that is no time of at least 0 s.
    """
    if not isinstance(text, str):
        return text or 0.0
    amount = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text.strip()[len(amount) :]
    value = finite(amount) * _UNITS.get(unit.removesuffix("s") or "s", nan)
    if isnan(value):
        value = parse_slurm_time(text.strip())
    if not 0 <= value < inf:
        raise UsageError(
            f"{option} {text!r}: expected a time, such as '4 weeks', '90 min', '7-00:00:00' or 3600"
        )
    return value


def parse_slurm_time(text: str) -> float:
    """Return a length of time in seconds, written as Slurm, PBS and OAR do; nan if it is none.

    The forms are days-hours, days-hours:minutes, days-hours:minutes:seconds, minutes:seconds and
    hours:minutes:seconds. Source: ``man sbatch``, option ``--time``.

    >>> parse_slurm_time("1-12"), parse_slurm_time("30:00"), parse_slurm_time("7-00:00:00")
    (129600.0, 1800.0, 604800.0)
    """
    match = _DAYS.fullmatch(text) or _HOURS.fullmatch(text)
    if not match:
        return nan
    days, hours, minutes, seconds = (
        float(match.groupdict()[name] or 0) for name in ("d", "h", "m", "s")
    )
    return days * DAY + hours * HOUR + minutes * MINUTE + seconds


def parse_time_of_day(option: str, text: Any) -> float:
    """Return a time of day, ``06:00``, as seconds since midnight; raises :class:`UsageError`."""
    match = _CLOCK.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise UsageError(f"{option}: {text!r} is not a time of day such as 06:00")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    clock = hours * HOUR + minutes * MINUTE + seconds
    if clock > DAY:
        raise UsageError(f"{option}: {text!r} is after 24:00")
    return clock


def parse_daily_window(option: str, begin: Any, end: Any) -> tuple[float, float]:
    """Return when a window of the day opens and closes, seconds since midnight.

    It closes later than it opens, the next day if it goes over midnight. Raises
    :class:`UsageError` for what is no time of day, and for a zero-length window.
    """
    opens, closes = parse_time_of_day(option, begin), parse_time_of_day(option, end)
    if opens == closes or (opens == DAY and not closes):  # 24:00 is 0:00 of the next day
        raise UsageError(
            f"{option}: from {begin} to {end} is a zero-length window; expected two different "
            "times of a day"
        )
    return opens, closes if closes > opens else closes + DAY


def format_duration(seconds: float) -> str:
    """Return a length of time in a readable unit, with three digits; ``-`` for nan.

    >>> format_duration(5400)
    '1.5 h'
    """
    if isnan(seconds):
        return "-"
    unit = choose_unit(abs(seconds))
    return f"{seconds / UNITS[unit]:.3g} {SYMBOLS[unit]}"


def format_exact_duration(seconds: float) -> str:
    """Return a length of time in its two largest units; with the seconds beyond a minute.

    >>> format_exact_duration(5400)
    '1 h 30 min (5400 s)'
    """
    if seconds == inf:
        return "an unknown time"
    if seconds < MINUTE:
        return f"{seconds:.6g} s"
    unit, smaller = next(pair for pair in pairwise(UNITS) if seconds >= UNITS[pair[0]])
    whole, rest = divmod(seconds, UNITS[unit])
    part = int(rest // UNITS[smaller])
    more = f" {part} {SYMBOLS[smaller]}" if part else ""
    return f"{int(whole)} {SYMBOLS[unit]}{more} ({seconds:.15g} s)"
