"""``batsched-py sessions``: cuts a log into sessions, and writes an SABjson file per user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from batsched_py.commands import shared_options as o
from batsched_py.errors import UsageError
from batsched_py.files.writers import keep_inputs, write_whole
from batsched_py.support.terminal_text import print_table, say
from batsched_py.units import HOUR
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.logs.log_archive import find_log
from batsched_users.commands.output import say_notes

if TYPE_CHECKING:
    from batsched_users.sessions.delimitation import Delimitation
    from batsched_users.sessions.graph_summary import Summary


@o.with_rules
def sessions(
    *,
    rules: Rules,
    source: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help="Log (.swf, .swf.gz) or Batsim workload (.json): a file or a name of `logs list`.",
        ),
    ],
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="OUTDIR", help="Folder to write a file user<ID>.SABjson for each user to."
        ),
    ],
    arrival: Annotated[
        float | None,
        typer.Option(
            "-a",
            "--arrival",
            help="Begin a session MINUTES after the last submission.",
            metavar="MINUTES",
        ),
    ] = None,
    last: Annotated[
        float | None,
        typer.Option(
            "-l",
            "--last",
            help="Begin a session MINUTES after the end of the job submitted last.",
            metavar="MINUTES",
        ),
    ] = None,
    latest: Annotated[
        float | None,
        typer.Option(
            "-m",
            "--max",
            help="Begin a session MINUTES after the end of all earlier jobs.",
            metavar="MINUTES",
        ),
    ] = None,
    boundary: Annotated[
        str,
        typer.Option(
            metavar=">=|>",
            help="Whether a gap of exactly MINUTES begins a session (>=) or not (>).",
        ),
    ] = ">=",
    summary_file: Annotated[
        Path | None,
        typer.Option(
            "--summary", help="CSV file to write with a line per user.", metavar="FILE.csv"
        ),
    ] = None,
    skip_bad_lines: o.SkipBadLines = False,
    log_dir: o.LogDirs = None,
) -> None:
    """Cut the jobs of each user of a log into sessions, and write their graphs.

    Give exactly one of -a, -l and -m, such as -a 60.
    """
    from batsched_py.workload.load import load_workload
    from batsched_users.sessions.delimitation import partition
    from batsched_users.sessions.graph_summary import format_table, summarise_graphs
    from batsched_users.sessions.sabjson import write_folder
    from batsched_users.sessions.session_graph import build_graph

    delimitation = _delimitation({"arrival": arrival, "last": last, "max": latest}, boundary)
    path = find_log(source, log_dir or [])
    if summary_file is not None:
        keep_inputs(summary_file, path)
    workload = load_workload(path, rules, skip_bad_lines=skip_bad_lines)
    say_notes(workload)
    users = partition(workload.jobs, delimitation)
    graphs = [build_graph(user_sessions) for user_sessions in users.values()]
    write_folder(folder, graphs, workload.profiles, delimitation)
    say(f"wrote {len(graphs)} files to {folder}")
    if summary_file is not None:
        write_whole(summary_file, format_table(graphs))
        say(f"wrote {summary_file}")
    _show(summarise_graphs(graphs), f"{workload.name}, sessions by {delimitation}")


def _delimitation(thresholds: dict[str, float | None], boundary: str) -> Delimitation:
    given = {method: value for method, value in thresholds.items() if value is not None}
    if len(given) != 1:
        flags = " and ".join(f"--{method}" for method in given) or "none"
        raise UsageError(
            f"expected exactly one of -a/--arrival, -l/--last, -m/--max, got {flags}; "
            "for example -a 60"
        )
    from batsched_users.sessions.delimitation import Delimitation

    ((method, threshold),) = given.items()
    return Delimitation(method, threshold, boundary)


def _show(numbers: Summary, title: str) -> None:
    print(title)
    rows = [
        (name.replace("_", " "), *_readable(name, getattr(numbers, name)))
        for name in numbers.__struct_fields__
    ]
    print_table(("", "value", "unit"), rows, numeric=("value",))


def _readable(name: str, value: float | None) -> tuple[str, str]:
    """Return a value of :class:`Summary` and its unit for a human reader."""
    is_share = "share" in name or "below" in name
    is_time = name.startswith("think_time") and not is_share
    unit = "%" if is_share else "h" if is_time else ""
    if value is None:
        return "-", unit
    if isinstance(value, int) and not is_time:
        return str(value), unit
    return f"{value * 100:.1f}" if is_share else f"{value / HOUR if is_time else value:.2f}", unit
