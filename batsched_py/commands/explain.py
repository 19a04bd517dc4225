"""``batsched-py explain``: why a job started when it did."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from batsched_py.commands import shared_options as o
from batsched_py.commands.protocol.decision_process_options import OF_SITES
from batsched_py.errors import InputError, UsageError, located
from batsched_py.files.writers import make_folder_of
from batsched_py.options.setting_fields import parse_options
from batsched_py.run.settings import Settings
from batsched_py.support.signals import default_stop_signals
from batsched_py.support.terminal_text import one_line, print_exactly

if TYPE_CHECKING:
    from batsched_py.commands.recorded_run import Described
    from batsched_py.explain.waiting_lines import Explanation

MARGIN = 0.05
"""Share of the time from submission to end that a picture shows before and after it."""


@o.with_settings(*OF_SITES)
def explain(
    *,
    settings: Settings,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="Prefix of a run with --record, or a file of recorded messages."
        ),
    ],
    job: Annotated[
        str,
        typer.Option(help="Job to explain, such as 15, or w0!15 with its workload.", metavar="ID"),
    ],
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Policy that was recorded. [default: that of PREFIX_run.json]", metavar="NAME"
        ),
    ] = None,
    scheduler_options: o.SchedulerOptions = None,
    gantt: Annotated[
        Path | None,
        typer.Option(
            help="Draw the schedule around the job: .png, .svg, .pdf or .html.", metavar="FILE"
        ),
    ] = None,
    all_lines: Annotated[
        bool,
        typer.Option("--all", help="Show every move of a reservation, not only the first ones."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the explanation as JSON.")] = False,
) -> None:
    """Explain why a job waited, and why it started when it did.

    `batsched-py simulate --record` and `batsched-py serve --record` write the recorded messages
    that this command needs.

    Examples:
        batsched-py simulate sample --record -e out/recorded
        batsched-py explain out/recorded --job 15
        batsched-py explain out/recorded --job 15 --gantt out/job15.html
    """
    from batsched_py.commands import recorded_run
    from batsched_py.explain.job_history import find_job, list_jobs
    from batsched_py.explain.job_watch import Watch
    from batsched_py.explain.replayed_exchange import read_turns, replay
    from batsched_py.explain.waiting_lines import MOST, explain_job
    from batsched_py.figures.chart_files import read_format
    from batsched_py.plugins.isolated_run import isolate

    if scheduler is None and (scheduler_options or settings != Settings()):
        given = "-O" if scheduler_options else "an option of the machine"
        raise UsageError(f"{given} needs --scheduler, too: else PREFIX_run.json has all options")
    if gantt is not None:
        read_format(gantt)
        make_folder_of(gantt)
    exchange, described = recorded_run.find_files(run)
    about = recorded_run.read_description(exchange, described)
    options = parse_options(scheduler_options or [], "-O")
    seed = 0 if about.run is None else about.run.seed
    with default_stop_signals(), isolate(seed):
        recorded = recorded_run.choose_policy(about, described, scheduler, options, settings)
        turns = read_turns(exchange)
        process = recorded_run.make_recorded(exchange, turns, recorded, about)
        wanted = find_job(job, list_jobs((turn.message, turn.reply) for turn in turns))
        watch = Watch(wanted, process.scheduler, MARGIN if gantt else 0.0)
        with located(exchange, InputError):
            replay(turns, process, watch, recorded_run.find_withdrawn(exchange, turns))
        most = sys.maxsize if all_lines else MOST
        _print(explain_job(watch, recorded.scheduler, most), about, as_json)
        if gantt is not None:
            from batsched_py.explain.gantt import draw_job
            from batsched_py.figures.chart_files import write_chart

            write_chart(draw_job(watch, MARGIN), gantt)
            if not as_json:
                print(f"wrote {gantt}")


def _print(explanation: Explanation, clock: Described, as_json: bool) -> None:
    from batsched_py.explain.wording import describe, describe_dates

    if as_json:
        print_exactly(msgspec.json.format(msgspec.json.encode(explanation)).decode())
        return
    for line in describe(explanation):
        print(one_line(line))
    if clock.unix_start_time is not None:
        with suppress(InputError):  # no date is known: it is beyond the calendar
            print(describe_dates(explanation, clock.unix_start_time, clock.time_zone))
