"""Simulates in this process for a scheduler in another program, which it starts."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from batsched_py.files.writers import find_temporary_folder
from batsched_py.results.embedded_output import EmbeddedOutput
from batsched_py.run.backends.started_scheduler import start_scheduler
from batsched_py.run.external_scheduler import ExternalScheduler
from batsched_py.run.resolved_run import ResolvedRun
from batsched_py.simulator.batsim5.simulator import Batsim5Simulator
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import Platform
from batsched_py.support.signals import stop_signals
from batsched_py.transport.recording import Recorder, record_messages


def simulate_for_program(
    resolved: ResolvedRun,
    platform: Platform,
    external: ExternalScheduler,
    folder: str | Path | None,
    record: Path | None,
) -> EmbeddedOutput:
    """Simulate a run whose scheduler is a program, on ``platform``; return its output.

    The program's output is in ``scheduler.log`` of ``folder`` (None: of a temporary one, which is
    left only where something failed). ``record`` is the file for all messages. Raises
    :class:`~batsched_py.errors.BatschedError` unless both sides ended well.
    """
    run, policy = resolved.run, external.scheduler
    is_batsim5 = policy.protocol == 5
    workloads = [] if run.dynamic else [resolved.workload]
    registers = run.dynamic or policy.registers
    options = Options(
        dynamic_jobs=registers,
        profile_reuse=registers,
        acknowledge_dynamic_jobs=policy.registers,
        shake=run.shake,
        each_event=run.each_event,
        end_delay=run.end_delay,
        budgets=run.budgets,
        protocol=policy.protocol,
        switching=resolved.machine.can_sleep,
        exact_times=is_batsim5,
    )
    with stop_signals(), ExitStack() as stack:
        place = Path(folder or mkdtemp(prefix="batsched-run-", dir=find_temporary_folder()))
        place.mkdir(parents=True, exist_ok=True)
        log = place.resolve() / "scheduler.log"
        program = stack.enter_context(
            start_scheduler(policy.command, log, run.timeouts, external.notes.append)
        )
        connection = stack.enter_context(ExitStack())  # which ends before the program must
        external.set_place(
            connection, program.endpoint, run.timeouts.run, exact=is_batsim5, watch=program.check
        )
        kind: type[Simulator] = Simulator
        if is_batsim5:
            options = options.with_features(external.read_request(""))
            kind = Batsim5Simulator
        partner = external.make_partner()
        simulator = kind(platform, workloads, options)
        if record is not None:
            partner = record_messages(partner, connection.enter_context(Recorder(record)))
        output = EmbeddedOutput(simulator.run(partner), ())
    if folder is None and not external.notes:
        rmtree(place, ignore_errors=True)
    return output
