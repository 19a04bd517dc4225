"""Reads all files that the options of a run name, once, and returns them as objects."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.files.digests import digest, sha256
from batsched_py.options.setting_fields import convert_settings
from batsched_py.processors.sets import ProcessorSet
from batsched_py.run.named_files import HASH, find_setting_files
from batsched_py.run.plugin_objects import BY_NAME, PluginObjects, without_objects
from batsched_py.run.resolved_machine import ResolvedMachine, resolve_machine
from batsched_py.run.settings import SETTINGS, Settings
from batsched_py.run.stored_values import EMBEDDED, Run
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.grid_sites import HOME, GridSites, find_home_number
from batsched_py.workload.load import load_workload, read_machine_size
from batsched_py.workload.log_conversion import convert_log
from batsched_py.workload.log_partitions import with_whole_nodes
from batsched_py.workload.logs.log_archive import find_log
from batsched_py.workload.logs.swf import SwfLog
from batsched_py.workload.logs.swf_frame import digest as digest_log
from batsched_py.workload.logs.swf_frame import log_from_frame
from batsched_py.workload.machine_description import MachineDescription
from batsched_py.workload.workload import check_times

if TYPE_CHECKING:
    import pandas as pd

    Source = str | Path | Workload | SwfLog | pd.DataFrame


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How a log is converted to jobs: the rules, and the machine that the jobs run on."""

    rules: Rules
    skip_bad_lines: bool
    speed_factor: float
    """Speed of the simulated machine, for exact estimates."""
    sites: GridSites
    description: MachineDescription | None


class Input(msgspec.Struct, frozen=True):
    """A workload, and the file that it was read from."""

    workload: Workload
    sha256: str | None = None
    """Of the file; None for a workload that was made in this process."""
    path: Path | None = None
    """None for a workload, or a data frame, of this process."""


class ResolvedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run and the objects that its settings name.

    The policy and the users are made anew for each simulation, from ``plugins`` and the values of
    ``run``: what they keep of one run must not change another.
    """

    run: Run
    """The values that are stored with the results."""
    plugins: PluginObjects
    """Policy and user model where they are objects and not names."""
    machine: ResolvedMachine
    input: Input
    files: dict[str, str]
    """Name to the first digits of the SHA-256 of each file that the settings name."""

    @property
    def workload(self) -> Workload:
        """The jobs to replay, or from which a user model is made."""
        return self.input.workload

    def with_policy(self, scheduler: str, options: dict[str, Any]) -> ResolvedRun:
        """Return the same run under another policy, without reading its files again."""
        run = msgspec.structs.replace(self.run, scheduler=scheduler, scheduler_options=options)
        return msgspec.structs.replace(self, run=run, files=_digests(run, self.machine))


def resolve(settings: Settings, source: Source | None = None) -> ResolvedRun:
    """Read all files that the settings of a run name, once, and return them as objects.

    ``source`` is a log, a workload or a data frame in place of the one that ``settings.log`` names.
    Raises :class:`UsageError` for settings that make no sense, and :class:`InputError` and
    :class:`PlatformError` for files that are not what they should be.

    >>> resolved = resolve(Settings(log="sample", first=100, sites="2x64"))
    >>> len(resolved.workload.jobs), [site.size for site in resolved.machine.sites]
    (100, [64, 64])
    """
    read_from = settings.log if source is None else source
    settings, plugins = without_objects(settings)
    given = {name: getattr(settings, name) for name in SETTINGS}
    settings = msgspec.structs.replace(settings, **convert_settings(SETTINGS, given))
    run = settings.on_machine(lambda: find_machine_size(read_from)).run()
    return resolve_run(run, read_from, plugins)


def resolve_run(
    run: Run,
    source: Source,
    plugins: PluginObjects = BY_NAME,
    *,
    load: Callable[[Source, Reading], Input] | None = None,
) -> ResolvedRun:
    """Check a run and read all files that it names; ``source`` is its log or workload.

    ``load`` reads a source that is no workload; None: :func:`read_input`. Raises
    :class:`UsageError` for values that contradict each other, and :class:`InputError` and
    :class:`PlatformError` for files that are not what they should be.
    """
    check(run)
    plugins.check(run)
    machine = resolve_machine(run, plugins)
    if machine.clusters_are_sites:
        run = msgspec.structs.replace(run, sites=run.platform)
    if isinstance(source, Workload):
        read = Input(_checked(source, machine))
    else:
        read = (load or read_input)(source, make_reading(run, machine))
    if not read.workload.jobs:  # users who make jobs up look at the size of the log's machine
        platform = machine.platform
        size = machine.nb_processors if platform is None else len(platform.hosts)
        if size is not None:
            workload = msgspec.structs.replace(read.workload, nb_res=size)
            read = msgspec.structs.replace(read, workload=workload)
    machine = _with_size(run, machine, read.workload)
    for job in read.workload.jobs if machine.sites else ():
        if HOME in job.extra:  # a home that does not exist is found before the simulation
            find_home_number(machine.sites, job.extra[HOME], job.id)
    files = _digests(run, machine)
    return ResolvedRun(run=run, plugins=plugins, machine=machine, input=read, files=files)


def _with_size(run: Run, machine: ResolvedMachine, workload: Workload) -> ResolvedMachine:
    """Return the machine with the power of its own processors; checks that some can sleep."""
    unknown = machine.platform_content is not None and machine.platform is None
    if run.shutdown is not None and not machine.can_sleep and not unknown:
        raise UsageError(
            f"{parameter('shutdown')} {run.shutdown}: no processor can be switched off: give "
            f"off_seconds and on_seconds by {parameter('power')} or in [nodes.power] of "
            f"{parameter('machine')}, or sleep_pstates of the hosts in {parameter('platform')}"
        )
    if run.power is None:
        return machine
    every = ProcessorSet.interval(0, machine.nb_processors or workload.nb_res)
    power = tuple(msgspec.structs.replace(group, processors=every) for group in machine.power)
    return msgspec.structs.replace(machine, power=power)


def _digests(run: Run, machine: ResolvedMachine) -> dict[str, str]:
    """Return the first digits of the SHA-256 of each readable file that a run names.

    The platform file is not read again.
    """
    known = {Path(run.platform): machine.platform_digest} if run.platform else {}
    digests = {}
    for file in find_setting_files(run):
        with suppress(OSError):  # another one in a folder that is named
            digests[file.name] = (known.get(file) or digest(file))[:HASH]
    return digests


def check(run: Run) -> None:
    """Raise :class:`UsageError` for values that contradict each other; no file is read."""
    run.check()
    if run.batsim is not None and run.backend != "batsim":
        raise UsageError(
            f"{parameter('batsim')} {run.batsim} has no effect with {parameter('backend')} "
            f"{run.backend}"
        )
    if run.shake is not None and run.backend in ("batsim", "docker") and not run.dynamic:
        raise UsageError(
            f"{parameter('shake')} {run.shake}: Batsim orders simultaneous events itself; only the "
            "submissions of a user model can be shuffled"
        )
    if run.backend != EMBEDDED:  # an unknown one
        from batsched_py.run.backends.dispatch import make_launcher

        make_launcher(run.backend, run.batsim)


def find_machine_size(source: Source) -> int:
    """Return the number of processors of the machine that a source was recorded on."""
    if isinstance(source, Workload):
        return source.nb_res
    if isinstance(source, SwfLog):
        return source.max_processors
    if isinstance(source, str | Path):
        return read_machine_size(find_log(source))
    return log_from_frame(source, skip_bad_lines=True).max_processors


def make_reading(run: Run, machine: ResolvedMachine) -> Reading:
    """Return the parameters of the conversion of a log to the jobs of a run."""
    exact = run.rules.walltime == "exact"
    return Reading(
        rules=run.rules,
        skip_bad_lines=run.skip_bad_lines,
        speed_factor=run.speed_factor * (machine.relative_speed if exact else 1),
        sites=machine.sites,
        description=machine.description,
    )


def read_input(source: Source, reading: Reading) -> Input:
    """Read a log, a workload file or a data frame; a log in memory is only converted."""
    if isinstance(source, Workload):
        return Input(source)
    machine: dict[str, Any] = {
        "speed_factor": reading.speed_factor,
        "sites": reading.sites,
        "described": reading.description,
    }
    skip_bad_lines = reading.skip_bad_lines
    if isinstance(source, SwfLog):
        workload = convert_log(source, reading.rules, **machine)
        return Input(workload, sha256(source.path), source.path)
    if not isinstance(source, str | Path):
        log = log_from_frame(source, skip_bad_lines=skip_bad_lines, keep=reading.rules.keep)
        return Input(convert_log(log, reading.rules, **machine), digest_log(log))
    path = find_log(source)
    workload = load_workload(path, reading.rules, skip_bad_lines=skip_bad_lines, **machine)
    return Input(workload, sha256(path), path)


def _checked(workload: Workload, machine: ResolvedMachine) -> Workload:
    """Return a workload of this process, which may have been changed since it was checked."""
    workload = msgspec.structs.replace(workload)
    check_times(workload.name, workload)
    if machine.description is None:
        return workload
    return with_whole_nodes(workload, machine.description)
