"""``batsched-py metrics``: the metrics of a schedule, from its table of jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from batsched_py.errors import UsageError
from batsched_py.support.terminal_text import print_exactly, print_table, say


def metrics(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Prefix of a run, or its table PREFIX_jobs.csv, of batsched-py or of Batsim.",
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of processors of the machine. [default: from the files of the run]",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,...",
            help="Metrics to print, by their names or as papers call them (SLDwA). [default: all]",
        ),
    ] = None,
    by_user: Annotated[
        bool,
        typer.Option("--per-user", help="Print a row for each user, over the jobs of the user."),
    ] = False,
    by_site: Annotated[
        bool,
        typer.Option(
            "--per-site", help="Print a row for each grid site, over the jobs of its users."
        ),
    ] = False,
    list_all: Annotated[
        bool,
        typer.Option(
            "--list", help="List all metrics with unit, formula and source, instead of values."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the table as CSV.")] = False,
) -> None:
    """Print the metrics of a finished run, with unit, measured jobs and source.

    Examples:
        batsched-py metrics out/easy
        batsched-py metrics out/easy --only mean_waiting_time,SLDwA --per-user --csv
        batsched-py metrics --list
    """
    from batsched_py.commands import metric_rows
    from batsched_py.metrics import per_site, per_user

    if as_json and as_csv:
        raise UsageError("--json and --csv: one of them")
    if by_user and by_site:
        raise UsageError("--per-user and --per-site: one of them")
    names = metric_rows.resolve_names(only or [])
    if list_all:
        if file is not None or by_user or by_site:
            raise UsageError("--list reads no file: leave out FILE, --per-user and --per-site")
        rows = metric_rows.make_registry_rows(names)
    elif file is None:
        raise UsageError("FILE is missing: give the prefix of a run, or --list")
    else:
        file = metric_rows.find_table(file)
        table = metric_rows.load_table(file, nodes)
        if by_user:
            rows = metric_rows.make_part_rows("user", per_user, table, names)
        elif by_site:
            rows = metric_rows.make_part_rows("site", per_site, table, names)
        else:
            rows = metric_rows.make_rows(table, names)
        if by_user and not rows:
            say(f"note: {file} names no users")
        if by_site and not rows:
            say(f"note: {file} has no grid sites (PREFIX_run.json names none)")
    _show(rows, "json" if as_json else "csv" if as_csv else "text")


def _show(rows: list[dict[str, Any]], form: str) -> None:
    if form == "json":
        print_exactly(msgspec.json.format(msgspec.json.encode(rows), indent=1).decode())
    elif rows and form == "csv":
        from batsched_py.files.csv_text import csv_of_rows

        print_exactly(csv_of_rows(rows[0], (row.values() for row in rows)), end="")
    elif rows:
        numeric = {key for key in rows[0] if any(type(row[key]) in (int, float) for row in rows)}
        print_table(list(rows[0]), [[_cell(row[key]) for key in rows[0]] for row in rows], numeric)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.10g}" if isinstance(value, float) else str(value)
