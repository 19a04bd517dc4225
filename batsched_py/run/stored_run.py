"""Reads the files of a stored run, written by this package or by Batsim."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Any

from batsched_py.errors import InputError, UsageError, parameter
from batsched_py.files.readers import is_file, is_folder, read_text
from batsched_py.metrics import COUNTS
from batsched_py.results.batsim5_tables import convert_jobs, make_schedule
from batsched_py.results.job_table import JobTable, Mask
from batsched_py.results.jobs_file import read_jobs
from batsched_py.results.run_files import (
    SCHEDULE,
    SUFFIX,
    find_beside,
    note_missing_description,
    read_machine_size,
    read_settings,
)
from batsched_py.results.whole_run import check_whole
from batsched_py.support.json_values import did_you_mean

_MEASURED = {"overall", "windows", "per_user"}
"""What there is at least of metrics that are whole."""


class RunFiles:
    """Reads ``PREFIX_jobs.csv``, ``PREFIX_run.json`` and ``PREFIX_schedule.csv``.

    The first must be there; Batsim writes no ``_run.json``. Without both others the number of
    processors is to be given as ``nodes``.
    """

    def __init__(self, prefix: str | Path, nodes: int | None = None) -> None:
        self.path = find_jobs_file(prefix)
        stored = read_settings(self.path)
        measured = stored.pop("metrics", None)
        if measured is not None and measured.get("overall") is not None:
            check_counts(measured["overall"], find_beside(self.path, "run.json"))
        is_whole = measured is not None and measured.keys() >= _MEASURED
        self.measured: dict[str, Any] | None = measured if is_whole else None
        """The metrics as they were stored, None if they were not."""
        self.wall_time: float = stored.pop("wall_time", None) or nan
        self.nb_messages: int | None = stored.pop("nb_messages", None)
        size = read_machine_size(self.path) if nodes is None else nodes
        if size is None or size < 1:
            raise UsageError(
                f"{self.path}: the number of processors is unknown, without _run.json or "
                f"_schedule.csv: give {parameter('nodes')}, at least 1"
            )
        self.nb_processors = size
        self.settings: dict[str, Any] = stored
        stored.setdefault("input", {}).setdefault("name", self.path.name)
        note = note_missing_description(self.path)
        stored.setdefault("notes", [] if note is None else [note])
        stored["nb_processors"] = size

    @cached_property
    def table(self) -> JobTable:
        """All jobs as numpy columns, in the order of the file."""
        return read_jobs(self.path, self.nb_processors)

    def jobs_lines(self, measured: Mask) -> Iterator[str]:
        """Yield the unchanged lines of ``_jobs.csv``."""
        yield from io.StringIO(convert_jobs(read_text(self.path)))

    def schedule_csv(self) -> str:
        """Return the text of ``_schedule.csv``; raises :class:`UsageError` if there is none."""
        path = find_beside(self.path, "schedule.csv")
        if path is None and find_beside(self.path, SCHEDULE) is not None:
            return make_schedule(self.path, self.table)
        if path is None:
            raise UsageError(f"there is no _schedule.csv beside {self.path}")
        return read_text(path)


def check_counts(overall: Mapping[str, Any], path: Path | None) -> None:
    """Raise :class:`InputError` if the metrics of a ``_run.json`` lack the counts of jobs."""
    if not overall.keys() >= {*COUNTS}:
        raise InputError(f"{path}: metrics without {', '.join(COUNTS)}: not what simulate writes")


def find_jobs_file(prefix: str | Path) -> Path:
    """Return the path ``PREFIX_jobs.csv``; the prefix may be this path already.

    Raises :class:`UsageError` if there is none, which tells those that are there or in a folder of
    that name, and :class:`InputError` if the run had one.
    """
    prefix = Path(str(prefix).removesuffix(SUFFIX))
    path = Path(f"{prefix}{SUFFIX}")
    if is_file(path):
        return path
    if stored := find_beside(path, "run.json"):
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
