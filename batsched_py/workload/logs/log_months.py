"""Summarises a log by month: jobs, users, load, use, waits, and the largest requests."""

from __future__ import annotations

from datetime import datetime

import msgspec
import numpy as np

from batsched_py.errors import InputError
from batsched_py.units import DAY, MONTH
from batsched_py.workload.logs.clock import find_clock, format_moment, parse_time_zone
from batsched_py.workload.logs.recorded_schedule import RecordedSchedule
from batsched_py.workload.logs.swf import Column, SwfLog


class LogMonth(msgspec.Struct, frozen=True):
    """The jobs submitted in a month of a log, and the use of the machine in it.

    Unknown values are None.
    """

    name: str
    """``1996-09``; ``day 30`` is the first of 30 days where the log has no date."""
    begin: float
    """Seconds of the log, not before the first submission."""
    end: float
    """Not after the last submission."""
    is_part: bool
    """Whether the log has only a part of the month: the first and the last one."""
    jobs: int
    users: int | None
    offered_load: float | None
    """Processors x run time of what was submitted, over machine x time."""
    utilisation: float | None
    """Mean of the processors in use in the recorded schedule, over the machine."""
    mean_wait: float | None
    """Recorded wait of what was submitted, in seconds."""
    widest_job: int | None
    """Most processors that a job has."""
    longest_request: float | None
    """Longest requested time, in seconds."""


def log_months(log: SwfLog, schedule: RecordedSchedule) -> list[LogMonth]:
    """Return the months of a log."""
    submit = log.column("submit_time")
    first, last = float(submit[0]), float(submit[-1])
    named = _months(log, first, last)
    starts = np.array([start for _, start in named])
    edges = np.clip(starts, first, last)
    rows = np.searchsorted(submit, starts).tolist()
    processors, in_use = log.max_processors, schedule.means(edges)
    months = []
    for at, (name, _) in enumerate(named[:-1]):
        begin, end = edges[at : at + 2].tolist()
        part = SwfLog(log.path, [], log.data[rows[at] : rows[at + 1]], log.lines[:0], [])
        size, user, wait = part.sizes, part.column("user"), part.known_waits
        work = float((np.maximum(size, 0) * np.maximum(part.column("run_time"), 0)).sum())
        widest, mean_in_use = _largest(size), in_use[at]
        month = LogMonth(
            name=name,
            begin=begin,
            end=end,
            is_part=bool((edges[at : at + 2] != starts[at : at + 2]).any()),
            jobs=len(part),
            users=len(set(user[user >= 0].tolist())) or (None if len(part) else 0),
            offered_load=work / (processors * (end - begin)) if end > begin else None,
            utilisation=None if mean_in_use is None else mean_in_use / processors,
            mean_wait=float(wait.mean()) if len(wait) else None,
            widest_job=None if widest is None else int(widest),
            longest_request=_largest(part.column("requested_time")),
        )
        months.append(month)
    return months


def _largest(column: Column) -> float | None:
    return float(column.max()) if (column > 0).any() else None


def _months(log: SwfLog, first: float, last: float) -> list[tuple[str, float]]:
    """Return the name and first second of each month, and of the one after the last."""
    start, zone, _ = find_clock(log)
    if start is not None:
        try:
            return _calendar_months(start, zone, first, last)
        except (InputError, ValueError, OverflowError, OSError):
            pass  # beyond the calendar
    nb = int((last - first) // MONTH) + 1
    begins = [first + place * MONTH for place in range(nb + 1)]
    return [(f"day {begin / DAY:.0f}", begin) for begin in begins]


def _calendar_months(start: float, zone: str, first: float, last: float) -> list[tuple[str, float]]:
    shown, tz = format_moment(first, start, zone), parse_time_zone(zone)
    year, month = shown.year, shown.month
    months: list[tuple[str, float]] = []
    while not months or months[-1][1] <= last:
        begin = datetime(year, month, 1, tzinfo=tz).timestamp() - start
        months.append((f"{year:04d}-{month:02d}", begin))
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)
    return months
