"""Makes the rows that ``metrics`` shows, one for each metric, user or site."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from batsched_py.errors import UsageError
from batsched_py.files.readers import is_folder
from batsched_py.metrics import COUNTS, METRICS, JobTable, Metric, overall
from batsched_py.results.jobs_file import read_jobs
from batsched_py.results.run_files import note_missing_description, read_machine_size
from batsched_py.run.stored_run import find_jobs_file
from batsched_py.support.json_values import did_you_mean
from batsched_py.support.terminal_text import say

Rows = list[dict[str, Any]]


def find_table(file: Path) -> Path:
    """Return the table of jobs of a run by the prefix of the run; any other file unchanged."""
    return find_jobs_file(file) if is_folder(file) or not os.path.exists(file) else file


def load_table(file: Path, nodes: int | None) -> JobTable:
    """Read a table of jobs; print a note on stderr for what some metrics lack."""
    if nodes is not None and nodes < 1:
        raise UsageError(f"--nodes {nodes}: expected a number of processors, at least 1")
    table = read_jobs(file, read_machine_size(file) if nodes is None else nodes)
    if note := note_missing_description(file):
        say(f"note: {note}")
    widest = int(table.size.max(initial=0))
    if table.nb_processors is not None and widest > table.nb_processors:
        raise UsageError(
            f"{file} has a job on {widest} processors, more than the {table.nb_processors} of the "
            "machine; give the right number by --nodes"
        )
    if left_out := int((~table.measured).sum()):
        ends = "" if table.rare[~table.measured].all() else ", of the warm-up or of the cool-down"
        say(
            f"note: {left_out} of {len(table.submit)} jobs are of rare behaviour{ends}; they load "
            "the machine and are not measured"
        )
    if note := table.zero_length_note:
        say(f"note: {note}")
    if not len(table.submit):
        say(f"note: {file} has no jobs")
    elif table.nb_processors is None:
        say(
            "note: the number of processors of the machine is unknown, so utilisation and similar "
            "metrics are missing; give --nodes"
        )
    return table


def resolve_names(only: Sequence[str]) -> list[str]:
    """Return the names of the requested metrics, which may be short names of papers."""
    names = [name.strip() for text in only for name in text.split(",")]
    return list(dict.fromkeys(_resolved(name) for name in names if name))


def _resolved(asked: str) -> str:
    if asked in METRICS or asked in COUNTS:
        return asked
    shorts = {name: metric.short for name, metric in METRICS.items()}
    meant = [
        name
        for name, short in shorts.items()
        if asked.casefold() in (text.casefold() for text in short)
    ]
    if len(meant) > 1:
        raise UsageError(
            f"{asked} is the name of {len(meant)} metrics; choose one of {', '.join(meant)}"
        )
    if not meant:
        every = [*METRICS, *COUNTS, *(text for short in shorts.values() for text in short)]
        raise UsageError(f"unknown metric {asked!r}{did_you_mean(asked, every)}; see --list")
    return meant[0]


def make_rows(table: JobTable, names: list[str]) -> Rows:
    """Return a row for each metric of all jobs."""
    values = overall(table)
    return [
        {
            "name": name,
            "value": values[name] if name in values else METRICS[name].value(table),
            "unit": METRICS[name].unit if name in METRICS else "jobs",
            "over": METRICS[name].denominator if name in METRICS else "",
            "source": METRICS[name].source if name in METRICS else "",
        }
        for name in names or values
    ]


def make_part_rows(
    kind: str, metrics_of: Callable[..., Mapping[str, Any]], table: JobTable, names: list[str]
) -> Rows:
    """Return a row for each user or site."""
    chosen = [name for name in names if name in METRICS] if names else None
    return [{kind: name} | values for name, values in metrics_of(table, chosen).items()]


def make_registry_rows(names: list[str]) -> Rows:
    """Return unit, formula and source of some metrics, of all if none is named."""
    return [
        {
            "name": name,
            "meaning": metric.meaning,
            "unit": metric.unit,
            "over": metric.denominator,
            "needs": _needed(metric),
            "formula": metric.formula,
            "source": metric.source,
        }
        for name, metric in METRICS.items()
        if not names or name in names
    ]


def _needed(metric: Metric) -> str:
    return "machine size" if metric.needs_machine else metric.only_with
