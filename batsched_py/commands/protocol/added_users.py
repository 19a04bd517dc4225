"""Users who submit jobs to a scheduler of others, for the commands that connect both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from batsched_py.commands.protocol.decision_process_options import load_users_workload, make_run
from batsched_py.files.digests import sha256
from batsched_py.plugins.plugins import EXTERNAL
from batsched_py.run.settings import Settings
from batsched_py.workload.logs.log_archive import find_log

if TYPE_CHECKING:
    from batsched_py.run.external_scheduler import ExternalScheduler
    from batsched_py.run.resolved_run import ResolvedRun

Registers = Annotated[
    bool,
    typer.Option(
        "--scheduler-registers", help="With users, let the scheduler register jobs of its own."
    ),
]


class AddedUsers(msgspec.Struct, frozen=True):
    """A scheduler of others and the users who meet it."""

    external: ExternalScheduler
    resolved: ResolvedRun
    """The run as it is stored."""


def make_scheduler_settings(settings: Settings, **options: str | bool) -> Settings:
    """Return settings with a scheduler of others as policy, and those of its options that say."""
    given = {name: value for name, value in options.items() if value}
    return msgspec.structs.replace(settings, scheduler=EXTERNAL, scheduler_options=given)


def add_users(
    settings: Settings,
    log: str | None,
    log_dirs: Sequence[Path] | None,
    *,
    endpoint: str,
    registers: bool,
) -> AddedUsers | None:
    """Return users who meet the scheduler at ``endpoint``; None: the settings name none.

    Raises :class:`UsageError` for settings that make no sense.
    """
    run = make_run(make_scheduler_settings(settings, endpoint=endpoint, registers=registers))
    workload = load_users_workload(run, log, log_dirs)
    if workload is None or log is None:
        return None
    from batsched_py.run.external_scheduler import make_external
    from batsched_py.run.plugin_objects import BY_NAME
    from batsched_py.run.resolved_machine import ResolvedMachine
    from batsched_py.run.resolved_run import Input, ResolvedRun

    path = find_log(log, log_dirs or [])
    resolved = ResolvedRun(
        run=run,
        plugins=BY_NAME,
        machine=ResolvedMachine(),
        input=Input(workload, sha256(path), path),
        files={},
    )
    return AddedUsers(make_external(run, workload), resolved)
