"""Options that several commands share: the rules by which a log becomes jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RulesPreset = Annotated[
    str,
    typer.Option(
        "--rules",
        metavar="PRESET",
        help="How a log becomes jobs: replay-feedback, predictsim or dynp; the options below "
        "change single rules.",
    ),
]
Size = Annotated[
    str | None,
    typer.Option("--size", metavar="requested|allocated", help="Processors of a job."),
]
Walltime = Annotated[
    str | None,
    typer.Option(
        "--walltime",
        metavar="requested|double|exact",
        help="Kill limit; double: max(request, 2 x run time); exact: none, policies are told the "
        "run time.",
    ),
]
Runtime = Annotated[
    str | None,
    typer.Option("--runtime", metavar="recorded|cut-at-request", help="Run time of a job."),
]
Drop = Annotated[
    str | None,
    typer.Option(
        "--drop",
        metavar="KIND,...",
        help="Jobs to leave out: zero-runtime, no-request, too-wide, cancelled, failed, no-user.",
    ),
]
UnknownUser = Annotated[
    str | None,
    typer.Option(
        "--unknown-user",
        metavar="one|each|drop",
        help="Jobs of unknown users: all of one user, each of its own, or left out.",
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="delay|parallel_homogeneous", help="What a job does in Batsim's terms."
    ),
]
First = Annotated[int | None, typer.Option("--first", metavar="N", help="Only the first N jobs.")]
SkipBadLines = Annotated[
    bool, typer.Option("--skip-bad-lines", help="Leave malformed lines out and count them.")
]
LogDirs = Annotated[
    list[Path] | None,
    typer.Option(
        "--log-dir",
        metavar="FOLDER",
        help="Folder to look for logs in first (repeatable; also the variable BATSCHED_LOGS).",
    ),
]
