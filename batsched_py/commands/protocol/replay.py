"""``batsched-py replay``: a recorded exchange against a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from batsched_py.commands import shared_options as o
from batsched_py.commands.protocol import decision_process_options as p
from batsched_py.errors import SimulationError
from batsched_py.run.settings import Settings

SHOWN = 2000
"""Characters of a message that are printed."""


@o.with_settings("scheduler_options", *p.OF_SITES, *p.OF_USERS, p.BUDGETS)
def replay(
    *,
    settings: Settings,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Recorded messages, as `batsched-py serve --record` writes them."
        ),
    ],
    scheduler: Annotated[
        str,
        typer.Option(
            "-v",
            "--scheduler",
            help="Policy: a name from `batsched-py list`, or FILE.py:CLASS.",
            metavar="NAME",
        ),
    ] = "easy",
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Fail for messages that Batsim cannot send, and for replies that it refuses.",
        ),
    ] = False,
    log: p.Log = None,
    clock: p.ClockText = None,
    log_dir: o.LogDirs = None,
) -> None:
    """Feed recorded messages to a policy, and show the first reply that differs.

    The exit code is 0 if every reply has the recorded decisions, else 1.
    """
    from batsched_py.transport.exchange_replay import find_first_difference, read_turns

    exchange = read_turns(file)
    run = p.make_run(msgspec.structs.replace(settings, scheduler=scheduler))
    workload = p.load_users_workload(run, log, log_dir)
    from batsched_py.transport.conversation import Conversation

    conversation = Conversation(p.SchedulerMaker(run, workload, "ENDPOINT", p.read_clock(clock)))
    difference = find_first_difference(exchange, conversation, strict=strict)
    if difference is None:
        print(f"{scheduler}: the same decisions in reply to all {len(exchange)} messages")
        return
    print(f"message {difference.n}: {_cut(difference.message)}")
    for name, decisions in (("recorded", difference.recorded), (scheduler, difference.ours)):
        for decision in decisions or ["(nothing more)"]:
            print(f"  only {name}: {_cut(decision)}")
    reason = f": {difference.error}" if difference.error else ""
    raise SimulationError(f"{file}: {scheduler} differs at message {difference.n}{reason}")


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"
