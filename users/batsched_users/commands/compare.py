"""``batsched-py users compare``: measures workloads, to compare a generated one with its log."""

from __future__ import annotations

from typing import Annotated

import typer

from batsched_py.commands import shared_options as o
from batsched_py.support.terminal_text import print_table
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.logs.log_archive import find_log
from batsched_users.commands.output import load_with_notes, stem


@o.with_rules(walltime="requested", size="allocated")  # requested walltimes, allocated sizes
def compare(
    *,
    rules: Rules,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="Logs or Batsim workloads: files, or names; the first is the reference.",
        ),
    ],
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
) -> None:
    """Compare generated workloads with a log by measures such as locality and self-similarity.

    `batsched-py simulate --walltime requested --swf FILE` writes the workload of a simulation.
    """
    from batsched_users.measures.job_columns import columns_of_workload
    from batsched_users.measures.workload_comparison import compare_workloads as measures_of

    paths = [find_log(source, log_dir or []) for source in sources]
    workloads = (load_with_notes(path, rules, skip_bad_lines) for path in paths)
    measures = measures_of([columns_of_workload(workload) for workload in workloads])
    labels = [f"{line.name} ({line.unit})" if line.unit else line.name for line in measures]
    names = [stem(path.name) for path in paths]
    rows = [(label, *map(_text, line.values)) for label, line in zip(labels, measures, strict=True)]
    print_table(("", *names), rows, numeric=names)


def _text(value: float) -> str:
    if value != value:
        return "-"
    return f"{value:.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"
