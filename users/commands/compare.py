"""``batsched-py users compare``: how far a workload is like another one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from batsched_py.commands import options as o
from batsched_py.workload.archive import find_log
from batsched_py.workload.batsim_json import read_workload
from batsched_py.workload.load import is_batsim_json
from batsched_py.workload.swf import read_swf
from users.columns import JobColumns, columns_of_log, columns_of_workload
from users.commands.output import stem
from users.validation.report import compare as measures_of


def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="SWF logs or Batsim workloads: files or names; the first is the one to be like.",
        ),
    ],
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
) -> None:
    """Measure what a workload made by users must share with its log: locality and the like.

    For the workload of a simulation, write it by `simulate --swf FILE`.
    """
    paths = [find_log(source, log_dir or []) for source in sources]
    found = measures_of([_columns(path, skip_bad_lines) for path in paths])
    names = [stem(path.name)[:15] for path in paths]
    print(f"{'':50}" + "".join(f"{name:>16}" for name in names))
    for line in found:
        label = f"{line.name} ({line.unit})" if line.unit else line.name
        print(f"{label:50}" + "".join(f"{_text(value):>16}" for value in line.values))


def _columns(path: Path, skip_bad_lines: bool) -> JobColumns:
    if is_batsim_json(path):
        return columns_of_workload(read_workload(path))
    log = read_swf(path, skip_bad_lines=skip_bad_lines)
    return columns_of_log(log, size="allocated")


def _text(value: float) -> str:
    if value != value:
        return "-"
    return f"{value:.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"
