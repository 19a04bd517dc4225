"""The header of a log that was imported: the machine, the clock, names, rules and counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version

from batsched_py.workload.clock import moment
from batsched_py.workload.swf_header import clock_fields, comments


def import_header(
    *,
    system: str,
    computer: str,
    nb_jobs: int,
    nb_processors: int,
    nb_nodes: int | None,
    second_0: int,
    last: int,
    zone: str,
    queues: Sequence[tuple[int, str]],
    partitions: Sequence[tuple[int, str]],
    notes: Iterable[str],
) -> list[str]:
    """Return the comments above the jobs; ``second_0`` and ``last`` are Unix times."""
    fields: list[tuple[str, object]] = [
        ("Version", "2.2"),
        ("Computer", computer),
        ("Conversion", f"batsched_py {version('batsched_py')}, import {system}"),
        ("MaxJobs", nb_jobs),
        ("MaxRecords", nb_jobs),
        *clock_fields(second_0, zone),
        ("StartTime", _shown(second_0, zone)),
        ("EndTime", _shown(last, zone)),
        *([] if nb_nodes is None else [("MaxNodes", nb_nodes)]),
        ("MaxProcs", nb_processors),
        *_named("Queue", queues),
        *_named("Partition", partitions),
        *(("Note", note) for note in notes),
    ]
    return comments(fields)


def _named(kind: str, names: Sequence[tuple[int, str]]) -> list[tuple[str, object]]:
    counted: list[tuple[str, object]] = [(f"Max{kind}s", len(names))] if names else []
    return counted + [(kind, f"{number} {name}") for number, name in names]


def _shown(unix: int, zone: str) -> str:
    return f"{moment(0, unix, zone):%a %b %d %H:%M:%S %Z %Y}"
