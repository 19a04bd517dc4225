"""``batsched-py optimum``: how far dynP's plans are from the optimum, step by step."""

from __future__ import annotations

from math import isfinite
from typing import Annotated

import typer

from batsched_py.commands import shared_options as o
from batsched_py.errors import UsageError
from batsched_py.files.writers import make_folder_of, write_whole
from batsched_py.optimum.step_selection import Selection
from batsched_py.options.setting_fields import parse_options, setting_fields
from batsched_py.support.signals import default_stop_signals
from batsched_py.workload.conversion_rules import Rules, describe
from batsched_py.workload.logs.log_archive import find_log


@o.with_rules
@o.with_fields("selection", Selection, setting_fields(Selection).values())
def optimum(
    *,
    rules: Rules,
    selection: Selection,
    source: o.Input,
    prefix: o.Prefix = "out",
    scheduler_options: o.SchedulerOptions = None,
    nodes: o.Nodes = None,
    time_limit: Annotated[
        float, typer.Option(help="Time limit of the solver for each step, in seconds.", metavar="S")
    ] = 60.0,
    gap: Annotated[
        float, typer.Option(help="Relative gap to the optimum that counts as optimal.", metavar="X")
    ] = 0.0,
    scale: Annotated[
        str,
        typer.Option(
            metavar="auto|exact|SECONDS",
            help="Unit of time of the solver: by the size of the step, exact, or in seconds.",
        ),
    ] = "auto",
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
) -> None:
    """Compare the plans of the policy dynP with optimal plans, step by step.

    Integer programming finds the optimal plans, which do not change the simulation. The output file
    PREFIX_optimum.csv has a row for each step. The rules of Streit's thesis are --rules dynp.

    Examples:
        batsched-py optimum sample --first 300 --steps 2 --most-waiting 5 -e out/dynp
    """
    from batsched_py.optimum import step_study as study
    from batsched_py.workload.load import load_workload

    time_scale = study.parse_scale(scale)
    _check(nodes, time_limit, gap)
    options = parse_options(scheduler_options or [], "-O")
    path = f"{prefix}_optimum.csv"
    make_folder_of(path)  # before the work, not after it
    workload = load_workload(find_log(source, log_dir or []), rules, skip_bad_lines=skip_bad_lines)
    with default_stop_signals():
        chosen = study.collect_steps(workload, options, selection, nodes)
        print(f"rules: {describe(rules)}")
        print(study.format_header(), flush=True)
        rows: list[study.StepComparison] = []
        for row in study.compare_steps(
            chosen, time_scale=time_scale, time_limit=time_limit, mip_rel_gap=gap
        ):
            rows.append(row)
            write_whole(path, study.format_csv(rows))
            print(study.format_line(row), flush=True)
    print(study.describe_averages(rows))
    print(f"wrote {path}")


def _check(nodes: int | None, time_limit: float, gap: float) -> None:
    if nodes is not None and nodes < 1:
        raise UsageError(f"--nodes {nodes}: expected at least 1")
    if not (isfinite(time_limit) and time_limit > 0):
        raise UsageError(f"--time-limit {time_limit:g}: expected seconds, more than 0")
    if not 0 <= gap < 1:
        raise UsageError(f"--gap {gap:g}: expected a share from 0 to 1")
