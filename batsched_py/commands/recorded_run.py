"""The run that ``explain`` explains: its files, and the decision process that they say."""

from __future__ import annotations

import shlex
from math import inf
from pathlib import Path
from typing import Annotated, Any

import msgspec

from batsched_py.commands.protocol.decision_process_options import OF_SITES, json_object
from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import InputError, UsageError
from batsched_py.explain.replayed_exchange import Turn, find_beginning, has_six_decimals
from batsched_py.files.readers import is_file
from batsched_py.options.budgets import Budgets
from batsched_py.options.setting_fields import arguments, parse_budgets
from batsched_py.plugins import plugins
from batsched_py.results.whole_run import EXCHANGE, RUN_JSON, is_named, read_run
from batsched_py.run.make_process import make_process
from batsched_py.run.plugin_objects import BY_NAME, PluginObjects
from batsched_py.run.resolved_machine import describe_machine
from batsched_py.run.settings import SETTINGS, Settings
from batsched_py.run.stored_values import ProcessSettings


def paths(run: str) -> tuple[Path, Path]:
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
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    sites: str | None = None
    machine: str | None = None
    node_factor: float | None = None
    max_walltime: float | None = None
    speed_factor: float = 1.0
    budgets: str | None = None


class Described(msgspec.Struct):
    """The part of PREFIX_run.json that matters here."""

    run: _Settings | None = None
    unix_start_time: float | None = None
    """When second 0 was."""
    time_zone: str = "UTC"


def about(exchange: Path, described: Path) -> Described:
    """Return what is known of a run, nothing if nobody stored it.

    Raises :class:`InputError` if the run is not whole, or the exchange is of another.
    """
    if not is_file(described):
        return Described()
    remedy = f"simulate again with --record, or rename {described.name} and give --scheduler"
    about = read_run(described, Described, remedy)
    if not is_named(exchange, described):
        raise InputError(f"{exchange} is of another run than {described}; {remedy}")
    return about


def chosen_policy(
    about: Described,
    described: Path,
    scheduler: str | None,
    options: dict[str, Any],
    settings: Settings,
) -> tuple[ProcessSettings, PluginObjects]:
    """Return the policy that is given, with its ``options``, or else that of the run."""
    if scheduler is None:
        return _recorded_settings(about, described), BY_NAME
    given = ProcessSettings(
        scheduler=scheduler,
        scheduler_options=options,
        **{name: getattr(settings, name) for name in OF_SITES},
    )
    given.check()
    return given, BY_NAME


def _recorded_settings(about: Described, described: Path) -> ProcessSettings:
    if about.run is None:
        raise UsageError(
            f"there is no {described}, which says the policy: give --scheduler NAME, and its "
            "options -O"
        )
    fields = msgspec.structs.asdict(about.run) | {"budgets": parse_budgets(about.run.budgets)}
    settings = ProcessSettings(**fields)
    _check_registered(settings, described)
    return settings


def _check_registered(settings: ProcessSettings, path: Path) -> None:
    """Raise :class:`UsageError` for a policy in a file, which is run only if somebody names it."""
    policy = settings.scheduler
    if plugins.names_file(policy):
        names = [name for name in _Settings.__struct_fields__ if name not in ("budgets", "seed")]
        given = {name: getattr(settings, name) for name in names}
        given = {name: value for name, value in given.items() if value != SETTINGS[name].default}
        raise UsageError(
            f"{path} names the policy {policy}: code in a file is run only if you name it: "
            f"{shlex.join(arguments(SETTINGS, given))}"
        )


def make(
    exchange: Path,
    turns: list[Turn],
    settings: ProcessSettings,
    about: Described,
    objects: PluginObjects,
) -> DecisionProcess:
    """Return the process; options in Batsim's ``--sched-cfg`` complete those given."""
    try:
        config = find_beginning(turns).config
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
    machine = describe_machine(settings)
    return make_process(settings, None, machine, six_decimals=six_decimals, objects=objects)
