"""The function ``simulate``: one simulation, from a log to a result."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial, wraps
from inspect import Signature, signature
from itertools import zip_longest
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, get_type_hints

import msgspec

from batsched_py.errors import InvariantError, UsageError
from batsched_py.model.policy import Scheduler, may_dilate
from batsched_py.model.system import System
from batsched_py.model.user_model import UserModel, makes_up_jobs
from batsched_py.plugins.isolated_run import isolate
from batsched_py.plugins.plugins import EXTERNAL, RIGID
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.results.machine_power import MachinePower
from batsched_py.run.described_result import describe_result, make_stored_run
from batsched_py.run.make_process import check_limits, make_driver
from batsched_py.run.progress import describe_progress, show_progress
from batsched_py.run.resolved_run import ResolvedRun, resolve
from batsched_py.run.result import Output, Recording, Result
from batsched_py.run.settings import SETTINGS, Settings
from batsched_py.run.stored_values import EMBEDDED, Run
from batsched_py.simulator.direct import DirectSimulation
from batsched_py.simulator.profiles import has_known_length
from batsched_py.support.json_values import did_you_mean

if TYPE_CHECKING:
    from batsched_py.decision_process import DecisionProcess
    from batsched_py.run.external_scheduler import ExternalScheduler
    from batsched_py.run.resolved_run import Source
    from batsched_py.workload.workload import Workload


class Arguments(Settings, kw_only=True):
    """The keywords of :func:`simulate`."""

    scheduler: str | Scheduler | Callable[..., Scheduler] = "easy"  # type: ignore[assignment]
    users: str | Callable[..., UserModel] = RIGID  # type: ignore[assignment]
    folder: str | Path | None = None
    record: str | Path | None = None
    progress: bool | None = None


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
                    raise TypeError(f"simulate() has no keyword {name!r}{hint}")
            return function(source, arguments(*args, **keywords))

        source, *_ = signature(function).parameters.values()
        kinds = get_type_hints(arguments)
        settings = [
            part.replace(annotation=kinds[part.name])
            for part in signature(arguments).parameters.values()
            if part.name != "log"  # that is ``source``
        ]
        called.__signature__ = Signature([source, *settings])  # type: ignore[attr-defined]
        lines = [f"        {field.name}: {field.help}" for field in SETTINGS.values()]
        called.__doc__ = "\n".join([(function.__doc__ or "").rstrip(), *lines])
        return called

    return decorate


@_with_keywords_of(Arguments)
def simulate(source: Source, arguments: Arguments) -> Result:
    """Simulate a workload under a policy, and return its jobs, metrics and notes.

    >>> result = simulate("sample", scheduler="fcfs", first=100, users="feedback")
    >>> round(result.metrics["mean_waiting_time"]) >= 0
    True

    ``scheduler`` and ``users`` are names, ``file.py:Class``, classes, or functions that return an
    object when they are called with the options (users: with the workload first). A policy may be
    an instance, too. A plug-in without a file is stored by its class and the hash of its source.
    Texts such as ``4 weeks`` and numbers of seconds are lengths of time.

    Raises :class:`UsageError` for arguments that make no sense, and :class:`InputError` for
    malformed files. A deadlock raises :class:`SimulationError`, and endless work
    :class:`BudgetError`. An error of a policy or a user model raises :class:`InvariantError`.

    Args:
        source: SWF log, Batsim workload file, name of a log, :class:`Workload`, or pandas DataFrame
            with a row per job and columns of SWF (``submit_time``, ``run_time``,
            ``requested_processors``, ...); missing columns are unknown, its ``attrs`` the header.
        folder: Folder for the files of a simulator in another process; None: a temporary one.
        record: File to write all messages to, for ``batsched-py explain``.
        progress: Whether to show the progress; None: on a terminal and in a notebook.
    """
    if arguments.log != Settings().log:
        raise UsageError(f"log = {arguments.log!r}: give the log as the first argument")
    recording = None if arguments.record is None else Recording(arguments.record)
    resolved = resolve(arguments, source)
    result = execute(resolved, arguments.folder, recording, arguments.progress)
    if recording is not None:
        recording.keep()
    return result


def execute(
    resolved: ResolvedRun,
    folder: str | Path | None = None,
    recording: Recording | None = None,
    progress: bool | None = None,
    *,
    messages: bool = False,
) -> Result:
    """Simulate a run whose files were read by :func:`.resolve`; see :func:`simulate`.

    ``folder`` is where another process as back end finds its inputs and leaves its outputs,
    logs and commands (None: a temporary one). ``recording`` is where the messages go; the file
    is there once :meth:`~.Recording.keep` of it or of the result was called. With ``messages``,
    scheduler and simulator always exchange messages, which takes longer and changes no result. The
    run neither sees what plug-ins changed in an earlier run, nor changes a later one.
    """
    with isolate(resolved.run.seed) as notes:
        result = execute_unguarded(resolved, folder, recording, progress, messages=messages)
    result.settings["notes"] += notes
    return result


def verify(resolved: ResolvedRun, result: Result) -> None:
    """Simulate a run again, with messages between scheduler and simulator.

    Raises :class:`InvariantError` if its jobs, its schedule or its number of messages differ from
    those of ``result``.
    """
    again = execute(resolved, progress=False, messages=True)
    for name, text, other in (
        ("_jobs.csv", result.jobs_csv(), again.jobs_csv()),
        ("_schedule.csv", result.output.schedule_csv(), again.output.schedule_csv()),
        ("number of messages", str(result.output.nb_messages), str(again.output.nb_messages)),
    ):
        if text != other:
            pairs = zip_longest(text.splitlines(), other.splitlines(), fillvalue="nothing")
            line, (is_now, was) = next(
                (line, pair) for line, pair in enumerate(pairs, 1) if pair[0] != pair[1]
            )
            raise InvariantError(
                f"with messages between scheduler and simulator, {name} differs in line {line}: "
                f"{was!r}, without them {is_now!r}; please report this"
            )


def execute_unguarded(
    resolved: ResolvedRun,
    folder: str | Path | None = None,
    recording: Recording | None = None,
    progress: bool | None = None,
    *,
    messages: bool = False,
) -> Result:
    """Simulate a run as :func:`execute` does, but do not keep its plug-ins from other runs."""
    run, machine, workload = resolved.run, resolved.machine, resolved.workload
    part = None if recording is None else recording.part
    # For another process too: mistakes are found here.
    system = make_driver(
        partial(_choose_driver, run, workload, messages=messages or part is not None),
        run,
        workload,
        machine,
        resolved.plugins,
    )
    nodes = machine.nb_processors or workload.nb_res
    if not makes_up_jobs(system.users):
        limited = inf if run.platform and not machine.nb_processors else nodes
        check_limits(system.scheduler, workload, limited)
    run, plugin_notes = resolved.plugins.named(run, system)
    resolved = msgspec.structs.replace(resolved, run=run)
    make_stored_run(run)  # before the simulation, as it may fail
    registers = run.dynamic or may_dilate(system.scheduler, machine.sites)
    registers |= bool(run.scheduler == EXTERNAL and run.scheduler_options.get("registers"))
    details: dict[str, Any] | None = None
    begin = time.perf_counter()
    if run.backend == EMBEDDED:
        embedded = _embedded(resolved, nodes, system, folder, part, progress, registers=registers)
        if machine.power and isinstance(system, System):
            sleepers = system.machine.sleepers
            embedded.power = MachinePower(machine.power, sleepers.changes if sleepers else ())
        output: Output = embedded
        plugin_notes += [] if isinstance(system, System) else system.notes
    else:
        from batsched_py.run.backends.dispatch import run_outside

        root = None if folder is None else Path(folder)
        here: Any = system if resolved.plugins.stay_here else None
        output, details = run_outside(
            run, machine, workload, root, part, registers=registers, progress=progress, here=here
        )
    wall_time = time.perf_counter() - begin
    return describe_result(
        resolved,
        output,
        wall_time,
        system,
        notes=plugin_notes,
        details=details,
        recording=recording,
    )


def _embedded(
    resolved: ResolvedRun,
    nodes: int,
    system: DirectSimulation | DecisionProcess | ExternalScheduler,
    folder: str | Path | None,
    record: Path | None,
    progress: bool | None,
    *,
    registers: bool,
) -> EmbeddedOutput:
    """Simulate in this process."""
    run, workload, sites = resolved.run, resolved.workload, resolved.machine.sites
    platform = resolved.machine.hosts(nodes, run.speed_factor)
    if run.scheduler == EXTERNAL:
        from batsched_py.run.external_run import simulate_for_program

        assert not isinstance(system, System)
        with show_progress(system.describe_progress, progress):
            return simulate_for_program(resolved, platform, system, folder, record)
    assert isinstance(system, System)
    nb_jobs = None if run.dynamic else len(workload.jobs)
    with show_progress(partial(describe_progress, system, nb_jobs), progress):
        if isinstance(system, DirectSimulation):
            return EmbeddedOutput(system.run(platform, None if run.dynamic else workload), sites)
        # Imported here as most runs exchange no messages.
        from batsched_py.simulator.engine import Options, Simulator
        from batsched_py.transport.recording import Recorder, record_messages

        simulator = Simulator(
            platform,
            [] if run.dynamic else [workload],
            Options(
                dynamic_jobs=registers,
                profile_reuse=registers,
                shake=run.shake,
                each_event=run.each_event,
                end_delay=run.end_delay,
                budgets=run.budgets,
                switching=resolved.machine.can_sleep,
            ),
        )
        if record is None:
            return EmbeddedOutput(simulator.run(system.answer), sites)
        with Recorder(record) as recorder:
            return EmbeddedOutput(simulator.run(record_messages(system.answer, recorder)), sites)


def _choose_driver(
    run: Run, workload: Workload, users: UserModel | None, *, messages: bool
) -> Callable[..., DirectSimulation | DecisionProcess | ExternalScheduler]:
    """Return the class that drives policy and users: by messages only if the run needs them.

    It does if ``messages`` says so, under another back end, if the events of an instant come in
    parts or another order, if ends are reported late, and if the run time of a job may be unknown
    when it starts.
    """
    if run.scheduler == EXTERNAL:
        from batsched_py.run.external_scheduler import ExternalScheduler

        return ExternalScheduler
    parts = run.shake is not None or run.each_event or run.end_delay > 0
    needed = messages or run.backend != EMBEDDED or parts
    profiles = workload.profiles if users is None else users.profiles
    if not needed and all(map(has_known_length, profiles.values())):
        return DirectSimulation
    from batsched_py.decision_process import DecisionProcess

    return partial(DecisionProcess, six_decimals=run.backend != EMBEDDED)
