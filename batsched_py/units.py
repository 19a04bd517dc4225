"""Units of time and memory: inside the package, all times are seconds, and memory is MiB."""

from __future__ import annotations

import re

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY
MONTH = 30 * DAY
"""As the papers count: 30 days."""

LATEST_TIME = 1e10
"""The latest simulated time and the longest run time, in seconds: about 317 years.

A float there still resolves 2 microseconds, and a clock in milliseconds since 1970 is beyond it.
"""
LATE = 1e-3
"""Seconds by which an event may come at another time than expected: Batsim's clock has six
decimals, and the events of one instant may arrive one after the other."""
UP_TO_LATEST_TIME = f"seconds up to {LATEST_TIME:g} (317 years)"
"""What is expected of a time, for messages."""

UNITS = {"days": DAY, "hours": HOUR, "minutes": MINUTE, "seconds": 1.0}
"""Units in which times are shown, the longest first, by their names in sentences."""
SYMBOLS = {"days": "d", "hours": "h", "minutes": "min", "seconds": "s"}
"""What stands behind a number or in brackets."""
_FROM = {"days": 3 * DAY, "hours": HOUR, "minutes": 2 * MINUTE}

_MEMORY = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?([KMGTP])(?:i?B)?", re.IGNORECASE | re.ASCII)
_MEBIBYTES = {"K": 2.0**-10, "M": 1, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}


def choose_unit(span: float) -> str:
    """Return the name of the unit in :data:`UNITS` that suits a span of time (seconds)."""
    return next((name for name, least in _FROM.items() if span >= least), "seconds")


def parse_mebibytes(text: str) -> float:
    """Return the MiB in a text such as ``512 GiB`` or ``64gb``, whose units are powers of 1024.

    Raises :class:`ValueError` for another text.

    >>> parse_mebibytes("1.5 GiB")
    1536.0
    """
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        raise ValueError
    return float(match[1]) * _MEBIBYTES[match[2].upper()]
