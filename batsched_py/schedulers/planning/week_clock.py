"""The second of the week, and windows of the week such as prime time, nights or weekends."""

from __future__ import annotations

from typing import Any

from batsched_py.errors import UsageError
from batsched_py.options.durations import parse_daily_window, parse_time_of_day
from batsched_py.units import DAY, WEEK

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class WeekClock:
    """Converts simulated time to seconds of the week; time 0 is ``begins``, as ``"tue 08:15"``.

    Raises :class:`UsageError` for another format.
    """

    def __init__(self, begins: str) -> None:
        day, _, clock = str(begins).strip().lower().partition(" ")
        if day not in DAYS:
            raise UsageError(f"begins={begins}: expected such as 'tue 08:15'")
        time = parse_time_of_day("begins", clock.strip() or "00:00")
        self._begins = DAYS.index(day) * DAY + time

    def second(self, time: float) -> float:
        """Return the second of the week, from Monday 0:00 on, at ``time`` (seconds)."""
        return (self._begins + time) % WEEK


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
