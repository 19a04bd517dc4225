"""The clock of a log: converts its seconds to dates, hours and weekdays."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from batsched_py.errors import InputError
from batsched_py.units import DAY, HOUR, MINUTE, WEEK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from batsched_py.workload.logs.swf import SwfLog
    from batsched_py.workload.workload import Workload

LATEST = 9e9
"""Unix time of the last second 0 of a log, in the year 2255: calendars of tables end in 2262."""
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
A_MONDAY = 4 * DAY
"""Unix time of a Monday 0:00."""


class Clock:
    """The clock of a log: the date, weekday and hour at each second of a simulation.

    A policy finds it as ``machine.clock``. ``unix_start_time`` is the Unix time of second 0
    (seconds). If it is None, second 0 is taken as a Monday 0:00, and :attr:`known` is False.
    ``time_zone`` is a name, with its summer time, or an offset such as ``+01:00``. Raises
    :class:`InputError` for an unknown zone, and for times beyond the calendar.

    Example: second 0 of the log KTH-SP2 is Monday, 1996-09-23, 14:00:31.

        >>> clock = Clock(843_480_031, "Europe/Stockholm")
        >>> clock.weekday(0), round(clock.hour(3600), 2)
        (0, 15.01)
        >>> clock.date(86_400).isoformat()
        '1996-09-24T14:00:31+02:00'
    """

    __slots__ = ("_start", "_zone", "at_origin", "known")

    def __init__(self, unix_start_time: float | None = None, time_zone: str = "UTC") -> None:
        self.known = unix_start_time is not None
        """Whether the moment of second 0 is known."""
        self._start = A_MONDAY if unix_start_time is None else unix_start_time
        self._zone = parse_time_zone(time_zone if self.known else "UTC")
        self.at_origin = (self._since_monday(0.0) % timedelta(days=7)).total_seconds()
        """The time of the week at second 0: seconds from Monday 0:00, at least 0."""

    @classmethod
    def of(cls, workload: Workload | None) -> Clock:
        """Return the clock of a workload; unknown without one."""
        return cls() if workload is None else cls(workload.unix_start_time, workload.time_zone)

    def date(self, now: float) -> datetime:
        """Return the local date and time of day at ``now`` (seconds)."""
        return _find_date(self._start + now, self._zone)

    def weekday(self, now: float) -> int:
        """Return the day of the week at ``now`` (seconds): 0 for Monday to 6 for Sunday."""
        return self.date(now).weekday()

    def hour(self, now: float) -> float:
        """Return the hours since midnight at ``now`` (seconds), from 0 to below 24."""
        return (self._since_monday(now) % timedelta(days=1)).total_seconds() / HOUR

    def time_of_week(self, time: float) -> float:
        """Return the seconds since the last Monday 0:00 if there were no summer time.

        The clock keeps the offset of second 0, so that all weeks are alike.
        """
        return (self.at_origin + time) % WEEK

    def _since_monday(self, now: float) -> timedelta:
        """Return the time on the local clock since some Monday 0:00."""
        return self.date(now).replace(tzinfo=None) - datetime(1970, 1, 5)


def find_clock(log: SwfLog) -> tuple[float | None, str, str]:
    """Return the Unix time of second 0 (None if unknown), the time zone, and a sentence on them.

    The zone is that of TimeZoneString if there is one of that name, else the fixed offset
    TimeZone (seconds), else UTC.
    """
    start = _number(log.header_field("UnixStartTime"))
    name = log.header_field("TimeZoneString")
    offset = _number(log.header_field("TimeZone"))
    origin = "" if start is not None else "; UnixStartTime is unknown, so weekdays are unknown"
    if name and _exists(name):
        return start, name, f"clock time is that of {name} (TimeZoneString){origin}"
    wrong = f" ({name!r} in TimeZoneString is not a known zone)" if name else ""
    if offset is not None and abs(offset) < DAY:
        zone = _fixed(offset)
        return start, zone, f"clock time has the fixed offset {zone} (TimeZone){wrong}{origin}"
    return start, "UTC", f"clock time is UTC: the log has no time zone{wrong}{origin}"


def parse_time_zone(time_zone: str) -> tzinfo:
    """Return the zone of a name or of an offset such as ``+01:00``; raises InputError."""
    if match := _OFFSET.fullmatch(time_zone):
        minutes = int(match[2]) * 60 + int(match[3])
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    if not _exists(time_zone):
        raise InputError(
            f"time zone {time_zone!r}: expected a name such as Europe/Paris, or +01:00"
        )
    return ZoneInfo(time_zone)


def format_moment(time: float, unix_start_time: float, time_zone: str) -> datetime:
    """Return the date and clock time of a second of the log.

    Raises :class:`InputError` for a time beyond the calendar, and for an unknown zone.
    """
    return _find_date(unix_start_time + time, parse_time_zone(time_zone))


def find_second(date: str, unix_start_time: float, time_zone: str) -> float:
    """Return the second of the log at a local date such as ``2001-03-05 08:00``.

    Of a time that the end of summer time repeats, it is the first. A time that the beginning leaves
    out is the time after it by as much. Raises :class:`InputError` for an unknown zone.

    >>> find_second("1996-09-24 14:00:31", 843_480_031, "Europe/Stockholm")
    86400.0
    """
    zone = parse_time_zone(time_zone)
    return datetime.fromisoformat(date).replace(tzinfo=zone).timestamp() - unix_start_time


def make_date_writer(log: SwfLog) -> Callable[[float], str]:
    """Return how a time is written: as a date, or as a second where the log has no date."""
    start, zone, _ = find_clock(log)

    def show(time: float) -> str:
        try:
            if start is not None:
                return f"{format_moment(time, start, zone):%Y-%m-%d %H:%M:%S}"
        except InputError:
            pass
        return f"second {time:.15g}"

    return show


def local_hours(
    times: ArrayLike, unix_start_time: float | None, time_zone: str
) -> NDArray[np.float64]:
    """Return the hour of the week in [0, 168) of each time; Monday 00:00 is 0.

    ``times`` are seconds of the log, shape (n,). Without start time second 0 counts as 1970.
    """
    local = local_seconds(times, unix_start_time or 0.0, time_zone)
    return (local / HOUR + 3 * 24) % 168  # 1970-01-01 was a Thursday


def local_seconds(times: ArrayLike, unix_start_time: float, time_zone: str) -> NDArray[np.float64]:
    """Return the local clock time of each second, in seconds since 1970-01-01 0:00 of that clock.

    ``times`` are seconds of the log, shape (n,). Offsets are looked up once an hour, so changes
    to and from summer time fall into their place. Raises :class:`InputError`.
    """
    import numpy as np

    unix = np.asarray(times, dtype=float) + unix_start_time
    zone = parse_time_zone(time_zone)
    hours, inverse = np.unique(np.floor(unix / HOUR).astype(np.int64), return_inverse=True)
    try:
        offsets = np.array([_offset(int(hour), zone) for hour in hours.tolist()], dtype=float)
    except (ValueError, OverflowError, OSError):
        raise _beyond_the_calendar(float(np.max(unix))) from None
    local: NDArray[np.float64] = unix + offsets[inverse]
    return local


def _find_date(unix: float, zone: tzinfo) -> datetime:
    try:
        return datetime.fromtimestamp(unix, zone)
    except (ValueError, OverflowError, OSError):
        raise _beyond_the_calendar(unix) from None


def _beyond_the_calendar(unix: float) -> InputError:
    return InputError(f"a time of {unix:g} s since 1970 is beyond the calendar: expected seconds")


def _offset(hour: int, zone: tzinfo) -> float:
    shown = datetime.fromtimestamp(hour * HOUR, zone)
    return (shown.utcoffset() or timedelta()).total_seconds()


def _exists(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _fixed(offset: float) -> str:
    minutes = round(abs(offset) / MINUTE)
    return f"{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def _number(text: str | None) -> float | None:
    try:
        return float(text.split()[0]) if text else None
    except (ValueError, IndexError):
        return None
