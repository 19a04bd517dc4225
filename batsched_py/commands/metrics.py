"""``batsched-py metrics``: the metrics of a schedule, from its table of jobs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from batsched_py.errors import UsageError
from batsched_py.metrics import COUNTS, METRICS, JobTable, Metric, overall, per_site, per_user
from batsched_py.results.jobs_file import read_jobs
from batsched_py.results.run_files import machine_size, unknown_whole
from batsched_py.run.stored_run import jobs_file
from batsched_py.support.file_readers import is_folder
from batsched_py.support.json_values import did_you_mean
from batsched_py.support.spreadsheet_cells import csv_of_rows
from batsched_py.support.terminal_text import print_exactly, say
from batsched_py.support.text_table import print_table

_Rows = list[dict[str, Any]]


def metrics(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="PREFIX of a run, or PREFIX_jobs.csv, also of Batsim."),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Processors of the machine; else PREFIX_run.json or PREFIX_schedule.csv tell.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,...", help="Only these metrics, by name or as papers call them (SLDwA)."
        ),
    ] = None,
    by_user: Annotated[
        bool, typer.Option("--per-user", help="The metrics of each user's jobs, a row per user.")
    ] = False,
    by_site: Annotated[
        bool,
        typer.Option("--per-site", help="The metrics of each site and of the jobs of its users."),
    ] = False,
    list_all: Annotated[
        bool, typer.Option("--list", help="List all metrics with formula and source instead.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Print the metrics of a schedule: value, unit, over which jobs, and source."""
    if as_json and as_csv:
        raise UsageError("--json and --csv: one of them")
    if by_user and by_site:
        raise UsageError("--per-user and --per-site: one of them")
    names = _chosen(only or [])
    if list_all:
        if file is not None or by_user or by_site:
            raise UsageError("--list is about no file: leave out FILE, --per-user and --per-site")
        rows = _registry(names or list(METRICS))
    elif file is None:
        raise UsageError("which FILE? Give a PREFIX_jobs.csv, or --list")
    else:
        file = _of_prefix(file)
        table = _table(file, nodes)
        if by_user:
            rows = _of_parts("user", per_user, table, names)
        elif by_site:
            rows = _of_parts("site", per_site, table, names)
        else:
            rows = _of_all(table, names)
        if by_user and not rows:
            say(f"note: {file} names no users")
        if by_site and not rows:
            say(f"note: no PREFIX_run.json beside {file} tells of sites")
    _show(rows, "json" if as_json else "csv" if as_csv else "text")


def _of_prefix(file: Path) -> Path:
    """Return PREFIX_jobs.csv if PREFIX is given."""
    return jobs_file(file) if is_folder(file) or not os.path.exists(file) else file


def _table(file: Path, nodes: int | None) -> JobTable:
    """Read the jobs and say on stderr what is missing for some metrics."""
    if nodes is not None and nodes < 1:
        raise UsageError(f"--nodes {nodes}: expected a number of processors, at least 1")
    table = read_jobs(file, machine_size(file) if nodes is None else nodes)
    if note := unknown_whole(file):
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
    if not len(table.submit):
        say(f"note: {file} has no jobs")
    elif table.nb_processors is None:
        say(
            "note: the machine's size is unknown, so there is no utilisation and the like; give "
            f"--nodes (nothing beside {file.name} tells it)"
        )
    return table


def _chosen(only: Sequence[str]) -> list[str]:
    """Return the names of the metrics asked for, also by the papers' short names."""
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
        raise UsageError(f"{asked} is the name of {len(meant)} metrics; say {', '.join(meant)}")
    if not meant:
        every = [*METRICS, *COUNTS, *(text for short in shorts.values() for text in short)]
        raise UsageError(f"unknown metric {asked!r}{did_you_mean(asked, every)}; see --list")
    return meant[0]


def _of_all(table: JobTable, names: list[str]) -> _Rows:
    values = overall(table)
    return [
        {
            "name": name,
            "value": values.get(name),
            "unit": METRICS[name].unit if name in METRICS else "jobs",
            "over": METRICS[name].denominator if name in METRICS else "",
            "source": METRICS[name].source if name in METRICS else "",
        }
        for name in names or values
    ]


def _of_parts(
    kind: str, metrics_of: Callable[..., Mapping[str, Any]], table: JobTable, names: list[str]
) -> _Rows:
    """Return a row for each user or site."""
    chosen = [name for name in names if name in METRICS]
    values_of = metrics_of(table, chosen) if names else metrics_of(table)
    return [{kind: name} | values for name, values in values_of.items()]


def _registry(names: list[str]) -> _Rows:
    return [
        {
            "name": name,
            "unit": metric.unit,
            "over": metric.denominator,
            "needs": _needed(metric),
            "formula": metric.formula,
            "source": metric.source,
        }
        for name, metric in METRICS.items()
        if name in names
    ]


def _needed(metric: Metric) -> str:
    if metric.needs_sites:
        return "sites"
    return "machine size" if metric.needs_machine else ""


def _show(rows: _Rows, form: str) -> None:
    if form == "json":
        print_exactly(msgspec.json.format(msgspec.json.encode(rows), indent=1).decode())
    elif rows and form == "csv":
        print_exactly(csv_of_rows(rows[0], (row.values() for row in rows)), end="")
    elif rows:
        _show_text(rows)


def _show_text(rows: _Rows) -> None:
    numeric = {key for key in rows[0] if any(type(row[key]) in (int, float) for row in rows)}
    print_table(list(rows[0]), [[_cell(row[key]) for key in rows[0]] for row in rows], numeric)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.10g}" if isinstance(value, float) else str(value)
