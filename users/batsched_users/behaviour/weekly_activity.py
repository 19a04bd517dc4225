"""Activity cycles: the hours of the week in which a user works."""

from __future__ import annotations

from random import Random

import msgspec

from batsched_py.errors import UsageError
from batsched_py.options.option_values import number
from batsched_py.units import DAY, HOUR
from batsched_users.behaviour.calendar import Calendar

WEEKDAYS = frozenset(range(5))
"""Monday to Friday."""
WEEKEND = frozenset((5, 6))
"""Saturday and Sunday."""
MORNING = 7.5 * HOUR
"""Begin of the hours of day users, before the shift of each user: 7:30."""
EVENING = 17.5 * HOUR
"""End of the hours of day users, and begin of the hours of night users: 17:30."""
LONGEST_BREAK = 8 * HOUR
"""Seconds; longer gaps are nights and holidays, which activity cycles model."""

_MICROSECOND = 1e-6


class ActivityCycle(msgspec.Struct, frozen=True):
    """The hours in which a user works: one window a day, on some days of the week.

    The window is open from ``opens`` (included) to ``closes`` (not included). It crosses midnight
    if ``closes`` is not after ``opens``; it then belongs to the day on which it opens: a weekday
    night user works from Friday evening until Saturday morning, a weekend night user from Sunday
    evening until Monday morning. With ``closes == opens`` it lasts 24 hours.

    Raises :class:`UsageError` for a time outside [0, DAY), without days, and for a day not in 0..6.

    Source: Shmueli, Feitelson, TPDS 20(7), 2009 (activity cycles of Site-Sim), adapted by Zakay's
    thesis. Neither says to which day the night belongs.
    """

    opens: float
    """Seconds since midnight."""
    closes: float
    """Seconds since midnight."""
    days: frozenset[int] = frozenset(range(7))
    """Days on which the window opens, 0 for Monday to 6 for Sunday."""

    def __post_init__(self) -> None:
        for name in ("opens", "closes"):
            if not 0 <= number(name, getattr(self, name), 0) < DAY:
                raise UsageError(f"{name}={getattr(self, name)}: expected seconds below {DAY:g}")
        if not self.days or not self.days <= set(range(7)):
            raise UsageError(f"days={sorted(self.days)}: expected some of 0 (Monday) to 6 (Sunday)")

    @classmethod
    def draw(cls, random: Random) -> ActivityCycle:
        """Draw the activity cycle of one user, always with three numbers of ``random``.

        With probability 0.7 the user works from morning to evening, else from evening to morning;
        with 0.8 on Monday to Friday, else on Saturday and Sunday. The whole window is shifted by a
        uniform time of up to an hour, earlier or later.
        """
        by_day = random.random() < 0.7
        days = WEEKDAYS if random.random() < 0.8 else WEEKEND
        moved = random.uniform(-HOUR, HOUR)
        opens, closes = (MORNING, EVENING) if by_day else (EVENING, MORNING)
        # Whole seconds, whose sums are exact.
        return cls(round(opens + moved) % DAY, round(closes + moved) % DAY, days)

    def is_open(self, calendar: Calendar, time: float) -> bool:
        """Return whether ``time`` (seconds) is inside the hours of work."""
        since_midnight, today = calendar.time_of_day(time), calendar.weekday(time)
        if self.opens < self.closes:
            return self.opens <= since_midnight < self.closes and today in self.days
        if since_midnight >= self.opens:
            return today in self.days
        return since_midnight < self.closes and (today - 1) % 7 in self.days

    def next_opening(self, calendar: Calendar, time: float) -> float:
        """Return the next time from ``time`` on at which the user works; ``time`` itself if open.

        The window is open at the time returned. If rounding would put it just before the opening,
        it is a microsecond later.
        """
        if self.is_open(calendar, time):
            return time
        today = calendar.weekday(time)
        ahead = 0 if calendar.time_of_day(time) < self.opens else 1
        while (today + ahead) % 7 not in self.days:
            ahead += 1
        opening = max(time, calendar.midnight(time) + ahead * DAY + self.opens)
        return opening if self.is_open(calendar, opening) else opening + _MICROSECOND
