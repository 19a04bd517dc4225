"""``batsched-py simulate``: one simulation from a log to its files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from batsched_py.commands import options as o
from batsched_py.files import make_folder_of
from batsched_py.results import Result
from batsched_py.simulation import Run, execute, parse_options
from batsched_py.workload.archive import find_log
from batsched_py.workload.rules import Rules, describe


@o.with_rules
def simulate(
    *,
    rules: Rules,
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="SWF log (.swf, .swf.gz) or Batsim workload (.json): a file or a log's name.",
        ),
    ],
    prefix: Annotated[
        str, typer.Option("-e", "--export", help="Prefix of the output files.", metavar="PREFIX")
    ] = "out",
    scheduler: Annotated[
        str, typer.Option("--scheduler", help="Policy: a name, or file.py:Class.", metavar="NAME")
    ] = "easy",
    scheduler_option: Annotated[
        list[str] | None,
        typer.Option("-O", help="Option of the policy (repeatable).", metavar="KEY=VALUE"),
    ] = None,
    users: Annotated[
        str,
        typer.Option(
            "--users",
            help="rigid (recorded times), feedback, another user model's name, or file.py:Class.",
            metavar="NAME",
        ),
    ] = "rigid",
    sessions: Annotated[
        str | None,
        typer.Option("--sessions", help="Delimitation in minutes, such as arrival:60 or max:20."),
    ] = None,
    user_option: Annotated[
        list[str] | None,
        typer.Option("-U", help="Option of the user model (repeatable).", metavar="KEY=VALUE"),
    ] = None,
    platform: Annotated[
        str | None,
        typer.Option("-p", "--platform", help="SimGrid platform file.", metavar="X.xml"),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option("--nodes", help="Number of processors (default: the log's machine)."),
    ] = None,
    speed_factor: Annotated[
        float, typer.Option("--speed-factor", help="Speed of the processors, as a multiple.")
    ] = 1.0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the users' chance.")] = 0,
    shake: Annotated[
        int | None,
        typer.Option(
            "--shake", help="Seed of a shaken order of simultaneous events (default: log order)."
        ),
    ] = None,
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
) -> None:
    """Simulate INPUT under a policy and write its jobs, summary and settings.

    The files are PREFIX_jobs.csv, PREFIX_schedule.csv and PREFIX_run.json.
    """
    make_folder_of(prefix)  # before the work, not after it
    user_options = parse_options(user_option or [], "-U")
    if sessions is not None:
        user_options["sessions"] = sessions
    run = Run(
        scheduler=scheduler,
        scheduler_options=parse_options(scheduler_option or [], "-O"),
        users=users,
        user_options=user_options,
        rules=rules,
        platform=platform,
        nodes=nodes,
        speed_factor=speed_factor,
        seed=seed,
        shake=shake,
        skip_bad_lines=skip_bad_lines,
    )
    result = execute(find_log(source, log_dir or []), run)
    paths = result.write(prefix)
    _report(result, run, paths)


def _report(result: Result, run: Run, paths: list[Path]) -> None:
    for note in result.settings["notes"]:
        print(f"note: {note}", file=sys.stderr)
    print(f"rules: {describe(run.rules)}")
    overall = result.metrics["overall"]
    print(
        f"{overall['nb_jobs']} jobs ({overall['nb_rejected']} rejected) on "
        f"{result.settings['nb_processors']} processors in {result.wall_time:.2f} s"
    )
    for name, unit, scale in (
        ("makespan", "days", 86_400),
        ("mean_waiting_time", "h", 3_600),
        ("max_waiting_time", "h", 3_600),
        ("mean_bounded_slowdown", "", 1),
        ("mean_lateness", "h", 3_600),
    ):
        value = overall[name]
        shown = "-" if value is None else f"{value / scale:.3f} {unit}"
        print(f"{name.replace('_', ' ')}: {shown}")
    print("wrote " + ", ".join(str(path) for path in paths))
