"""A run that was stored: by us, or by Batsim itself."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Any

import msgspec

from batsched_py.errors import InputError, UsageError, parameter
from batsched_py.metrics import COUNTS
from batsched_py.results.job_table import JobTable, Mask
from batsched_py.results.jobs_file import read_jobs
from batsched_py.results.run_files import (
    SUFFIX,
    beside,
    machine_size,
    stored_settings,
    unknown_whole,
)
from batsched_py.results.whole_run import check_whole
from batsched_py.support.file_readers import is_file, is_folder, read_text
from batsched_py.support.json_values import did_you_mean

_MEASURED = {"overall", "windows", "per_user"}
"""What there is at least of metrics that are whole."""
_Metrics = dict[str, int | float | None]


class _Measured(msgspec.Struct):
    """The metrics of a run, as far as they were stored."""

    overall: _Metrics | None = None
    windows: list[_Metrics] = []
    per_user: dict[str, _Metrics] = {}
    per_site: dict[str, _Metrics] = {}


class _Described(msgspec.Struct):
    """What ``PREFIX_run.json`` may say of a run; what is not used here may be anything."""

    run: dict[str, Any] = {}
    input: dict[str, Any] = {}
    metrics: _Measured | None = None
    notes: list[str] = []
    wall_time: float | None = None
    nb_messages: int | None = None
    unix_start_time: float | None = None
    time_zone: str | None = None


class RunFiles:
    """What is in the files ``PREFIX_jobs.csv``, ``PREFIX_run.json`` and ``PREFIX_schedule.csv``.

    The first must be there; Batsim writes no ``_run.json``. Without both others the number of
    processors is to be given as ``nodes``.
    """

    def __init__(self, prefix: str | Path, nodes: int | None = None) -> None:
        self.path = jobs_file(prefix)
        stored = stored_settings(self.path)
        _check(stored, self.path)
        measured = stored.pop("metrics", None)
        is_whole = measured is not None and measured.keys() >= _MEASURED
        self.measured: dict[str, Any] | None = measured if is_whole else None
        """The metrics as they were stored, None if they were not."""
        self.wall_time: float = stored.pop("wall_time", None) or nan
        self.nb_messages: int | None = stored.pop("nb_messages", None)
        size = machine_size(self.path) if nodes is None else nodes
        if size is None or size < 1:
            raise UsageError(
                f"{self.path}: no _run.json and no _schedule.csv beside it tells the number of "
                f"processors: give {parameter('nodes')}, at least 1"
            )
        self.nb_processors = size
        self.settings: dict[str, Any] = stored
        stored.setdefault("input", {}).setdefault("name", self.path.name)
        note = unknown_whole(self.path)
        stored.setdefault("notes", [] if note is None else [note])
        stored["nb_processors"] = size

    @cached_property
    def table(self) -> JobTable:
        """All jobs as numpy columns, in the order of the file."""
        return read_jobs(self.path, self.nb_processors)

    def jobs_lines(self, measured: Mask) -> Iterator[str]:
        """Yield the lines of ``_jobs.csv`` as they are."""
        yield from io.StringIO(read_text(self.path))

    def schedule_csv(self) -> str:
        """Return the text of ``_schedule.csv``; raises :class:`UsageError` if there is none."""
        path = beside(self.path, "schedule.csv")
        if path is None:
            raise UsageError(f"there is no _schedule.csv beside {self.path}")
        return read_text(path)


def _check(stored: dict[str, Any], path: Path) -> None:
    """Raise :class:`InputError` for a description that is not what ``simulate`` writes."""
    where = beside(path, "run.json")
    try:
        described = msgspec.convert(stored, _Described)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: not what simulate writes: {error}") from None
    overall = None if described.metrics is None else described.metrics.overall
    if overall is not None and not overall.keys() >= {*COUNTS}:
        raise InputError(f"{where}: metrics without {', '.join(COUNTS)}: not what simulate writes")


def jobs_file(prefix: str | Path) -> Path:
    """Return ``PREFIX_jobs.csv`` for a prefix, which may end so.

    Raises :class:`UsageError` if there is none, which tells those that are there or in a folder of
    that name, and :class:`InputError` if the run had one.
    """
    prefix = Path(str(prefix).removesuffix(SUFFIX))
    path = Path(f"{prefix}{SUFFIX}")
    if is_file(path):
        return path
    if stored := beside(path, "run.json"):
        check_whole(stored)
        raise UsageError(
            f"there is no {path}: of this run only the metrics were kept, in its _run.json"
        )
    inside = sorted(prefix.glob(f"*{SUFFIX}")) if is_folder(prefix) else []
    files = inside or sorted(path.parent.glob(f"*{SUFFIX}"))
    names = [str(file.relative_to(path.parent)) for file in files]
    there = f"; there are: {', '.join(names[:5])}" if names else ""
    raise UsageError(
        f"there is no {path}{did_you_mean(path.name, names)}: expected the prefix of a run, as "
        f"simulate wrote it{there}"
    )
