"""A calendar that converts simulated seconds to weekdays, times of day and weeks."""

from __future__ import annotations

from math import floor

import msgspec

from batsched_py.units import DAY, WEEK
from batsched_py.workload import Workload
from batsched_py.workload.logs.clock import Clock


class Calendar(msgspec.Struct, frozen=True):
    """Converts seconds of a simulation to times of the week.

    Weeks begin on Monday at 0:00. Summer time is ignored: the clock keeps the offset that it has at
    second 0, so that a shift by whole weeks keeps weekday and time of day exactly.
    """

    at_origin: float = 0.0
    """Time of the week at second 0, in seconds from Monday 0:00, [0, WEEK)."""
    known: bool = True
    """Whether ``at_origin`` is known; else second 0 is taken as Monday 0:00."""
    zone: str = "UTC"
    """Time zone of the clock: a name, or an offset such as ``+01:00``."""

    @classmethod
    def of(cls, workload: Workload) -> Calendar:
        """Return the calendar of a log; if its start is unknown, second 0 is Monday 0:00."""
        return cls.of_clock(workload.unix_start_time, workload.time_zone)

    @classmethod
    def of_clock(cls, start: float | None, zone: str = "UTC") -> Calendar:
        """Return the calendar for a Unix time of second 0 and a time zone.

        ``zone`` is a name or an offset such as ``+01:00``; for anything else, raises
        :class:`batsched_py.errors.InputError`. With ``start`` None, the time is unknown, see
        :attr:`known`.
        """
        if start is None:
            return cls(known=False, zone=zone)
        return cls(Clock(start, zone).at_origin, zone=zone)

    def time_of_week(self, time: float) -> float:
        """Return the seconds since the last Monday 0:00, in [0, WEEK)."""
        return (time + self.at_origin) % WEEK

    def time_of_day(self, time: float) -> float:
        """Return the seconds since midnight, in [0, DAY)."""
        return (time + self.at_origin) % DAY

    def weekday(self, time: float) -> int:
        """Return the day of the week, 0 for Monday to 6 for Sunday."""
        return int(self.time_of_week(time) // DAY)

    def midnight(self, time: float) -> float:
        """Return the second at which the day of ``time`` began; it may be before second 0."""
        return time - self.time_of_day(time)

    @property
    def first_week(self) -> float:
        """Begin of week 0 in seconds: the first Monday 0:00 at or after second 0."""
        return (-self.at_origin) % WEEK

    def week(self, time: float) -> int:
        """Return the number of the week of ``time``; -1 is the partial week before week 0."""
        return floor((time - self.first_week) / WEEK)

    def week_start(self, number: int) -> float:
        """Return the second at which week ``number`` begins."""
        return self.first_week + number * WEEK
