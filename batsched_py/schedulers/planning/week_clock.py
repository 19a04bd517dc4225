"""Windows of the week by the clock: in prime time, at night, at the weekend, ..."""

from __future__ import annotations

from typing import Any

from batsched_py.errors import UsageError
from batsched_py.options.durations import parse_daily_window, parse_time_of_day
from batsched_py.units import DAY, WEEK

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class WeekClock:
    """Which second of the week it is. ``begins`` is what clocks show at 0: ``"tue 08:15"``.

    Raises :class:`UsageError` for what is no such moment.
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
    """On some ``days`` from one time of day to another; over midnight if that is not later.

    ``option`` is named by the :class:`UsageError` for what is wrong.
    """

    def __init__(self, days: Any, begin: Any, end: Any, option: str) -> None:
        opens, closes = parse_daily_window(option, begin, end)
        self._length = closes - opens
        self._begins = [day * DAY + opens for day in _days(days, option)]

    def rest(self, second: float) -> float:
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
