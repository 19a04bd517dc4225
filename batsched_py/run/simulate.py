"""One simulation, from a log to a result, as a plain function."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial, wraps
from inspect import Signature, signature
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, get_type_hints

import msgspec
import numpy as np

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import InputError, InvariantError, PlatformError, UsageError, parameter
from batsched_py.model.counters import counters_of
from batsched_py.model.policy import Scheduler, may_dilate, reads_reservations
from batsched_py.model.user_model import UserModel, makes_up_jobs, reacts
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.results.job_table import JobTable
from batsched_py.results.run_files import stored_sites
from batsched_py.run.backends.dispatch import SOCKETS, check_backend, run_outside
from batsched_py.run.described_sites import described_sites
from batsched_py.run.isolated_run import isolated
from batsched_py.run.make_process import make_process
from batsched_py.run.named_files import digests_of_settings
from batsched_py.run.needed_limits import check_limits
from batsched_py.run.plugin_objects import BY_NAME, PluginObjects, without_objects
from batsched_py.run.progress import progress_of, progress_shown
from batsched_py.run.result import Output, Recording, Result, versions
from batsched_py.run.settings import EMBEDDED, OF_MACHINE_FILE, SETTINGS, Reading, Run, Settings
from batsched_py.schedulers.partitioned import policy_itself
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import (
    Platform,
    homogeneous,
    scaled,
    sites_of,
    with_sites,
)
from batsched_py.simulator.platform.platform_reader import check_well_formed, read_platform
from batsched_py.support.file_digest import sha256
from batsched_py.support.json_values import did_you_mean, unshared
from batsched_py.support.plugins import RIGID
from batsched_py.support.setting_fields import of_their_types
from batsched_py.transport.recording import Recorder, recorded
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import as_dict
from batsched_py.workload.load import load_workload, size_of_machine
from batsched_py.workload.log_archive import find_log
from batsched_py.workload.log_conversion import workload_from_log
from batsched_py.workload.log_partitions import with_whole_nodes
from batsched_py.workload.machine_file import partition_texts
from batsched_py.workload.sites import HOME, Sites, home_number, is_platform, nb_processors
from batsched_py.workload.swf import SwfLog
from batsched_py.workload.swf_frame import digest, log_of_frame
from batsched_py.workload.unused_input import unused_of_jobs
from batsched_py.workload.workload import REFERENCE_SPEED, check_times


class Loaded(msgspec.Struct, frozen=True):
    """A workload that was read, for several simulations of it."""

    workload: Workload
    sha256: str
    """Of the file."""
    path: Path | None = None
    """None of a data frame."""


class Arguments(Settings, kw_only=True):
    """What :func:`simulate` takes beside the workload."""

    scheduler: str | Scheduler | Callable[..., Scheduler] = "easy"  # type: ignore[assignment]
    users: str | Callable[..., UserModel] = RIGID  # type: ignore[assignment]
    folder: str | Path | None = None
    record: str | Path | None = None
    progress: bool | None = None


if TYPE_CHECKING:
    import pandas as pd

    Source = str | Path | Workload | pd.DataFrame
_P = ParamSpec("_P")


def _with_keywords_of(
    arguments: Callable[_P, Arguments],
) -> Callable[[Callable[[Source, Arguments], Result]], Callable[Concatenate[Source, _P], Result]]:
    """Let a function take the fields of ``arguments`` as keywords, for editors and mypy too."""

    def decorate(
        function: Callable[[Source, Arguments], Result],
    ) -> Callable[Concatenate[Source, _P], Result]:
        @wraps(function)
        def called(source: Source, /, *args: _P.args, **keywords: _P.kwargs) -> Result:
            for name in keywords:
                if name not in kinds:
                    hint = did_you_mean(name, [part.name for part in settings])
                    raise TypeError(f"simulate() has no parameter {name!r}{hint}")
            return function(source, arguments(*args, **keywords))

        source, *_ = signature(function).parameters.values()
        kinds = get_type_hints(arguments)
        settings = [
            part.replace(annotation=kinds[part.name])
            for part in signature(arguments).parameters.values()
            if part.name != "log"  # that is ``source``
        ]
        called.__signature__ = Signature([source, *settings])  # type: ignore[attr-defined]
        return called

    return decorate


@_with_keywords_of(Arguments)
def simulate(source: Source, arguments: Arguments) -> Result:
    """Simulate a workload under a policy, with or without users who react.

    ``source`` is an SWF log, a Batsim workload file, the name of a log, a :class:`Workload`, or a
    pandas DataFrame with a row per job and SWF's columns (``submit_time``, ``run_time``,
    ``requested_processors``, ...; what is missing is unknown; its ``attrs`` are the header). The
    keywords are the :class:`~batsched_py.run.settings.Settings`: ``scheduler`` and ``users`` are
    names (see ``batsched-py list``), ``file.py:Class``, classes, or what returns one when it is
    called (a user model: with the workload) and the options; a policy may be an instance too. What
    is in no file works in this process only, and is stored by its class and the hash of its source.
    ``users="rigid"`` submits at the recorded times. ``sessions`` (such as ``arrival:60``, minutes)
    is the user model's option of that name. ``rules`` say how a log becomes jobs (a preset's name
    or :class:`Rules`, of which ``size``, ``walltime`` ... change single ones). The machine is a
    SimGrid ``platform`` file, or ``nodes`` equal processors (default: as many as the log's machine,
    times ``node_factor``); ``speed_factor`` multiplies their speed. ``sites`` are its parts, such
    as ``4x128,6x32`` or ``west:96,east:128@1.5``, which the policy ``grid`` schedules; users live
    at them by ``homes``, and ``split`` cuts jobs that are wider. ``seed`` is for the users' chance,
    ``shake`` for the order of simultaneous events (None: log order). ``each_event`` runs the policy
    after every single event rather than once per instant. ``backend`` is ``embedded``, ``batsim``
    (the program, ``batsim`` on PATH or the command line given), ``docker``, or ``socket``: the
    embedded simulator in another process, in the place of Batsim 4 (``socket5``: of 5). Such a run
    is limited by ``timeouts``, and its inputs, outputs, logs and commands are in ``folder`` (None:
    a temporary one, kept if the run fails). Jobs submitted in the first ``warm_up`` and the last
    ``cool_down`` seconds (or texts such as ``4 weeks``) load the machine and are not measured.
    ``budgets`` such as ``jobs=5e7,messages=inf`` say what is taken for endless work. ``record`` is
    a file for all messages of the simulation, which ``explain`` reads. A simulation of more than a
    few seconds shows its ``progress`` on a terminal and in a notebook (True: from its beginning;
    False: never).

    Raises :class:`UsageError` for arguments that make no sense, :class:`InputError` for files
    that are not what they should be, :class:`SimulationError` for a deadlock, :class:`BudgetError`
    for endless work, and :class:`InvariantError` when a policy or a user model errs.

    >>> result = simulate("KTH-SP2-1996-2.1-cln.swf.gz", users="feedback", sessions="arrival:0")
    ... # doctest: +SKIP
    >>> result.metrics["mean_lateness"]  # doctest: +SKIP
    """
    if arguments.log != Settings().log:
        raise UsageError(f"log = {arguments.log!r}: the first argument says what is simulated")

    def machine_size() -> int:
        if isinstance(source, Workload):
            return source.nb_res
        if isinstance(source, str | Path):
            return size_of_machine(find_log(source))
        return log_of_frame(source, skip_bad_lines=True).max_processors

    arguments, objects = without_objects(arguments)
    given = {name: getattr(arguments, name) for name in SETTINGS}
    arguments = msgspec.structs.replace(arguments, **of_their_types(SETTINGS, given))
    run = arguments.on_machine(machine_size).run()
    recording = None if arguments.record is None else Recording(arguments.record)
    result = execute(source, run, arguments.folder, recording, arguments.progress, objects)
    if recording is not None:
        recording.keep()
    return result


def load(source: str | Path | SwfLog | pd.DataFrame, reading: Reading) -> Loaded:
    """Read a workload: see :func:`~batsched_py.workload.load.load_workload`.

    A log that was read is not read again, but for its digest. The platform file and the factor are
    those of the run, for its exact estimates; its sites are for the rules on homes and wide jobs.
    """
    rules, speed_factor = reading.rules, reading.speed_factor
    if reading.platform is not None and rules.walltime == "exact":
        speed_factor *= _relative_speed(reading.platform)
    machine: dict[str, Any] = {
        "speed_factor": speed_factor,
        "sites": described_sites(reading.sites),
        "described": reading.described,
    }
    skip_bad_lines = reading.skip_bad_lines
    if isinstance(source, SwfLog):
        return Loaded(workload_from_log(source, rules, **machine), sha256(source.path), source.path)
    if not isinstance(source, str | Path):
        log = log_of_frame(source, skip_bad_lines=skip_bad_lines)
        return Loaded(workload_from_log(log, rules, **machine), digest(log))
    path = find_log(source)
    workload = load_workload(path, rules, skip_bad_lines=skip_bad_lines, **machine)
    return Loaded(workload, sha256(path), path)


def execute(
    source: Source | Loaded,
    run: Run,
    folder: str | Path | None = None,
    recording: Recording | None = None,
    progress: bool | None = None,
    objects: PluginObjects = BY_NAME,
) -> Result:
    """Simulate ``run`` on ``source``; see :func:`simulate`.

    ``folder`` is where another process as back end finds its inputs and leaves its outputs,
    logs and commands (None: a temporary one). ``recording`` is where the exchange goes; the file
    is there once :meth:`~.Recording.keep` of it or of the result was called. The run neither sees
    what plug-ins changed in an earlier run, nor changes a later one.
    """
    check(run)
    objects.check(run)
    with isolated(run.seed) as notes:
        result = _executed(source, run, folder, recording, progress, objects)
    result.settings["notes"] += notes
    return result


def _executed(
    source: Source | Loaded,
    run: Run,
    folder: str | Path | None,
    recording: Recording | None,
    progress: bool | None,
    objects: PluginObjects,
) -> Result:
    """Simulate a run whose settings were checked, and whose plug-ins are isolated."""
    run, given, site_notes = at_sites(run)
    sites = described_sites(run.sites)
    workload, content, path = _workload(source, run)
    nodes = _nb_processors(run, sites)
    workload = _on_machine(workload, nodes, given)
    for job in workload.jobs if sites else ():
        if HOME in job.extra:  # a home that does not exist is found before the simulation
            home_number(sites, job.extra[HOME], job.id)
    part = None if recording is None else recording.part
    # For another process too: mistakes are found here.
    process = _checked_process(run, workload, nodes, objects)
    files = digests_of_settings(run)  # as they are read: later they may be others
    run, object_notes = objects.named(run, process)
    stored = _stored(run)
    begin = time.perf_counter()
    if run.backend == EMBEDDED:
        machine = (
            scaled(given, run.speed_factor)
            if given
            else with_sites(sites, run.speed_factor)
            if sites
            else homogeneous(workload.nb_res if nodes is None else nodes, run.speed_factor)
        )
        details = None
        output: Output = _embedded(run, workload, machine, sites, process, part, progress)
    else:
        root = None if folder is None else Path(folder)
        registers = run.dynamic or may_dilate(process.scheduler, process.sites)
        nb_hosts = nodes or workload.nb_res
        output, details = run_outside(
            run, workload, nb_hosts, root, part, registers=registers, progress=progress
        )
    wall_time = time.perf_counter() - begin
    # Those of another process are gone with it.
    counted, fault = _statistics(process) if details is None else ({"statistics": None}, None)
    notes = [
        *workload.notes,
        *site_notes,
        *object_notes,
        *unused_of_jobs(
            workload.jobs,
            run.scheduler,
            reads_reservations=reads_reservations(policy_itself(process.scheduler)),
            sites=sites,
            described=run.described,
        ),
        *_notes(run, workload, output, sites),
        *(given.notes() if given else ()),
        *filter(None, [fault]),
    ]
    settings = {
        "input": {"name": workload.name, "sha256": content, "nb_jobs": len(workload.jobs)},
        "run": stored,
        "rules": unshared(workload.rules),
        "nb_processors": output.nb_processors,
        **({"sites": stored_sites(sites)} if sites else {}),
        **({"partitions": partition_texts(run.described)} if run.machine else {}),
        "unix_start_time": workload.unix_start_time,
        "time_zone": workload.time_zone,
        "users_react": reacts(process.users),
        "notes": notes,
        "versions": dict(versions()),
        **({"provenance": {"files": files}} if files else {}),
    }
    if details is not None:
        settings["backend"] = details
    settings |= counted
    ends = {"warm_up": run.warm_up, "cool_down": run.cool_down}
    result = Result(output, settings, wall_time, **ends, recording=recording)
    result.log, result.fault = path, fault
    result.fields_of_jobs = frozenset().union(*(job.extra for job in workload.jobs))
    if run.warm_up or run.cool_down:
        _check_measured(result, run)
    return result


def _checked_process(
    run: Run, workload: Workload, nodes: int | None, objects: PluginObjects
) -> DecisionProcess:
    """Return the decision process of a run; raises :class:`UsageError` if its jobs need limits."""
    process = make_process(run, workload, objects=objects)
    if not makes_up_jobs(process.users):
        of_log = inf if run.platform else workload.nb_res
        check_limits(process.scheduler, workload, nodes or of_log)
    return process


def _workload(source: Source | Loaded, run: Run) -> tuple[Workload, str | None, Path | None]:
    """Return the workload of a source, the digest and the path of its file, if it has one."""
    if isinstance(source, Workload):
        workload = msgspec.structs.replace(source)  # which may have been changed: it checks again
        check_times(workload.name, workload)
        if run.described:
            workload = with_whole_nodes(workload, run.described)
        return workload, None, None
    loaded = source if isinstance(source, Loaded) else load(source, run.reading)
    return loaded.workload, loaded.sha256, loaded.path


def _nb_processors(run: Run, sites: Sites) -> int | None:
    """Return the size of the machine, None if it is the log's or the platform's."""
    if described := run.described:
        return described.nb_processors
    return nb_processors(sites) if sites else run.nodes


def _stored(run: Run) -> dict[str, Any]:
    """Return the run as it is stored; of budgets what was given, for they change no result.

    Raises :class:`UsageError` for options that cannot be stored.
    """
    try:
        stored: dict[str, Any] = msgspec.to_builtins(run) | {"rules": as_dict(run.rules)}
    except TypeError as error:  # it says of which type
        raise UsageError(
            f"options are stored with the run, so they must be what JSON has: {error}; give an "
            "instance, or a function that returns one"
        ) from None
    for name in OF_MACHINE_FILE:  # there were none once
        if stored[name] is None:
            del stored[name]
    if given := str(run.budgets):
        return stored | {"budgets": given}
    del stored["budgets"]
    return stored


def _notes(run: Run, workload: Workload, output: Output, sites: Sites) -> list[str]:
    """Return notes on jobs that were refused, not submitted, or are not measured."""
    notes = _too_wide(workload, output.nb_processors)
    notes += _few_submitted(run, workload, output.table)
    if run.machine and (nb_refused := int((~output.table.ran).sum())):
        notes.append(
            f"{nb_refused} jobs were refused: their partition is too small, or gives less time"
        )
    if sites and (nb_refused := int((~output.table.ran).sum())):
        notes.append(f"{nb_refused} jobs were refused: they are too wide for where they may run")
    if note := output.table.zero_length_note:
        notes.append(note)
    if nb_rare := int(output.table.rare.sum()):
        notes.append(f"{nb_rare} jobs of rare behaviour load the machine and are not measured")
    return notes


def _check_measured(result: Result, run: Run) -> None:
    """Raise :class:`UsageError` if warm-up and cool-down leave nothing to measure."""
    table = result.table
    if len(table.submit) and not table.measured.any():
        span = table.submit.max() - table.submit.min()
        raise UsageError(
            f"a warm-up of {run.warm_up:g} s and a cool-down of {run.cool_down:g} s leave no job "
            f"to measure: the submissions span {span:g} s"
        )


def _embedded(
    run: Run,
    workload: Workload,
    machine: Platform,
    sites: Sites,
    process: DecisionProcess,
    record: Path | None,
    progress: bool | None,
) -> EmbeddedOutput:
    registers = run.dynamic or may_dilate(process.scheduler, process.sites)
    simulator = Simulator(
        machine,
        [] if run.dynamic else [workload],
        Options(
            dynamic_jobs=registers,
            profile_reuse=registers,
            shake=run.shake,
            each_event=run.each_event,
            budgets=run.budgets,
        ),
    )
    nb_jobs = None if run.dynamic else len(workload.jobs)
    with progress_shown(partial(progress_of, process, nb_jobs), progress):
        if record is None:
            return EmbeddedOutput(simulator.run(process.answer), sites)
        with Recorder(record) as recorder:
            return EmbeddedOutput(simulator.run(recorded(process.answer, recorder)), sites)


def _statistics(process: DecisionProcess) -> tuple[dict[str, Any], str | None]:
    """Return what the policy counted, None if it counts nothing, and what the users did if any.

    With it, what is wrong with the counters of a plug-in, None if nothing is.
    """
    try:
        counted = counters_of(process.scheduler)
        of_users = counters_of(process.users)
    except InvariantError as error:
        return {"statistics": None}, str(error)
    return {"statistics": counted, **({"user_statistics": of_users} if of_users else {})}, None


def _must_read(run: Run) -> bool:
    """Tell whether we have to understand the platform; Batsim itself knows more of them."""
    return run.backend in (EMBEDDED, *SOCKETS) or run.rules.walltime == "exact"


def at_sites(run: Run) -> tuple[Run, Platform | None, list[str]]:
    """Return the run with the clusters of its platform as sites, unless it says which they are.

    With it, the platform if we have to understand it, and notes on clusters that are no sites.
    Raises :class:`UsageError` for sites of another number of processors than the platform's, and
    :class:`PlatformError`.
    """
    if run.platform is None:
        return run, None, []
    check_well_formed(run.platform)
    platform = read_platform(run.platform) if _must_read(run) else None
    if run.sites is not None:
        size = nb_processors(described_sites(run.sites))
        if platform is not None and size != len(platform.hosts):
            raise UsageError(
                f"{parameter('sites')} {run.sites} has {size} processors, but {run.platform} has "
                f"{len(platform.hosts)} hosts"
            )
        return run, platform, []
    try:
        clusters = sites_of(platform or read_platform(run.platform))
        if clusters and not is_platform(run.platform):
            raise PlatformError(f"{run.platform}: expected a name that ends with .xml")
    except PlatformError as error:  # which may be one for Batsim all the same
        return run, platform, [f"no sites from the platform's clusters, give some: {error}"]
    return msgspec.structs.replace(run, sites=run.platform) if clusters else run, platform, []


def _too_wide(workload: Workload, nb_processors: int) -> list[str]:
    """Return a note on jobs that no machine of this size can run, if there are any."""
    wide = [job for job in workload.jobs if job.size > nb_processors]
    if not wide:
        return []
    return [
        f"{len(wide)} jobs are wider than the machine of {nb_processors} processors and are "
        f"refused, such as job {wide[0].id} of {wide[0].size}"
    ]


def _few_submitted(run: Run, workload: Workload, table: JobTable) -> list[str]:
    """Return a note if users who replay a log did not submit all of it, perhaps nothing.

    Raises :class:`InputError` if there was nothing to submit, and nobody made up jobs.
    """
    nb_jobs, left_early = len(workload.jobs), "next_submission() returned inf"
    if not len(table.submit):
        reason = f": its {left_early} at the start" if run.dynamic else ""
        text = (
            f"there were no jobs: {workload.name} has {nb_jobs}, and the users ({run.users}) "
            f"submitted none{reason}"
        )
        if not nb_jobs:
            raise InputError(text)
        return [text]
    replayed = table.original_submit[~np.isnan(table.original_submit)].round(6)
    if not 0 < len(replayed) < nb_jobs:
        return []  # all of it, or made up
    recorded = np.round([job.submit_time for job in workload.jobs], 6)
    if not np.isin(replayed, recorded).all():
        return []  # made up, or drawn from the log and moved
    return [
        f"the users ({run.users}) submitted {len(replayed)} of the {nb_jobs} jobs of "
        f"{workload.name}: unless some were left out on purpose, {left_early} too early"
    ]


def _on_machine(workload: Workload, nodes: int | None, platform: Platform | None) -> Workload:
    """Let a log without jobs be one of the machine: users who make jobs up look at its size."""
    if workload.jobs:
        return workload
    size = len(platform.hosts) if platform is not None else nodes
    return workload if size is None else msgspec.structs.replace(workload, nb_res=size)


def _relative_speed(platform: str) -> float:
    """Return the speed of the processors relative to the log's, for exact estimates."""
    speed = read_platform(platform).uniform_speed
    if speed is None:
        raise UsageError(
            f"{parameter('walltime')} exact with {platform}: its hosts differ in speed, so "
            "the run time of a job is not known before it is placed"
        )
    return speed / REFERENCE_SPEED


def check(run: Run) -> None:
    """Raise :class:`UsageError` for what makes no sense before a file is read."""
    run.check()
    check_backend(run)
