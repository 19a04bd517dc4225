"""One run as it is compared: its jobs as a data frame and as a table for metrics, its settings."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from batsched_py.errors import InputError
from batsched_py.metrics import BOUND, overall
from batsched_py.report.comparing.compared_sources import Source
from batsched_py.results.job_table import JobTable
from batsched_py.results.jobs_file import NEEDED, read_jobs
from batsched_py.results.run_files import machine_size, stored_settings

if TYPE_CHECKING:
    from batsched_py.run.result import Result

_TEXTS = {
    "workload": "workload_name",
    "job": "job_id",
    "profile": "profile",
    "behaviour": "behaviour",
    "state": "final_state",
    "processors": "allocated_resources",
}


class RunData:
    """A run to compare."""

    def __init__(self, name: str, table: JobTable, settings: dict[str, Any]) -> None:
        self.name = name
        jobs = _frame(table).sort_values(["submit", "workload", "job"])  # so that files agree
        self.jobs = jobs.reset_index(drop=True)
        """A row per job in order of submission: ``workload``, ``job``, ``user`` (empty if
        unknown), ``size`` (processors it got), ``profile``, ``state``, ``processors``,
        ``behaviour``; in seconds ``submit``, ``start``, ``finish``, ``execution``, ``original``
        (recorded submission), ``wait``, ``turnaround``, ``lateness``; and ``slowdown`` (bounded
        by 10 s). Jobs that were rejected have nan as times. ``measured`` is false for those of
        rare behaviour, of the warm-up and of the cool-down."""
        self.table = table.select(jobs.index.to_numpy())
        """The jobs in that order, for :mod:`batsched_py.metrics`."""
        self.settings = settings
        """Content of ``PREFIX_run.json`` without the metrics; empty if there is none."""

    @property
    def nb_processors(self) -> int | None:
        """Processors of the machine, None if unknown."""
        return self.table.nb_processors

    @cached_property
    def metrics(self) -> dict[str, float | int | None]:
        """Counts and metrics (SI units), computed now: both runs by the same code."""
        return overall(self.table)

    @property
    def as_row(self) -> pd.DataFrame:
        """The run as a row of a campaign's results, as far as it is known."""
        row = dict(self.settings.get("run", {"users": None})) | self.metrics
        row |= {"nb_res": self.nb_processors, "users_react": self.settings.get("users_react")}
        return pd.DataFrame([{name: value for name, value in row.items() if np.isscalar(value)}])


def read_run(source: Source) -> RunData:
    """Read a run; raises :class:`InputError`, naming file and line, for what is none."""
    path = source.path
    table = read_jobs(path, machine_size(path), ("job_id", *NEEDED))
    if not len(table.submit):
        raise InputError(f"{path} has no jobs: there is nothing to compare")
    settings = stored_settings(path)
    settings.pop("metrics", None)
    run = RunData(source.name, table, settings)
    if twice := run.jobs.duplicated(["workload", "job"]).to_numpy().nonzero()[0].tolist():
        row = run.jobs.iloc[twice[0]]
        raise InputError(f"{path}: job {row['workload']}!{row['job']} is there twice")
    return run


def run_of(result: Result, name: str) -> RunData:
    """Return the run of what :func:`batsched_py.simulate` gave."""
    return RunData(name, result.table_as_written(), dict(result.settings))


def _frame(table: JobTable) -> pd.DataFrame:
    """Return the columns by our names, with the measures."""
    columns = {name: table.text_column(theirs) for name, theirs in _TEXTS.items()}
    columns["user"] = table.user
    frame = pd.DataFrame({name: pd.Series(texts, dtype=str) for name, texts in columns.items()})
    slowdown = table.turnaround / np.maximum(table.execution, BOUND)
    return frame.assign(
        processors=frame["processors"].where(table.ran, ""),
        submit=table.submit,
        start=table.start,
        finish=table.finish,
        execution=table.execution,
        size=table.size.astype(np.int64),
        original=table.original_submit,
        wait=table.waiting,
        turnaround=table.turnaround,
        slowdown=np.maximum(slowdown, 1.0),
        lateness=table.lateness,
        measured=table.measured,
    )
