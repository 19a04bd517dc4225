"""The run that ``explain`` explains: its files, and the scheduler made from them."""

from __future__ import annotations

import shlex
from itertools import compress
from math import inf
from pathlib import Path
from typing import Annotated, Any

import msgspec

from batsched_py.commands.protocol.decision_process_options import OF_SITES, parse_json_object
from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import InputError, UsageError, located
from batsched_py.explain.replayed_exchange import Turn, find_beginning, has_six_decimals
from batsched_py.files.readers import is_file
from batsched_py.options.budgets import Budgets
from batsched_py.options.setting_fields import arguments, parse_budgets
from batsched_py.plugins import plugins
from batsched_py.protocol import messages as m
from batsched_py.results.jobs_file import NEEDED, make_job_keys, read_jobs
from batsched_py.results.run_files import SUFFIX
from batsched_py.results.whole_run import EXCHANGE, RUN_JSON, is_named, read_run
from batsched_py.run.make_process import make_process
from batsched_py.run.resolved_machine import describe_machine
from batsched_py.run.settings import SETTINGS, Settings
from batsched_py.run.stored_values import ProcessSettings
from batsched_py.schedulers.shutdown.settings import parse_power, parse_shutdown
from batsched_py.workload.host_power import SLEEP
from batsched_py.workload.logs.clock import Clock
from batsched_py.workload.machine_file import MachineChanges


def find_files(run: str) -> tuple[Path, Path]:
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


class _Settings(MachineChanges, frozen=True, kw_only=True):
    """What a policy and its machine are made of, as PREFIX_run.json has it."""

    scheduler: str
    scheduler_options: dict[str, Any] = msgspec.field(default_factory=dict)
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    sites: str | None = None
    machine: str | None = None
    speed_factor: float = 1.0
    power: str | None = None
    shutdown: str | None = None
    platform: str | None = None
    budgets: str | None = None


class Described(msgspec.Struct):
    """The members of PREFIX_run.json that ``explain`` reads."""

    run: _Settings | None = None
    unix_start_time: float | None = None
    """When second 0 was."""
    time_zone: str = "UTC"


def read_description(exchange: Path, described: Path) -> Described:
    """Return the stored settings of a run, empty if they were not stored.

    Raises :class:`InputError` if the run is not whole, or the exchange is of another.
    """
    if not is_file(described):
        return Described()
    remedy = f"simulate again with --record, or rename {described.name} and give --scheduler"
    about = read_run(described, Described, remedy)
    if not is_named(exchange, described):
        raise InputError(f"{exchange} does not belong to the run {described}; {remedy}")
    return about


def choose_policy(
    about: Described,
    described: Path,
    scheduler: str | None,
    options: dict[str, Any],
    settings: Settings,
) -> ProcessSettings:
    """Return the settings of the given policy with its ``options``, else those of the run.

    Raises :class:`UsageError` if there is none, and for a recorded policy in a file: its code is
    run only if somebody names it.
    """
    if scheduler is not None:
        run = settings.run()
        of_sites = {name: getattr(run, name) for name in OF_SITES}
        given = ProcessSettings(scheduler=scheduler, scheduler_options=options, **of_sites)
        given.check()
        return given
    if about.run is None:
        raise UsageError(
            f"there is no {described}, which names the policy: give --scheduler NAME, and its "
            "options -O"
        )
    recorded = msgspec.structs.asdict(about.run)
    del recorded["platform"]
    if plugins.names_file(about.run.scheduler):
        names = [name for name in recorded if name not in ("budgets", "seed")]
        differing = {
            name: recorded[name] for name in names if recorded[name] != SETTINGS[name].default
        }
        raise UsageError(
            f"{described} names the policy {about.run.scheduler}: code in a file runs only if "
            f"you name it: {shlex.join(arguments(SETTINGS, differing))}"
        )
    parsed = {
        "budgets": parse_budgets(about.run.budgets),
        "power": parse_power(about.run.power),
        "shutdown": parse_shutdown(about.run.shutdown),
    }
    return ProcessSettings(**recorded | parsed)


def find_withdrawn(exchange: Path, turns: list[Turn]) -> frozenset[str]:
    """Return the ids of the jobs that users withdrew, by the table of jobs beside the recording.

    Empty if there is no table. Raises :class:`InputError` for a malformed one.
    """
    events = (event for turn in turns for event in turn.reply.events)
    jobs = Path(str(exchange).removesuffix(EXCHANGE) + SUFFIX)
    if not is_file(jobs) or not any(isinstance(event, m.RejectJob) for event in events):
        return frozenset()
    table = read_jobs(jobs, needed=("job_id", "workload_name", *NEEDED))
    ids = map("!".join, make_job_keys(table.texts))
    return frozenset(compress(ids, table.withdrawn.tolist()))


def make_recorded(
    exchange: Path, turns: list[Turn], settings: ProcessSettings, about: Described
) -> DecisionProcess:
    """Make the scheduler of a recording; Batsim's ``--sched-cfg`` completes the options."""
    with located(exchange, InputError):
        begins = find_beginning(turns)
    sleep = any(SLEEP in host.get("properties", ()) for host in begins.compute_resources)
    if sleep and about.run and settings.power is None:  # no message has the times of switches
        settings = msgspec.structs.replace(settings, power=about.run.platform)
    if text := begins.config.get("sched-config"):
        options = (
            parse_json_object(text, f"Batsim's --sched-cfg {text}") | settings.scheduler_options
        )
        settings = msgspec.structs.replace(settings, scheduler_options=options)
    # the exchange has an end, but a policy that has changed since may have none
    decisions = parse_budgets(about.run.budgets if about.run else None).decisions
    budgets = Budgets(idle_time=inf, messages=inf, jobs=inf, jobs_at_once=inf, decisions=decisions)
    settings = msgspec.structs.replace(settings, budgets=budgets)
    six_decimals = has_six_decimals(turns)
    machine = describe_machine(settings)
    clock = Clock(about.unix_start_time, about.time_zone)
    return make_process(settings, None, machine, clock=clock, six_decimals=six_decimals)
