"""What Batsim leaves, joined with our columns."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from math import isfinite, nan
from pathlib import Path

import numpy as np

from batsched_py.errors import ProtocolError, SimulationError
from batsched_py.metrics import JobTable
from batsched_py.results import job_columns
from batsched_py.simulator.execution import REJECTED
from batsched_py.simulator.files.output_files import JOBS_COLUMNS
from batsched_py.support.processor_sets import from_text

_BATSIMS = JOBS_COLUMNS.split(",")
_Joined = tuple[dict[str, str], dict[str, str]]
"""Batsim's fields of a job and ours."""


class BatsimOutput:
    """The files of one run: ``out_jobs.csv``, ``out_schedule.csv`` and our ``out_users.csv``.

    Batsim's fields stay as it wrote them, to the digit. Raises :class:`SimulationError` for
    files that are missing or not Batsim 4.2's.
    """

    nb_messages: int | None = None

    def __init__(self, folder: Path) -> None:
        self._jobs_path = folder / "out_jobs.csv"
        self._lines = _read(self._jobs_path).splitlines()
        self._schedule_path = folder / "out_schedule.csv"
        self._schedule = _read(self._schedule_path)
        self._columns, self._users = _users(folder / "out_users.csv")
        self._rows = self._checked_rows()
        self.batsim_version, self.nb_processors = self._summary()
        """Batsim's version and the number of its processors, as its summary says."""

    @property
    def nb_rare(self) -> int:
        """Jobs of rare behaviour, which are not measured."""
        return sum(map(_is_rare, self._joined()))

    def jobs_lines(self) -> Iterator[str]:
        """Yield the lines of ``_jobs.csv``, our columns after Batsim's."""
        for line, ours in zip(
            self._lines, [self._columns, *map(self._ours, self._rows)], strict=True
        ):
            buffer = io.StringIO()
            csv.writer(buffer, lineterminator="\n").writerow(ours)
            yield f"{line},{buffer.getvalue()}"

    def schedule_csv(self) -> str:
        """Return the text of ``_schedule.csv``, as Batsim wrote it."""
        return self._schedule

    def table(self) -> JobTable:
        """Return all jobs as numpy columns, in order of completion."""
        joined = list(self._joined())

        def column(name: str) -> list[float]:
            return [
                float("nan") if row["final_state"] == REJECTED else float(row[name])
                for row, _ in joined
            ]

        return JobTable(
            submit=np.array([float(row["submission_time"]) for row, _ in joined]),
            start=np.array(column("starting_time")),
            finish=np.array(column("finish_time")),
            execution=np.array(column("execution_time")),
            size=np.array([_size(row) for row, _ in joined], dtype=float),
            original_submit=np.array(
                [float(ours["original_submission_time"]) for _, ours in joined]
            ),
            user=[ours["user"] for _, ours in joined],
            nb_processors=self.nb_processors,
            rare=np.array([_is_rare(both) for both in joined], dtype=np.bool_),
        )

    def _checked_rows(self) -> list[dict[str, str]]:
        if not self._lines or self._lines[0] != JOBS_COLUMNS:
            found = self._lines[0] if self._lines else "nothing"
            raise SimulationError(
                f"{self._jobs_path}: found the columns {found[:200]}; expected those of Batsim "
                f"4.2: {JOBS_COLUMNS}"
            )
        rows = []
        for number, fields in enumerate(csv.reader(self._lines[1:]), start=2):
            if len(fields) != len(_BATSIMS):
                raise SimulationError(
                    f"{self._jobs_path}:{number}: {len(fields)} fields, expected {len(_BATSIMS)}"
                )
            row = dict(zip(_BATSIMS, fields, strict=True))
            _check_row(row, f"{self._jobs_path}:{number}")
            rows.append(row)
        self._check_complete(rows)
        return rows

    def _check_complete(self, rows: list[dict[str, str]]) -> None:
        """Every job that our process saw is there, once."""
        counted = Counter((row["workload_name"], row["job_id"]) for row in rows)
        for what, keys in (
            ("unknown to our process", counted.keys() - self._users.keys()),
            ("missing", self._users.keys() - counted.keys()),
            ("there twice", {key for key, count in counted.items() if count > 1}),
        ):
            if keys:
                raise SimulationError(
                    f"{self._jobs_path}: {len(keys)} jobs are {what}, such as "
                    f"{'!'.join(min(keys))}: the file is not whole, or of another run"
                )

    def _summary(self) -> tuple[str, int]:
        try:
            (row,) = csv.DictReader(io.StringIO(self._schedule))
            return row["batsim_version"], int(row["nb_computing_machines"])
        except (ValueError, KeyError, TypeError):
            raise SimulationError(
                f"{self._schedule_path}: expected a header and one row, as Batsim 4.2 writes them"
            ) from None

    def _ours(self, row: dict[str, str]) -> list[str]:
        return self._users[row["workload_name"], row["job_id"]]

    def _joined(self) -> Iterator[_Joined]:
        """Yield Batsim's fields and ours of each job."""
        for row in self._rows:
            yield row, dict(zip(self._columns, self._ours(row), strict=True))


def _is_rare(both: _Joined) -> bool:
    return both[1].get("behaviour") == job_columns.RARE


def _check_row(row: dict[str, str], where: str) -> None:
    """Raise :class:`SimulationError` for a row that Batsim cannot have written."""
    names = ["submission_time"]
    if row["final_state"] != REJECTED:
        names += ["starting_time", "execution_time", "finish_time"]
    for name in names:
        try:
            value = float(row[name])
        except ValueError:
            value = nan
        if not isfinite(value) or (name == "execution_time" and value < 0):
            raise SimulationError(f"{where}: {name} is {row[name]!r}, expected seconds")
    try:
        _size(row)
    except ProtocolError as error:
        raise SimulationError(f"{where}: allocated_resources: {error}") from None


def _size(row: dict[str, str]) -> int:
    alloc = row["allocated_resources"]
    return from_text(alloc).bit_count() if alloc else 0


def _users(path: Path) -> tuple[list[str], dict[tuple[str, str], list[str]]]:
    """Return our columns, and their texts by workload and name of a job."""
    reader = csv.DictReader(io.StringIO(_read(path)))
    there = reader.fieldnames or ()
    columns = [*job_columns.COLUMNS, *(name for name in job_columns.FURTHER if name in there)]
    return columns, {
        (row["workload_name"], row["job_id"]): [row[name] for name in columns] for row in reader
    }


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise SimulationError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SimulationError(f"{path} is no text") from None
