"""``batsched-py serve``: a policy, and users if wanted, for a Batsim that connects."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import typer

from batsched_py.commands import shared_options as o
from batsched_py.commands.protocol import decision_process_options as p
from batsched_py.commands.protocol import simulator_conversation as c
from batsched_py.errors import UsageError
from batsched_py.plugins.plugins import SCHEDULERS, find_accepted_options, load
from batsched_py.run.settings import Settings

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=p.ArgumentsFromFiles)
@o.with_settings(*p.OF_SITES, *p.OF_USERS, p.BUDGETS)
def serve(
    *,
    settings: Settings,
    variant: Annotated[
        str,
        typer.Option(
            "-v",
            "--variant",
            metavar="NAME",
            help="Policy: a name from `batsched-py list`, or FILE.py:CLASS.",
        ),
    ] = "easy",
    variant_options: Annotated[
        str | None,
        typer.Option(
            "--variant_options",
            metavar="JSON",
            help="Options of the policy as a JSON object, or @FILE with it.",
        ),
    ] = None,
    variant_options_filepath: Annotated[
        str | None,
        typer.Option(
            "--variant_options_filepath",
            metavar="FILE",
            help="File with options of the policy as a JSON object.",
        ),
    ] = None,
    endpoint: c.Endpoint = "tcp://127.0.0.1:28000",
    queue_order: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--queue_order",
            metavar="ORDER",
            help="Order of the queue, as the option order of a policy or as in batsched.",
        ),
    ] = None,
    verbosity: c.Verbosity = c.BatschedVerbosity.info,
    log: p.Log = None,
    clock: p.ClockText = None,
    prefix: c.Prefix = None,
    record: c.Record = None,
    first_timeout: c.FirstTimeout = 3600,
    silence_timeout: c.SilenceTimeout = 3600,
    log_dir: o.LogDirs = None,
) -> None:
    """Schedule the jobs of Batsim 4.2 or 5, which connects to this program.

    The program ends with the simulation. The exit code is 0 only if the simulation ended as it
    should. An argument @FILE stands for the arguments in that file.

    Examples:
        batsched-py serve -v easy --variant_options '{"extra_nodes": "instant"}'
        batsched-py serve -v fcfs --users feedback --log sample -s tcp://*:28001
    """
    from batsched_py.plugins.isolated_run import isolate

    options = p.read_json_options(variant_options, variant_options_filepath)
    if queue_order is not None:
        options |= _order_option(variant, queue_order, options)
    settings = msgspec.structs.replace(settings, scheduler=variant, scheduler_options=options)
    run = p.make_run(settings)
    workload = p.load_users_workload(run, log, log_dir)
    around = c.Surroundings(
        endpoint=endpoint,
        prefix=prefix,
        record=record,
        verbosity=verbosity,
        first_timeout=first_timeout,
        silence_timeout=silence_timeout,
    )
    with isolate(run.seed) as notes:
        c.converse(
            lambda at, stack: p.SchedulerMaker(run, workload, at, p.read_clock(clock)), around
        )
    for note in notes:
        around.say(f"note: {note}")


def _order_option(variant: str, queue_order: str, options: dict[str, Any]) -> dict[str, str]:
    """Return the policy's option ``order``, if it has one; raises :class:`UsageError`."""
    if "order" in options:
        raise UsageError(f"--queue_order {queue_order}: the policy's options have an order too")
    accepted = find_accepted_options(load(SCHEDULERS, variant))
    if accepted is not None and "order" not in accepted:
        if queue_order == "fcfs":  # what all policies without the option do
            return {}
        raise UsageError(
            f"--queue_order {queue_order}: {variant} has no option 'order'; with one are easy, "
            "list, planning, ..."
        )
    return {"order": queue_order}
