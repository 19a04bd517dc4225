"""The clock time of a log."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from batsched_py.errors import InputError
from batsched_py.workload.logs.clock import find_clock, local_hours
from batsched_py.workload.logs.swf import SwfLog, read_swf, write_swf

JOB = [1.0, 0, 0, 10, 1, -1, -1, 1, 60, -1, 1, 3, 1, -1, 1, -1, -1, -1]


START = "; UnixStartTime: 5"


def log_with(tmp_path: Path, *header: str) -> SwfLog:
    write_swf(tmp_path / "a.swf", header, [JOB])
    return read_swf(tmp_path / "a.swf")


@pytest.mark.parametrize(
    ("header", "clock", "words"),
    [
        # a named zone comes before the offset, which stands in for an unknown name
        (
            [START, "; TimeZone: 3600", "; TimeZoneString: Europe/Stockholm"],
            (5, "Europe/Stockholm"),
            "TimeZoneString",
        ),
        (
            [START, "; TimeZone: -12600", "; TimeZoneString: Mars/Olympus"],
            (5, "-03:30"),
            "'Mars/Olympus' in TimeZoneString",
        ),
        ([START, "; TimeZone: 3600"], (5, "+01:00"), "fixed offset"),
        ([START], (5, "UTC"), "has no time zone"),
        ([], (None, "UTC"), "UnixStartTime is unknown"),
    ],
)
def test_clock(
    tmp_path: Path, header: list[str], clock: tuple[float | None, str], words: str
) -> None:
    *start_and_zone, note = find_clock(log_with(tmp_path, *header))
    assert tuple(start_and_zone) == clock
    assert words in note


@pytest.mark.parametrize(
    ("moment", "zone", "hour"),
    [
        ("2026-01-05T00:00", "UTC", 0.0),  # Monday midnight is 0
        ("2026-01-04T23:30", "+01:00", 0.5),  # an offset moves Sunday night to Monday
        ("1998-04-25T01:11", "US/Pacific", 114 + 11 / 60),  # summer in California
    ],
)
def test_local_hours(moment: str, zone: str, hour: float) -> None:
    start = 800_000_000.0
    unix = datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()
    assert local_hours([unix - start], start, zone) == pytest.approx([hour])


@pytest.mark.parametrize(
    ("last", "zone", "message"),
    [
        *((0.0, zone, "time zone") for zone in ("Mars/Olympus", "+99:00", "../UTC", "US")),
        (1e15, "UTC", "calendar"),
    ],
)
def test_an_unknown_zone_and_times_beyond_the_calendar(
    last: float, zone: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        local_hours([0.0, last], 5.0, zone)


def test_every_hour_of_a_year_is_that_of_datetime() -> None:
    """Also those in which clocks are put forward and back."""
    zone = ZoneInfo("Europe/Stockholm")
    times = np.arange(0, 366 * 86_400, 1_799.0)
    hours = local_hours(times, 843_480_031, "Europe/Stockholm")
    moments = [datetime.fromtimestamp(843_480_031 + t, zone) for t in times.tolist()]
    expected = [m.weekday() * 24 + m.hour + m.minute / 60 + m.second / 3600 for m in moments]
    assert np.allclose(hours, expected)
