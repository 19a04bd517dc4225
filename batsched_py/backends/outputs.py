"""What Batsim leaves, joined with our columns."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from batsched_py import job_columns
from batsched_py.errors import SimulationError
from batsched_py.metrics import JobTable
from batsched_py.processors import from_text
from batsched_py.simulator.execution import REJECTED
from batsched_py.simulator.outputs import JOBS_COLUMNS

_BATSIMS = JOBS_COLUMNS.split(",")


class BatsimOutput:
    """The files of one run: ``out_jobs.csv``, ``out_schedule.csv`` and our ``out_users.csv``.

    Batsim's fields stay as it wrote them, to the digit. Raises :class:`SimulationError` for
    files that are missing or not Batsim 4.2's.
    """

    def __init__(self, folder: Path, nb_messages: int | None = None) -> None:
        self.nb_messages = nb_messages
        self._jobs_path = folder / "out_jobs.csv"
        self._lines = _read(self._jobs_path).splitlines()
        self._schedule = _read(folder / "out_schedule.csv")
        self._users = _users(folder / "out_users.csv")
        self._rows = self._checked_rows()

    @property
    def batsim_version(self) -> str:
        """Batsim's version, as its summary says."""
        rows = list(csv.DictReader(io.StringIO(self._schedule)))
        return rows[0].get("batsim_version", "?") if rows else "?"

    def jobs_csv(self) -> str:
        """Return the text of ``_jobs.csv``, our columns after Batsim's."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        for line, ours in zip(
            self._lines, [list(job_columns.COLUMNS), *map(self._ours, self._rows)], strict=True
        ):
            buffer.write(f"{line},")
            writer.writerow(ours)
        return buffer.getvalue()

    def schedule_csv(self) -> str:
        """Return the text of ``_schedule.csv``, as Batsim wrote it."""
        return self._schedule

    def table(self) -> JobTable:
        """Return the jobs as numpy columns, in order of completion."""
        ours = [dict(zip(job_columns.COLUMNS, self._ours(row), strict=True)) for row in self._rows]

        def column(name: str) -> list[float]:
            return [
                float("nan") if row["final_state"] == REJECTED else float(row[name])
                for row in self._rows
            ]

        return JobTable(
            submit=np.array([float(row["submission_time"]) for row in self._rows]),
            start=np.array(column("starting_time")),
            finish=np.array(column("finish_time")),
            execution=np.array(column("execution_time")),
            size=np.array([_size(row) for row in self._rows], dtype=float),
            original_submit=np.array([float(row["original_submission_time"]) for row in ours]),
            user=[row["user"] for row in ours],
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
            rows.append(dict(zip(_BATSIMS, fields, strict=True)))
        return rows

    def _ours(self, row: dict[str, str]) -> list[str]:
        key = row["workload_name"], row["job_id"]
        if key not in self._users:
            raise SimulationError(
                f"{self._jobs_path}: job {key[0]}!{key[1]} is unknown to our process"
            )
        return self._users[key]


def _size(row: dict[str, str]) -> int:
    alloc = row["allocated_resources"]
    return from_text(alloc).bit_count() if alloc else 0


def _users(path: Path) -> dict[tuple[str, str], list[str]]:
    return {
        (row["workload_name"], row["job_id"]): [row[name] for name in job_columns.COLUMNS]
        for row in csv.DictReader(io.StringIO(_read(path)))
    }


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SimulationError(f"{path} cannot be read: {error}") from None
