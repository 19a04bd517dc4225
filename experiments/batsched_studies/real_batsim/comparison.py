"""Compares the output files of two simulators for a case."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import isclose
from pathlib import Path
from typing import Any, NamedTuple

from batsched_py.files.readers import csv_rows, parse_json, read_text
from batsched_py.protocol import message_json
from batsched_py.report.comparing.job_differences import ROUNDING, Kind, find_differences
from batsched_py.run.result import Result
from batsched_py.transport.exchange_replay import read_turns
from batsched_studies.real_batsim.two_simulators import OutputFiles

_FILES = ("schedule", "consumed_energy", "pstate_changes", "machine_states")
"""Batsim's tables besides that of the jobs; most runs have only the first."""
_NOT_COMPARED = ("scheduling_time", "simulation_time", "batsim_version", "epower")
"""Columns that are no results of the simulation, and the mean power since the last event, which is
numerically unstable between events of one instant."""
_SIX_DIGITS = 1e-5
"""The relative difference up to which numbers are equal: most files have six digits."""


class Comparison(NamedTuple):
    """How far the outputs of both simulators agree in one case."""

    jobs: int
    """Jobs that ended or were refused in the embedded simulator."""
    kinds: Counter[Kind]
    """The number of jobs that differ, by their gravest difference."""
    others_beside: list[str]
    """Other outputs that differ: names of Batsim's tables, and ``events`` for the messages."""
    waits: tuple[float, float]
    """The mean waiting times, in seconds, with the embedded simulator and with Batsim."""
    shaken_waits: Sequence[float] = ()
    """The mean waiting times in the embedded simulator with other orders of simultaneous events."""

    @property
    def equal(self) -> int:
        """The number of jobs that are equal in all columns."""
        return self.jobs - self.kinds.total()

    @property
    def same_schedule(self) -> bool:
        """Whether each job starts and ends at the same time and in the same state on both sides."""
        return not any(kind.another_schedule for kind in self.kinds)

    @property
    def all_equal(self) -> bool:
        """Whether all jobs and all other tables and events are equal on both sides."""
        return self.equal == self.jobs and not self.others_beside


def compare_sides(embedded: OutputFiles, batsim: OutputFiles) -> Comparison:
    """Compare the outputs of both simulators; raises :class:`InputError` for malformed files."""
    here, there = Result.load(embedded.prefix), Result.load(batsim.prefix)
    beside = [
        name
        for name in _FILES
        if not _same(_table(embedded.prefix, name), _table(batsim.prefix, name))
    ]
    if not _same_events(_events(embedded.exchange), _events(batsim.exchange)):
        beside.append("events")
    return Comparison(
        jobs=len(here.table.submit),
        kinds=Counter(job.gravest.kind for job in find_differences(here, there)),
        others_beside=beside,
        waits=(mean_wait(here), mean_wait(there)),
    )


def mean_wait(result: Result) -> float:
    """Return the mean waiting time of a result, in seconds."""
    wait: float = result.measured["overall"]["mean_waiting_time"]
    return wait


def _table(prefix: Path, name: str) -> list[list[Any]]:
    path = Path(f"{prefix}_{name}.csv")
    if not path.exists():
        return []
    header, *rows = csv_rows(read_text(path).splitlines(keepends=True), path)
    wanted = [column not in _NOT_COMPARED for column in header]
    return [
        [_number(cell) for cell, is_wanted in zip(row, wanted, strict=True) if is_wanted]
        for row in (header, *rows)
    ]


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _events(exchange: Path) -> dict[str, list[tuple[float, Any]]]:
    """Return times and contents of the simulator's events by type and job, in any messages.

    The first event, with the simulator's options, and recorded ends of jobs are left out.
    """
    events = defaultdict(list)
    for turn in read_turns(exchange)[1:]:
        raw = message_json.encode_events(turn.message, exact=True)
        for event in parse_json(raw, dict[str, Any], exchange)["events"]:
            content = event["data"]
            content.get("job", {}).pop("finish_time", None)
            content.pop("profile", None)  # Batsim 5 is asked for it where jobs may be dilated
            of = content.get("job_id", content.get("type", ""))
            events[f"{event['type']} {of}"].append((event["timestamp"], content))
    return dict(events)


def _same_events(
    one: dict[str, list[tuple[float, Any]]], other: dict[str, list[tuple[float, Any]]]
) -> bool:
    if one.keys() != other.keys() or any(len(one[name]) != len(other[name]) for name in one):
        return False
    pairs = [pair for name in one for pair in zip(one[name], other[name], strict=True)]
    return all(abs(a[0] - b[0]) <= ROUNDING and _same(a[1], b[1]) for a, b in pairs)


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are equal, numbers within :data:`_SIX_DIGITS`."""
    if isinstance(one, float | int) and isinstance(other, float | int):
        return isclose(one, other, rel_tol=_SIX_DIGITS, abs_tol=_SIX_DIGITS)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
