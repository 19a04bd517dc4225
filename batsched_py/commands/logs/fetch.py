"""``batsched-py logs``: the logs of the archive, where they are, and fetching them."""

from __future__ import annotations

from typing import Annotated

import typer

from batsched_py.commands import shared_options as o
from batsched_py.commands.help_text import CommandHelp, make_group
from batsched_py.errors import UsageError
from batsched_py.support.terminal_text import print_pairs
from batsched_py.workload.logs import log_archive as archive

logs = make_group(help="List, find and download logs of the Parallel Workloads Archive.")
_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of a log, as `logs list` prints it.")
]


@logs.command("fetch", cls=CommandHelp)
def fetch(name: _Name, log_dir: o.LogDirs = None) -> None:
    """Download and verify a log, unless it is on this computer, and print its path."""
    print(archive.fetch_log(name, log_dir or []))


@logs.command("path", cls=CommandHelp)
def path(name: _Name, log_dir: o.LogDirs = None) -> None:
    """Print the path of a log on this computer."""
    print(archive.find_log(name, log_dir or []))


@logs.command("list", cls=CommandHelp)
def list_logs(log_dir: o.LogDirs = None) -> None:
    """List the known logs, and their paths on this computer."""
    places = []
    for name in (archive.SAMPLE, archive.NONE, *archive.read_catalogue()):
        try:
            places.append((name, str(archive.find_log(name, log_dir or []))))
        except UsageError:
            places.append((name, "(not on this computer)"))
    print_pairs(places)
    print(f"Source: {archive.ARCHIVE}/ (cite Feitelson, Tsafrir, Krakov 2014)")
