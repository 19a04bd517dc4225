"""The headers of SWF logs that this program writes: of simulated and of imported logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version

from batsched_py.support.json_values import whole
from batsched_py.workload.logs.clock import format_moment, parse_time_zone

SYNTHETIC = "THIS LOG IS SYNTHETIC: it is the outcome of a simulation, not the record of a system"


def make_header_lines(
    *,
    nb_jobs: int,
    nb_processors: int,
    unix_start_time: float | None,
    time_zone: str,
    notes: Iterable[str],
    computer: str = "simulated",
    conversion: str = "",
    in_nodes: bool = True,
    span: tuple[int, int] | None = None,
    names: Mapping[str, Sequence[tuple[int, str]]] = {},
) -> list[str]:
    """Return the comments above the jobs: the machine, the clock, and the origin of the log.

    ``in_nodes``: whether a processor is a node; ``span`` are the Unix times of begin and end;
    ``names`` are numbers and names of ``Queue`` and ``Partition``.
    """
    fields: list[tuple[str, object]] = [
        ("Version", "2.2"),
        ("Computer", computer),
        ("Conversion", f"batsched_py {version('batsched_py')}{conversion}"),
        ("MaxJobs", nb_jobs),
        ("MaxRecords", nb_jobs),
        *_clock_fields(unix_start_time, time_zone),
    ]
    for key, unix in zip(("StartTime", "EndTime"), span or (), strict=False):
        fields.append((key, f"{format_moment(0, unix, time_zone):%a %b %d %H:%M:%S %Z %Y}"))
    if in_nodes:
        fields.append(("MaxNodes", nb_processors))
    fields.append(("MaxProcs", nb_processors))
    for kind, numbered in names.items():
        if numbered:
            fields.append((f"Max{kind}s", len(numbered)))
        fields += [(kind, f"{number} {name}") for number, name in numbered]
    fields += [("Note", note) for note in notes]
    # On one line each, even if names of files and options contain line breaks.
    return [f"; {key}: {' '.join(str(value).split())}" for key, value in fields] + [";"]


def _clock_fields(start: float | None, zone: str) -> list[tuple[str, object]]:
    """Return the fields for the date of second 0 and for its time zone."""
    fields: list[tuple[str, object]] = [] if start is None else [("UnixStartTime", whole(start))]
    offset = parse_time_zone(zone).utcoffset(None)  # None for a zone with summer time
    if offset is not None and zone[0] in "+-":
        return [*fields, ("TimeZone", int(offset.total_seconds()))]
    return [*fields, ("TimeZoneString", zone)]
