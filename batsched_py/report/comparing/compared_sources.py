"""Finds and reads the runs and campaigns that a user wants to compare."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pandas as pd

from batsched_py.campaign.campaign_file import STORED
from batsched_py.errors import InputError, UsageError
from batsched_py.files.readers import is_file, is_folder
from batsched_py.metrics import BOUND, overall
from batsched_py.results.job_table import JobTable
from batsched_py.results.jobs_file import NEEDED, read_jobs
from batsched_py.results.run_files import SUFFIX, read_machine_size, read_settings
from batsched_py.results.whole_run import RUN_JSON
from batsched_py.run.result import Result
from batsched_py.run.stored_run import find_jobs_file


class Source(msgspec.Struct, frozen=True):
    """A run or a campaign that a user named."""

    kind: Literal["run", "campaign"]
    name: str
    """As it was given, for headings."""
    path: Path
    """The table of jobs of a run, the folder of a campaign."""


def find_source(text: str | Path) -> Source:
    """Find a run by its prefix, its PREFIX_jobs.csv or its folder, or a campaign by its folder.

    Raises :class:`UsageError` if there is nothing, or not one thing, of that name.
    """
    path, name = Path(text), str(text)
    if is_file(path / STORED):
        return Source("campaign", name, path)
    if is_file(path):
        if not path.name.endswith(".csv"):
            raise UsageError(f"{path}: expected a PREFIX{SUFFIX}, its PREFIX, or a folder")
        return Source("run", name.removesuffix(SUFFIX), path)
    inside = []
    if is_folder(path):
        inside = sorted(path.glob(f"*{SUFFIX}")) or sorted(path.glob(f"*{RUN_JSON}"))
    if len(inside) == 1:  # the folder of a run
        path = Path(str(inside[0]).removesuffix(SUFFIX).removesuffix(RUN_JSON))
    return Source("run", name, find_jobs_file(path))


def find_pair(a: str | Path, b: str | Path) -> tuple[Source, Source]:
    """Find two runs or two campaigns by the paths that a user typed.

    Raises :class:`UsageError` if they are of two kinds, or one and the same.
    """
    first, second = find_source(a), find_source(b)
    if first.kind != second.kind:
        raise UsageError(
            f"{first.name} is a {first.kind}, {second.name} a {second.kind}: expected two runs or "
            "two campaigns; a run of a campaign is one of the folders in its folder runs"
        )
    if first.path.samefile(second.path):
        raise UsageError(f"{first.name} and {second.name} are the same {first.kind} ({first.path})")
    return first, second


_TEXTS = {
    "workload": "workload_name",
    "job": "job_id",
    "profile": "profile",
    "behaviour": "behaviour",
    "state": "final_state",
    "processors": "allocated_resources",
}


class RunData:
    """The jobs, metrics and settings of a run that is compared."""

    def __init__(self, name: str, table: JobTable, settings: dict[str, Any]) -> None:
        self.name = name
        jobs = _frame(table).sort_values(["submit", "workload", "job"])  # so that files agree
        self.jobs = jobs.reset_index(drop=True)
        """A row per job in order of submission: ``workload``, ``job``, ``user`` (empty if
        unknown), ``size`` (processors it got), ``profile``, ``state``, ``processors``,
        ``behaviour``; in seconds ``submit``, ``start``, ``finish``, ``execution``, ``original``
        (recorded submission), ``wait``, ``turnaround``, ``lateness``; and ``slowdown`` (bounded
        by 10 s). Jobs that never ran have nan as times; ``withdrawal`` is there if users withdrew
        any (seconds). ``measured`` is false for those of
        rare behaviour, of the warm-up and of the cool-down."""
        self.table = table.select(jobs.index.to_numpy())
        """The jobs in that order, for :mod:`batsched_py.metrics`."""
        self.settings = settings
        """Content of ``PREFIX_run.json`` without the metrics; empty if there is none."""

    @property
    def nb_processors(self) -> int | None:
        """Number of processors of the machine, None if unknown."""
        return self.table.nb_processors

    @cached_property
    def metrics(self) -> dict[str, float | int | None]:
        """Counts and metrics in SI units, computed anew by the same formulas for each run."""
        return overall(self.table)

    @property
    def as_row(self) -> pd.DataFrame:
        """The run as a row of a campaign's table of runs."""
        row = dict(self.settings.get("run", {"users": None})) | self.metrics
        row |= {"nb_res": self.nb_processors, "users_react": self.settings.get("users_react")}
        return pd.DataFrame([{name: value for name, value in row.items() if np.isscalar(value)}])


def read_run(source: Source) -> RunData:
    """Read a run; raises :class:`InputError` with file and line if it is damaged."""
    path = source.path
    table = read_jobs(path, read_machine_size(path), ("job_id", *NEEDED))
    if not len(table.submit):
        raise InputError(f"{path} has no jobs: there is nothing to compare")
    settings = read_settings(path)
    settings.pop("metrics", None)
    run = RunData(source.name, table, settings)
    if twice := run.jobs.duplicated(["workload", "job"]).to_numpy().nonzero()[0].tolist():
        row = run.jobs.iloc[twice[0]]
        raise InputError(f"{path}: job {row['workload']}!{row['job']} is there twice")
    return run


def make_run(result: Result, name: str) -> RunData:
    """Return a result of :func:`batsched_py.simulate` as a run to compare."""
    return RunData(name, result.table_as_written(), dict(result.settings))


def _frame(table: JobTable) -> pd.DataFrame:
    """Return the columns by our names, with the measures."""
    columns = {name: table.text_column(theirs) for name, theirs in _TEXTS.items()}
    columns["user"] = table.user
    frame = pd.DataFrame({name: pd.Series(texts, dtype=str) for name, texts in columns.items()})
    slowdown = table.turnaround / np.maximum(table.execution, BOUND)
    if len(table.withdrawal):
        frame["withdrawal"] = table.withdrawal
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
