"""``batsched-py campaign``: all runs of a campaign file, then its report."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from batsched_py.campaign.spec import Campaign, find_campaign, read_campaign
from batsched_py.commands import options as o
from batsched_py.errors import SimulationError, UsageError
from batsched_py.files import locked, make_folder_of
from batsched_py.plugins import load_file
from batsched_py.workload.archive import SAMPLE

if TYPE_CHECKING:
    from batsched_py.campaign.runner import Failure, PreparedRun


def campaign(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Campaign file, or a study's name.")],
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Simulations at a time (default: cores).")
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option("--log", help="Log to use instead of the file's (repeatable)."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-e", "--export", help="Folder of the results (default: campaigns/NAME)."),
    ] = None,
    log_dir: Annotated[
        list[Path] | None,
        typer.Option("--log-dir", help="Folder to look for logs in first (repeatable)."),
    ] = None,
    backend: o.Backend = None,
    batsim: o.Batsim = None,
    timeouts: o.Timeouts = None,
) -> None:
    """Run what is missing of a campaign, then print its tables and draw its figures.

    A run is named by all that determines it: a second call continues where the first stopped.
    """
    from batsched_py.campaign.runner import prepare

    outside = {"backend": backend, "batsim": batsim, "timeouts": timeouts}
    spec = read_campaign(find_campaign(file), log, outside)
    folder = out or Path("campaigns") / spec.name
    make_folder_of(folder / "runs.csv")
    runs = prepare(spec.runs, folder, log_dir or [])
    jobs = jobs if jobs is not None else os.cpu_count() or 1
    missing = [run for run in runs if not run.done]
    _say(f"{spec.name}: {len(runs)} runs, {len(runs) - len(missing)} of them done before")
    with locked(folder):
        failures = _execute_with_progress(missing, jobs) if missing else []
    for failure in failures:
        _say(f"failed: {failure.run.folder}: {failure.message}")
    if len(failures) < len(runs):
        _report(spec, runs, folder)
    if spec.hint and any(run.settings.log == SAMPLE for run in spec.runs):
        print(spec.hint)
    if failures:
        raise SimulationError(
            f"{len(failures)} of {len(runs)} runs failed; what they said is in the log.txt of "
            "their folders; the same command tries them again"
        )


def _execute_with_progress(missing: list[PreparedRun], jobs: int) -> list[Failure]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from batsched_py.campaign.runner import execute as run_all

    columns = (
        TextColumn("simulations"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(missing))
        return run_all(missing, jobs, lambda: progress.advance(task))


def _report(spec: Campaign, runs: list[PreparedRun], folder: Path) -> None:
    from rich.console import Console

    from batsched_py.campaign.results import CampaignResults

    results = CampaignResults(runs, folder, spec.path.parent)
    print(f"wrote {results.write_table()}")
    if spec.report is None:
        return
    place = spec.path.parent / spec.report
    report = load_file(str(place))
    if not callable(report):
        raise UsageError(f"{place} is not a function: expected report(results, console)")
    for path in report(results, Console()):
        print(f"wrote {path}")


def _say(text: str) -> None:
    print(text, file=sys.stderr)
