"""``batsched-py convert``: a log or workload becomes a workload file of Batsim 4.2 or 5."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from batsched_py.commands import shared_options as o
from batsched_py.errors import UsageError
from batsched_py.support.terminal_text import say
from batsched_py.workload.conversion_rules import Rules, describe
from batsched_py.workload.logs.log_archive import find_log


@o.with_rules
def convert(
    *,
    rules: Rules,
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="SWF log, or workload of Batsim 4.2 or 5: a file, or a name of `logs list`.",
        ),
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT.json", help="Batsim workload to write (.json).")
    ],
    batsim5: Annotated[
        bool, typer.Option("--batsim5", help="Write a workload for Batsim 5 instead of 4.2.")
    ] = False,
    sites: o.Sites = None,
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
) -> None:
    """Convert a log to a workload file of Batsim 4.2 or 5.

    The rules are those of a simulation. A workload of one version of Batsim can be converted to the
    other version.

    Examples:
        batsched-py convert sample sample.json
        batsched-py convert sample.json sample5.json --batsim5
    """
    from batsched_py.run.resolved_machine import read_sites
    from batsched_py.workload.batsim.batsim_workload import write_workload
    from batsched_py.workload.load import load_workload

    if output.suffix != ".json":
        raise UsageError(f"{output}: expected a name that ends with .json")
    workload = load_workload(
        find_log(source, log_dir or []),
        rules,
        skip_bad_lines=skip_bad_lines,
        sites=() if sites is None else read_sites(sites),
    )
    write_workload(workload, output, batsim5=batsim5)
    for note in workload.notes:
        say(f"note: {note}")
    say(f"rules: {describe(rules)}")
    wrote = f"{len(workload.jobs)} jobs, {len(workload.profiles)} profiles"
    say(f"wrote {wrote} to {output}")
