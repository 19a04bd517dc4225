"""``batsched-py compare``: what differs between two runs or two campaigns."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from batsched_py.errors import OutputError, UsageError
from batsched_py.files.readers import is_folder
from batsched_py.files.writers import write_whole
from batsched_py.support.json_values import did_you_mean
from batsched_py.support.terminal_text import console, print_exactly

if TYPE_CHECKING:
    import pandas as pd

    from batsched_py.report.comparing.campaigns import CampaignComparison
    from batsched_py.report.comparing.runs import RunComparison
    from batsched_py.report.document import Report

    _Comparison = RunComparison | CampaignComparison

ROWS = 12
"""Rows of a table on the terminal; the files have all."""
_RUN = "its prefix, its PREFIX_jobs.csv, or its folder."


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=f"A run or a campaign: {_RUN}")],
    b: Annotated[
        str,
        typer.Argument(
            metavar="B", help="Another run or campaign, whose differences from A are shown."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Folder to write a report (report.html), tables (CSV, Markdown) and figures to.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole comparison as JSON.")
    ] = False,
    csv: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Print one table of the comparison as CSV, such as metrics or users.",
        ),
    ] = None,
    fail: Annotated[
        bool,
        typer.Option(
            "--fail-on-difference", help="End with exit code 1 if jobs or metrics differ."
        ),
    ] = False,
) -> None:
    """Show the differences between two runs or two campaigns (B minus A).

    Runs may be of batsched-py or of Batsim. Options that differ are shown first.

    Examples:
        batsched-py compare out/easy out/fcfs
        batsched-py compare out/easy out/fcfs -o out/comparison
    """
    if as_json and csv is not None:
        raise UsageError("--json and --csv: one of them")
    if out is not None and os.path.exists(out) and not is_folder(out):
        raise OutputError(f"{out} is not a folder: expected -o DIR")
    compared = _compared(a, b)
    report = compared.report()
    tables = {table.name: table.frame for table in report.tables} | compared.whole_tables
    if csv is not None and csv not in tables:
        hint = did_you_mean(csv, tables)
        raise UsageError(f"--csv {csv}: no such table here{hint}; there are {', '.join(tables)}")
    # First, as nobody may read what is printed.
    written = _write(report, compared.whole_tables, out) if out is not None else 0
    if as_json:
        _print_json(compared, tables)
    elif csv is not None:
        from batsched_py.files.csv_text import format_frame_csv

        print_exactly(format_frame_csv(tables[csv]), end="")
    else:
        _show(report, compared.identical)
    if out is not None and not as_json and csv is None:
        print(f"wrote {written} files into {out}; {out / 'report.html'} shows all")
    if fail and not compared.identical:
        raise typer.Exit(1)


def _compared(a: str, b: str) -> _Comparison:
    from batsched_py.report.comparing.compared_sources import find_pair

    first, second = find_pair(a, b)
    if first.kind == "run":
        from batsched_py.report.comparing.runs import RunComparison

        return RunComparison.from_sources(first, second)
    from batsched_py.report.comparing.campaigns import CampaignComparison

    return CampaignComparison.from_sources(first, second)


def _show(report: Report, identical: bool) -> None:
    from batsched_py.report.forms.terminal import print_report

    if identical:
        print(report.answer)
    else:
        print_report(_short(report), console())


def _short(report: Report) -> Report:
    """Return the report with the first rows of long tables, and without notes on their reading."""
    from batsched_py.report.document import Section, Table

    def part(whole: Any) -> Any:
        if not isinstance(whole, Table):
            return whole
        nb = len(whole.frame)
        left = f"{nb - ROWS} more rows: -o DIR, --json or --csv {whole.name}." if nb > ROWS else ""
        marks = tuple(mark for mark in whole.marks if mark[0] < ROWS)
        frame = whole.frame.head(ROWS)
        return msgspec.structs.replace(whole, frame=frame, note=left, marks=marks)

    sections = [
        Section(section.title, tuple(map(part, section.parts))) for section in report.sections
    ]
    return msgspec.structs.replace(report, sections=tuple(sections))


def _print_json(compared: _Comparison, tables: dict[str, pd.DataFrame]) -> None:
    content = {
        "identical": compared.identical,
        "summary": compared.summary,
        "tables": {  # what is no finite number is null
            name: msgspec.Raw(frame.to_json(orient="records", double_precision=15).encode())
            for name, frame in tables.items()
        },
    }
    print_exactly(msgspec.json.format(msgspec.json.encode(content), indent=1).decode())


def _write(report: Report, whole: dict[str, pd.DataFrame], out: Path) -> int:
    """Write the page, the files of the report, and the whole tables; return how many files."""
    from batsched_py.files.csv_text import format_frame_csv
    from batsched_py.report.forms.export_files import FOLDER, PAGE
    from batsched_py.report.forms.publish import write_page

    _, written = write_page(lambda: report, out / PAGE, jobs=1)
    for name, frame in whole.items():
        write_whole(out / FOLDER / f"{name}.csv", format_frame_csv(frame))
    return len(written) + len(whole)
