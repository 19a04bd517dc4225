"""The headers of SWF logs, such as of one that simulated users made."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version

from batsched_py.support.json_values import whole
from batsched_py.workload.clock import parse_time_zone

SYNTHETIC = "THIS LOG IS SYNTHETIC: it is the outcome of a simulation, not the record of a system"


def header_lines(
    *,
    nb_jobs: int,
    nb_processors: int,
    unix_start_time: float | None,
    time_zone: str,
    notes: Iterable[str],
) -> list[str]:
    """Return the comments above the jobs: the machine, the clock, and what made the log."""
    fields = [
        ("Version", "2.2"),
        ("Computer", "simulated"),
        ("Conversion", f"batsched_py {version('batsched_py')}"),
        ("MaxJobs", nb_jobs),
        ("MaxRecords", nb_jobs),
        *clock_fields(unix_start_time, time_zone),
        ("MaxNodes", nb_processors),
        ("MaxProcs", nb_processors),
        *(("Note", note) for note in (SYNTHETIC, *notes)),
    ]
    return comments(fields)


def comments(fields: Iterable[tuple[str, object]]) -> list[str]:
    """Return a line for each field, whatever the names of files and options contain."""
    return [f"; {key}: {' '.join(str(value).split())}" for key, value in fields] + [";"]


def clock_fields(start: float | None, zone: str) -> list[tuple[str, object]]:
    """Return the fields that say when second 0 was, and in which zone."""
    fields: list[tuple[str, object]] = [] if start is None else [("UnixStartTime", whole(start))]
    offset = parse_time_zone(zone).utcoffset(None)  # None for a zone with summer time
    if offset is not None and zone[0] in "+-":
        return [*fields, ("TimeZone", int(offset.total_seconds()))]
    return [*fields, ("TimeZoneString", zone)]
