"""``batsched-py info``: what is in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from batsched_py.commands import shared_options as o
from batsched_py.support.terminal_text import print_exactly, print_pairs, print_table
from batsched_py.units import DAY, HOUR
from batsched_py.workload.logs.log_archive import find_log

if TYPE_CHECKING:
    from batsched_py.workload.log_summary import LogSummary
    from batsched_py.workload.logs.log_months import LogMonth


def info(
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG", help="SWF log or Batsim workload: a file, or a name of `logs list`."
        ),
    ],
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Summarise a log: machine, jobs, load, missing values, unusual values and months.

    Examples:
        batsched-py info sample
        batsched-py info sample --json
    """
    from batsched_py.workload.log_summary import log_summary

    summary = log_summary(find_log(log, log_dir or []), skip_bad_lines=skip_bad_lines)
    if as_json:
        print_exactly(msgspec.json.format(msgspec.json.encode(summary), indent=1).decode())
    else:
        _print(summary)


def _print(summary: LogSummary) -> None:
    print_pairs(summary.pairs)
    if summary.flags is not None:
        print()
        flags = [(flag.kind, flag.text) for flag in summary.flags]
        print_pairs(flags or [("no flag", "nothing is unusual")])
    if summary.months:
        print()
        _print_months(summary.months)


def _print_months(months: list[LogMonth]) -> None:
    headings = (
        *("month", "days", "jobs", "users", "offered load", "utilisation"),
        *("mean wait [h]", "widest job", "longest request [h]"),
    )
    rows = [
        [
            month.name + (" (part)" if month.is_part else ""),
            f"{(month.end - month.begin) / DAY:.1f}",
            str(month.jobs),
            _number(month.users),
            _number(month.offered_load, ".3f"),
            _number(month.utilisation, ".3f"),
            _number(month.mean_wait, ".2f", HOUR),
            _number(month.widest_job),
            _number(month.longest_request, ".1f", HOUR),
        ]
        for month in months
    ]
    print_table(headings, rows, headings[1:])


def _number(value: float | None, form: str = "", unit: float = 1) -> str:
    if value is None:
        return "-"
    return format(value / unit, form) if form else str(value)
