"""Units of time in seconds: inside the package, all times are seconds."""

from __future__ import annotations

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


def choose_unit(span: float) -> str:
    """Return the name of the unit in :data:`UNITS` that suits a span of time (seconds)."""
    return next((name for name, least in _FROM.items() if span >= least), "seconds")
