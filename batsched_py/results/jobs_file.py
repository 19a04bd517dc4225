"""Reading a ``_jobs.csv``, ours or one of Batsim, into a :class:`JobTable`."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from math import isfinite, nan
from pathlib import Path

import msgspec
import numpy as np

from batsched_py.errors import InputError, ProtocolError, parameter
from batsched_py.metrics.table import Column, JobTable
from batsched_py.results.job_columns import RARE
from batsched_py.simulator.execution import REJECTED
from batsched_py.support.processor_sets import from_text

_TIMES = ("starting_time", "execution_time", "finish_time")
_NEEDED = ("submission_time", "final_state", *_TIMES, "allocated_resources")
SUFFIX = "_jobs.csv"
_SaidBy = Callable[[Path], int | None]


class _Row(msgspec.Struct):
    """The fields of a job, by column, and where they are."""

    fields: dict[str, str]
    where: str

    @property
    def rejected(self) -> bool:
        """Whether the job never ran."""
        return self.fields["final_state"] == REJECTED

    def seconds(self, column: str) -> float:
        """Return a time, or raise :class:`InputError`."""
        text = self.fields[column]
        try:
            value = float(text)
        except ValueError:
            value = nan
        if not isfinite(value):
            raise InputError(f"{self.where}: {column} is {text[:40]!r}, expected seconds")
        return value

    def processors(self) -> int:
        """Return how many processors the job got, or raise :class:`InputError`."""
        if self.rejected:
            return 0
        text = self.fields["allocated_resources"]
        try:
            return from_text(text).bit_count()
        except ProtocolError as error:
            raise InputError(f"{self.where}: allocated_resources: {error}") from None


class _Run(msgspec.Struct):
    """What is needed of ``PREFIX_run.json``."""

    nb_processors: int | None = None


def read_jobs(path: str | Path, nb_processors: int | None = None) -> JobTable:
    """Read a ``_jobs.csv``; in one of Batsim, jobs have no user and came when recorded.

    Columns that are not needed may be missing or additional. Raises :class:`InputError`, which
    names file, line and column, for what is no such file.
    """
    path = Path(path)
    rows = [(row, _times(row)) for row in _rows(path)]

    def column(values: Iterable[float]) -> Column:
        return np.array(list(values), dtype=np.float64)

    return JobTable(
        submit=column(row.seconds("submission_time") for row, _ in rows),
        start=column(times[0] for _, times in rows),
        execution=column(times[1] for _, times in rows),
        finish=column(times[2] for _, times in rows),
        size=column(row.processors() for row, _ in rows),
        original_submit=column(_recorded_submission(row) for row, _ in rows),
        user=[row.fields.get("user", "") for row, _ in rows],
        nb_processors=nb_processors,
        rare=np.array([row.fields.get("behaviour") == RARE for row, _ in rows], dtype=np.bool_),
    )


def machine_size(path: str | Path) -> int | None:
    """Return the processors that the files beside ``PREFIX_jobs.csv`` tell, None if none does.

    ``PREFIX_run.json`` is asked first, then ``PREFIX_schedule.csv``. Raises :class:`InputError`
    for one that is there and malformed.
    """
    path = Path(path)
    if not path.name.endswith(SUFFIX):
        return None
    prefix = path.name.removesuffix(SUFFIX)
    asked: tuple[tuple[str, _SaidBy], ...] = (
        ("run.json", _said_by_run),
        ("schedule.csv", _said_by_summary),
    )
    for name, said_by in asked:
        beside = path.with_name(f"{prefix}_{name}")
        if beside.is_file() and (said := _asked(beside, said_by)) is not None:
            return said
    return None


def _times(row: _Row) -> tuple[float, float, float]:
    """Return start, run time and finish of a job, nan for one that was rejected."""
    if row.rejected:
        return nan, nan, nan
    start, execution, finish = map(row.seconds, _TIMES)
    if execution < 0 or finish < start:
        raise InputError(
            f"{row.where}: starting_time {start:g}, finish_time {finish:g}, "
            f"execution_time {execution:g}: a job cannot end before it starts"
        )
    return start, execution, finish


def _recorded_submission(row: _Row) -> float:
    name = "original_submission_time"
    return row.seconds(name if row.fields.get(name) else "submission_time")


def _rows(path: Path) -> Iterator[_Row]:
    reader = csv.reader(io.StringIO(_text(path)))
    try:
        header = next(reader, None)
        if header is None:
            raise InputError(f"{path} is empty, expected the header of a {SUFFIX}")
        _check_header(path, header)
        for fields in reader:
            where = f"{path}:{reader.line_num}"
            if len(fields) != len(header):
                raise InputError(f"{where}: {len(fields)} fields, but {len(header)} columns")
            yield _Row(dict(zip(header, fields, strict=True)), where)
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: {error}") from None


def _check_header(path: Path, header: list[str]) -> None:
    missing = [name for name in _NEEDED if name not in header]
    if missing:
        raise InputError(
            f"{path}:1: no column {', '.join(missing)}; found {','.join(header)[:200]}: this is no "
            f"{SUFFIX} of batsched-py or Batsim"
        )
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise InputError(f"{path}:1: column {twice[0]} is there twice")


def _asked(path: Path, said_by: _SaidBy) -> int | None:
    try:
        said = said_by(path)
    except (ValueError, KeyError, TypeError, msgspec.DecodeError, csv.Error):
        raise InputError(
            f"{path}: no number of processors found; give it by {parameter('nodes')}"
        ) from None
    if said is not None and said < 1:
        raise InputError(f"{path}: {said} processors; give their number by {parameter('nodes')}")
    return said


def _said_by_run(path: Path) -> int | None:
    return msgspec.json.decode(_text(path), type=_Run).nb_processors


def _said_by_summary(path: Path) -> int:
    (row,) = csv.DictReader(io.StringIO(_text(path)))
    return int(row["nb_computing_machines"])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is no text in UTF-8") from None
