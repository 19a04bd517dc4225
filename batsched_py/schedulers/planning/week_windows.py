"""The clock of the week, and windows of it such as prime time, nights or weekends."""

from __future__ import annotations

from typing import Any

from batsched_py.errors import UsageError
from batsched_py.options.durations import parse_daily_window, parse_time_of_day
from batsched_py.units import DAY, WEEK
from batsched_py.workload.logs.clock import A_MONDAY, Clock

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def parse_begins(begins: str) -> Clock:
    """Return a clock that shows ``begins``, such as ``tue 08:15``, at second 0.

    Raises :class:`UsageError` for another format.
    """
    day, _, time = str(begins).strip().lower().partition(" ")
    if day not in DAYS:
        raise UsageError(f"begins={begins}: expected such as 'tue 08:15'")
    since = parse_time_of_day("begins", time.strip() or "00:00")
    return Clock(A_MONDAY + DAYS.index(day) * DAY + since)


class Windows:
    """Windows of the week: on some ``days``, from one time of day to another.

    They pass midnight if the end is not later. The :class:`UsageError` for wrong values names
    ``option``.
    """

    def __init__(self, days: Any, begin: Any, end: Any, option: str) -> None:
        opens, closes = parse_daily_window(option, begin, end)
        self._length = closes - opens
        self._begins = [day * DAY + opens for day in _days(days, option)]

    def seconds_left(self, second: float) -> float:
        """Return how many seconds after ``second`` of the week the window ends; 0 outside."""
        for begin in self._begins:
            inside = (second - begin) % WEEK
            if inside < self._length:
                return self._length - inside
        return 0.0


def _days(text: Any, option: str) -> list[int]:
    days: list[int] = []
    for part in str(text).lower().replace(" ", "").split(","):
        first, _, last = part.partition("-")
        if first not in DAYS or (last or first) not in DAYS:
            raise UsageError(f"{option}: days {text!r}: expected such as 'mon-fri' or 'sat,sun'")
        begin, end = DAYS.index(first), DAYS.index(last or first)
        days += [day % 7 for day in range(begin, end + 1 if end >= begin else end + 8)]
    return days
