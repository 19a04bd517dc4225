"""``batsched-py info``: what is in a log."""

from __future__ import annotations

from typing import Annotated

import typer

from batsched_py.commands import shared_options as o
from batsched_py.support.text_table import print_pairs
from batsched_py.workload.log_archive import find_log


def info(
    log: Annotated[
        str, typer.Argument(metavar="LOG", help="SWF log or Batsim workload: a file or a name.")
    ],
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
) -> None:
    """Summarise a log: header, size, load, what is unknown, and quantiles."""
    from batsched_py.workload.log_summary import log_summary

    print_pairs(log_summary(find_log(log, log_dir or []), skip_bad_lines=skip_bad_lines))
