"""``batsched-py explain``: why a job started when it did."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from batsched_py.commands import shared_options as o
from batsched_py.commands.protocol.decision_process_options import OF_SITES, json_object
from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import InputError, UsageError
from batsched_py.explain.job_history import find_job, job_ids
from batsched_py.explain.job_watch import Watch
from batsched_py.explain.replayed_exchange import (
    Turn,
    beginning,
    has_six_decimals,
    read_turns,
    replay,
)
from batsched_py.explain.waiting_lines import MOST, Explanation, explanation
from batsched_py.explain.wording import in_words, on_the_clock
from batsched_py.figures.chart_files import format_of
from batsched_py.results.whole_run import EXCHANGE, RUN_JSON, is_named, read_run
from batsched_py.run.plugin_objects import BY_NAME, PluginObjects
from batsched_py.run.settings import SETTINGS, ProcessSettings, Settings
from batsched_py.run.simulate import make_process
from batsched_py.support import plugins
from batsched_py.support.atomic_files import make_folder_of
from batsched_py.support.budgets import Budgets, parse_budgets
from batsched_py.support.file_readers import is_file
from batsched_py.support.option_values import parse_options
from batsched_py.support.setting_fields import arguments
from batsched_py.support.signals import stop_signals
from batsched_py.support.terminal_text import one_line, print_exactly
from batsched_py.support.trusted_code import POLICIES, reason_not_to_run, remember

MARGIN = 0.05
"""Share of the time from submission to end that a picture shows before and after it."""


@o.with_settings(*OF_SITES)
def explain(
    *,
    settings: Settings,
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="Prefix of a run of `simulate --record`, or the file of a recorded exchange.",
        ),
    ],
    job: Annotated[
        str, typer.Option("--job", help="The job: 15, or with its workload w0!15.", metavar="ID")
    ],
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            help="Policy of the exchange (default: that of PREFIX_run.json).",
            metavar="NAME",
        ),
    ] = None,
    scheduler_options: o.SchedulerOptions = None,
    gantt: Annotated[
        Path | None,
        typer.Option(
            "--gantt",
            help="Draw the schedule around it: .png, .svg, .pdf, .html.",
            metavar="FILE",
        ),
    ] = None,
    all_lines: Annotated[
        bool, typer.Option("--all", help="Show every move of a reservation, however many.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain why a job waited: what held it at each decision, and why it started when it did.

    RUN was recorded by `simulate ... --record -e RUN` or `serve --record`.
    """
    if scheduler is None and (scheduler_options or settings != Settings()):
        given = "-O means" if scheduler_options else "sites and speed mean"
        raise UsageError(f"{given} nothing without --scheduler: they are in PREFIX_run.json")
    if gantt is not None:
        _check_picture(gantt)
    exchange, described = _paths(run)
    about = _about(exchange, described)
    if scheduler is None:
        recorded = _recorded_settings(about, described)
        policy = plugins.load(plugins.SCHEDULERS, recorded.scheduler, by_results=True)
        objects = PluginObjects(scheduler=policy)
    else:
        remember(scheduler)
        objects = BY_NAME
        options = parse_options(scheduler_options or [], "-O")
        recorded = ProcessSettings(
            scheduler=scheduler,
            scheduler_options=options,
            sites=settings.sites,
            speed_factor=settings.speed_factor,
        )
        recorded.check()
    with stop_signals():
        turns = read_turns(exchange)
        process = _make(exchange, turns, recorded, about, objects)
        wanted = find_job(job, job_ids((turn.message, turn.reply) for turn in turns))
        watch = Watch(wanted, process.scheduler, MARGIN if gantt else 0.0)
        try:
            replay(turns, process, watch)
        except InputError as error:
            raise InputError(f"{exchange}: {error}") from None
        most = sys.maxsize if all_lines else MOST
        _tell(explanation(watch, recorded.scheduler, most), about, as_json)
        if gantt is not None:
            from batsched_py.explain.gantt import draw

            draw(watch, gantt, MARGIN)
            if not as_json:
                print(f"wrote {gantt}")


def _tell(told: Explanation, clock: _Described, as_json: bool) -> None:
    if as_json:
        print_exactly(msgspec.json.format(msgspec.json.encode(told)).decode())
        return
    for line in in_words(told):
        print(one_line(line))
    if clock.unix_start_time is not None:
        with suppress(InputError):  # no date is known: it is beyond the calendar
            print(on_the_clock(told, clock.unix_start_time, clock.time_zone))


def _paths(run: str) -> tuple[Path, Path]:
    """Return the exchange and the description of a run; raises :class:`InputError`."""
    if is_file(run):
        return Path(run), Path(run.removesuffix(EXCHANGE) + RUN_JSON)
    exchange, described = Path(f"{run}{EXCHANGE}"), Path(f"{run}{RUN_JSON}")
    if is_file(exchange):
        return exchange, described
    if is_file(described):
        raise UsageError(f"there is no {exchange}: run again with --record")
    raise UsageError(
        f"there is no run {run}: expected {exchange}, which `simulate ... --record -e {run}` writes"
    )


class _Settings(msgspec.Struct):
    """What a policy and its machine are made of, as PREFIX_run.json has it."""

    scheduler: str
    scheduler_options: dict[str, Any] = {}
    sites: str | None = None
    speed_factor: float = 1.0
    budgets: str | None = None


class _Described(msgspec.Struct):
    """The part of PREFIX_run.json that matters here."""

    run: _Settings | None = None
    unix_start_time: float | None = None
    """When second 0 was."""
    time_zone: str = "UTC"


def _about(exchange: Path, described: Path) -> _Described:
    """Return what is known of a run, nothing if nobody stored it.

    Raises :class:`InputError` if the run is not whole, or the exchange is of another.
    """
    if not is_file(described):
        return _Described()
    remedy = f"simulate again with --record, or rename {described.name} and give --scheduler"
    about = read_run(described, _Described, remedy)
    if not is_named(exchange, described):
        raise InputError(f"{exchange} is of another run than {described}; {remedy}")
    return about


def _recorded_settings(about: _Described, described: Path) -> ProcessSettings:
    if about.run is None:
        raise UsageError(
            f"there is no {described}, which says the policy: give --scheduler NAME, and its "
            "options -O"
        )
    fields = msgspec.structs.asdict(about.run) | {"budgets": parse_budgets(about.run.budgets)}
    settings = ProcessSettings(**fields)
    _check_trusted(settings, described)
    return settings


def _check_trusted(settings: ProcessSettings, path: Path) -> None:
    """Raise :class:`UsageError` for a policy that may not be run only because a run names it."""
    policy = settings.scheduler
    if plugins.names_file(policy) and (reason := reason_not_to_run(policy, POLICIES)):
        names = [name for name in _Settings.__struct_fields__ if name != "budgets"]
        given = {name: getattr(settings, name) for name in names}
        given = {name: value for name, value in given.items() if value != SETTINGS[name].default}
        raise UsageError(
            f"{path} names the policy {policy}, which was not run: {reason}. If you trust that "
            f"code, name it: {shlex.join(arguments(SETTINGS, given))}"
        )


def _make(
    exchange: Path,
    turns: list[Turn],
    settings: ProcessSettings,
    about: _Described,
    objects: PluginObjects,
) -> DecisionProcess:
    """Return the process; options in Batsim's ``--sched-cfg`` complete those given."""
    try:
        config = beginning(turns).config
    except InputError as error:
        raise InputError(f"{exchange}: {error}") from None
    if text := config.get("sched-config"):
        options = json_object(text, f"Batsim's --sched-cfg {text}") | settings.scheduler_options
        settings = msgspec.structs.replace(settings, scheduler_options=options)
    # the exchange has an end, but a policy that has changed since may have none
    decisions = parse_budgets(about.run.budgets if about.run else None).decisions
    budgets = Budgets(idle_time=inf, messages=inf, jobs=inf, jobs_at_once=inf, decisions=decisions)
    settings = msgspec.structs.replace(settings, budgets=budgets)
    six_decimals = has_six_decimals(turns)
    return make_process(settings, None, six_decimals=six_decimals, objects=objects)


def _check_picture(path: Path) -> None:
    format_of(path)
    make_folder_of(path)
