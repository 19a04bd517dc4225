"""Reads the output files of Batsim, with the columns that the scheduler adds."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from batsched_py.errors import InputError, SimulationError, UsageError
from batsched_py.files.csv_text import make_csv_line, quote_field
from batsched_py.files.readers import csv_rows, read_text
from batsched_py.protocol.batsim_jobs_columns import BATSIM_COLUMNS, JOBS_COLUMNS, WITHDRAWN
from batsched_py.protocol.dilated_jobs import PLACED, RUNS_AS, find_original
from batsched_py.protocol.own_job_fields import ADDED_COLUMNS, FURTHER_COLUMNS
from batsched_py.results.batsim5_tables import convert_jobs, make_schedule
from batsched_py.results.job_table import MEASURED, JobTable, Mask
from batsched_py.results.jobs_file import JobKey, make_job_keys, read_columns, read_jobs
from batsched_py.results.run_files import SCHEDULE, parse_summary
from batsched_py.workload.grid_sites import GridSites


class BatsimOutput:
    """The files of one run: ``out_jobs.csv``, ``out_schedule.csv`` and our ``out_users.csv``.

    Batsim's fields stay as it wrote them, to the digit, except that jobs that users withdrew are
    not called rejected. The output of ``batsim5`` is converted to the form of Batsim 4.2. ``sites``
    are those of the machine, none if it is one. Raises :class:`SimulationError` for files that are
    missing or not Batsim's.
    """

    nb_messages: int | None = None

    def __init__(self, folder: Path, sites: GridSites = (), *, batsim5: bool = False) -> None:
        path = folder / "out_jobs.csv"
        schedule_path = folder / f"out_{SCHEDULE if batsim5 else 'schedule.csv'}"
        try:
            jobs = convert_jobs(read_text(path)).removesuffix("\n")
            self._lines = list(_each_job_once(jobs.split("\n")))
            self._schedule = "" if batsim5 else read_text(schedule_path)
            _, self._users = read_columns(io.StringIO(read_text(folder / "out_users.csv")), {})
            _check_header(path, self._lines)
            table = read_jobs(path, sites=sites)
            if batsim5:
                self._schedule = make_schedule(path, table)
        except (InputError, UsageError) as error:
            raise SimulationError(str(error)) from None
        _check_complete(path, make_job_keys(table.texts), self._submitted())
        for place in np.flatnonzero(table.withdrawn).tolist():
            wait = table.number_column("waiting_time")[place]
            self._lines[place + 1] = _call_withdrawn(self._lines[place + 1], wait)
        try:
            row = parse_summary(self._schedule)
            self.batsim_version = row["batsim_version"]
            self.nb_processors = int(row["nb_computing_machines"])
        except (ValueError, KeyError, InputError):
            wanted = "a header and one row, as Batsim 4.2 writes them"
            if batsim5:
                wanted = "nb_computing_machines, as Batsim 5 writes it"
            raise SimulationError(f"{schedule_path}: expected {wanted}") from None
        self.table: JobTable = msgspec.structs.replace(table, nb_processors=self.nb_processors)
        """All jobs as numpy columns, in order of completion."""

    def _submitted(self) -> list[JobKey]:
        """Return the job of each row of our columns: of its form that ran, the last is."""
        return [find_original(*key) for key in make_job_keys(self._users)]

    def jobs_lines(self, measured: Mask) -> Iterator[str]:
        """Yield the lines of ``_jobs.csv``; ``measured`` is a column unless all jobs are."""
        names = [name for name in (*ADDED_COLUMNS, *FURTHER_COLUMNS) if name in self._users]
        row_of = {key: row for row, key in enumerate(self._submitted())}
        rows = [row_of[key] for key in make_job_keys(self.table.texts)]
        columns = [[name, *(self._users[name][row] for row in rows)] for name in names]
        if not measured.all():
            columns.append([MEASURED, *(str(int(mark)) for mark in measured)])
        for line, *added in zip(self._lines, *columns, strict=True):
            yield f"{line},{make_csv_line(added)}"

    def schedule_csv(self) -> str:
        """Return the text of ``_schedule.csv`` in the form of Batsim 4.2."""
        return self._schedule


def _each_job_once(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of Batsim's table with each job once, by its own name, as :func:`read_jobs`
    reads them.
    """
    for line in lines:
        if line.rpartition(',"')[2].startswith(RUNS_AS):
            continue
        head, mark, rest = line.partition(f",{PLACED},")
        fields = next(csv_rows([head], "out_jobs.csv"), []) if mark else []
        if len(fields) == 1:
            workload, name = find_original(PLACED, fields[0])
            line = f"{quote_field(name)},{workload},{rest}"
        yield line


def _call_withdrawn(line: str, wait: float) -> str:
    """Return the line of a rejected job as that of a job that was withdrawn after ``wait`` s."""
    (values,) = csv_rows([line], "out_jobs.csv")
    row = dict(zip(BATSIM_COLUMNS, values, strict=True))
    row |= {"final_state": WITHDRAWN, "waiting_time": f"{wait:.6f}"}
    metadata = row.pop("metadata").replace('"', '""')
    return f'{",".join(map(quote_field, row.values()))},"{metadata}"'


def _check_header(path: Path, lines: list[str]) -> None:
    if not lines or lines[0] != JOBS_COLUMNS:
        columns = lines[0][:200] if lines else "nothing"
        raise SimulationError(
            f"{path}: found the columns {columns}; expected those of Batsim 4.2: {JOBS_COLUMNS}"
        )


def _check_complete(path: Path, jobs: Sequence[JobKey], submitted: Sequence[JobKey]) -> None:
    """Raise :class:`SimulationError` unless every job that the scheduler saw is there, once."""
    counted = Counter(jobs)
    for what, keys in (
        ("unknown to the scheduler", counted.keys() - set(submitted)),
        ("missing", set(submitted) - counted.keys()),
        ("there twice", {key for key, count in counted.items() if count > 1}),
    ):
        if keys:
            raise SimulationError(
                f"{path}: {len(keys)} jobs are {what}, such as {'!'.join(min(keys))}: the file is "
                "not whole, or of another run"
            )
