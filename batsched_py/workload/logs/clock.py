"""The clock of a log: converts its seconds to dates, hours and weekdays."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from batsched_py.errors import InputError
from batsched_py.units import DAY, HOUR, MINUTE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from batsched_py.workload.logs.swf import SwfLog

LATEST = 9e9
"""Unix time of the last second 0 of a log, in the year 2255: calendars of tables end in 2262."""
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")


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
    unix = unix_start_time + time
    try:
        return datetime.fromtimestamp(unix, parse_time_zone(time_zone))
    except (ValueError, OverflowError, OSError):
        raise _beyond_the_calendar(unix) from None


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
