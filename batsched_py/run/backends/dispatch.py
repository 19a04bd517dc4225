"""Chooses the back end of a run by its name, and simulates with it."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.files.readers import read_text
from batsched_py.files.writers import find_temporary_folder, locked, write_whole
from batsched_py.options.setting_fields import arguments, format_json
from batsched_py.plugins.plugins import EXTERNAL
from batsched_py.results.jobs_file import add_power
from batsched_py.results.machine_power import POWER
from batsched_py.results.run_files import find_beside
from batsched_py.run.backends.batsim_results import BatsimOutput
from batsched_py.run.backends.launchers import EmbeddedLauncher, Launcher, RunFolder
from batsched_py.run.backends.side_by_side import prepare_folder, run_side_by_side, socket_folder
from batsched_py.run.settings import SETTINGS
from batsched_py.run.stored_values import EMBEDDED, OF_MACHINE_FILE, OF_POWER, SOCKETS, Run
from batsched_py.simulator.platform.platform_writer import (
    make_homogeneous_xml,
    make_hosts_xml,
    scale_xml,
)
from batsched_py.support.installation import PROGRAM
from batsched_py.support.json_values import did_you_mean
from batsched_py.support.signals import stop_signals
from batsched_py.workload.batsim.batsim_workload import write_workload

if TYPE_CHECKING:
    from batsched_py.decision_process import DecisionProcess
    from batsched_py.run.resolved_machine import ResolvedMachine
    from batsched_py.workload import Workload

BACKENDS = (EMBEDDED, *SOCKETS, "batsim", "docker")


def run_outside(
    run: Run,
    machine: ResolvedMachine,
    workload: Workload,
    root: Path | None,
    record: str | Path | None = None,
    *,
    registers: bool,
    progress: bool | None = None,
    here: DecisionProcess | None = None,
) -> tuple[BatsimOutput, dict[str, Any]]:
    """Simulate with another process as back end; return its output and a description of it.

    ``registers`` says that jobs are registered during the simulation, by users or since they run
    longer in some places. ``here`` is a scheduler that stays in this process; None: it is started
    as another one. ``root`` is the folder of inputs, outputs, logs and commands; None: a temporary
    one, which is left only where something failed. ``record`` is a file for the exchange,
    ``progress`` as in :func:`show_progress`. Raises :class:`~batsched_py.errors.BatschedError`
    unless both sides ended well. On a request to end it ends both and raises KeyboardInterrupt.
    """
    batsim = make_launcher(run.backend, run.batsim, run.shake, str(run.budgets))
    identity = batsim.check()
    with stop_signals(), ExitStack() as stack:
        sockets = Path(stack.enter_context(socket_folder()))
        place = (
            root or Path(mkdtemp(prefix="batsched-run-", dir=find_temporary_folder()))
        ).resolve()
        stack.enter_context(locked(place))
        quiet, energy = not run.batsim_log, machine.accounts_for_energy
        folder = RunFolder(place, sockets, run.dynamic, registers, quiet=quiet, energy=energy)
        prepare_folder(folder.root)
        batsim5 = batsim.is_batsim5(folder, run.timeouts.ready)
        folder = msgspec.structs.replace(folder, batsim5=batsim5)
        if run.shutdown and machine.can_sleep and not folder.energy and run.backend != "batsim":
            raise UsageError(
                f"{parameter('platform')} {run.platform}: {parameter('backend')} {run.backend} "
                "switches hosts only if each has wattage_per_state"
            )
        # Where users submit the jobs, the scheduler reads the workload.
        theirs = batsim5 and not run.dynamic
        write_workload(workload, folder.inputs / "workload.json", batsim5=theirs)
        write_whole(folder.inputs / "platform.xml", _platform_xml(run, machine, workload))
        scheduler = _scheduler(run, folder, record, batsim.listen_on(folder))
        if workload.unix_start_time is not None and not run.dynamic and run.scheduler != EXTERNAL:
            scheduler += ["--clock", f"{workload.unix_start_time!r}@{workload.time_zone}"]
        run_side_by_side(scheduler, batsim, folder, run.timeouts, progress, here)
        output = BatsimOutput(folder.outputs, machine.sites, batsim5=batsim5)
        if machine.power and run.scheduler != EXTERNAL:
            switches = find_beside(folder.outputs / "out_jobs.csv", POWER[1:])
            output.table = add_power(output.table, machine.power, switches)
        commands = read_text(folder.root / "commands.sh")
        if root is None:
            shutil.rmtree(place, ignore_errors=True)
    details = {"batsim_version": output.batsim_version, **identity, "commands": commands}
    return output, details


def _platform_xml(run: Run, machine: ResolvedMachine, workload: Workload) -> str:
    if run.platform is not None and machine.platform_content is not None:
        if machine.can_sleep and run.speed_factor != 1:
            raise UsageError(
                f"{parameter('speed_factor')} {run.speed_factor}: {parameter('backend')} "
                f"{run.backend} cannot scale {run.platform}: its sleep_pstates have speeds, too"
            )
        return scale_xml(machine.platform_content, run.platform, run.speed_factor)
    nodes = machine.nb_processors or workload.nb_res
    if machine.can_sleep or machine.sites:
        return make_hosts_xml(machine.hosts(nodes, run.speed_factor).hosts)
    return make_homogeneous_xml(nodes, run.speed_factor)


def make_launcher(
    backend: str, batsim: str | None, shake: int | None = None, budgets: str = ""
) -> Launcher:
    """Return the launcher of a back end; raises :class:`UsageError` for an unknown back end."""
    if backend == "docker":
        from batsched_py.run.backends.docker import DockerLauncher

        return DockerLauncher()
    if backend in SOCKETS:
        return EmbeddedLauncher(shake, budgets, batsim5=backend == SOCKETS[1])
    if backend == "batsim":
        return Launcher(batsim)
    raise UsageError(
        f"there is no back end {backend!r}{did_you_mean(backend, BACKENDS)}: expected one of "
        f"{', '.join(BACKENDS)}"
    )


def _scheduler(run: Run, folder: RunFolder, record: str | Path | None, endpoint: str) -> list[str]:
    """Return the command of the scheduler, which listens on ``endpoint``."""
    is_program = run.scheduler == EXTERNAL
    command = _proxy(run, folder) if is_program else [*PROGRAM, "serve", "-v", run.scheduler]
    command += ["-s", endpoint]
    command += ["-e", str(folder.outputs / "out")]
    command += ["--first-timeout", str(run.timeouts.ready)]
    command += ["--silence-timeout", str(run.timeouts.run)]
    if given := str(run.budgets):
        command += arguments(SETTINGS, {"budgets": given})
    if run.scheduler_options and not is_program:
        command += ["--variant_options", format_json(run.scheduler_options)]
    if record is not None:
        command += ["--record", str(Path(record).resolve())]
    if run.sites is not None:
        command += arguments(SETTINGS, {"sites": run.sites})
    if run.machine is not None:
        machine = {name: getattr(run, name) for name in OF_MACHINE_FILE}
        machine["machine"] = str(Path(run.machine).resolve())
        command += arguments(SETTINGS, machine)
    if not is_program:
        of_power = {name: getattr(run, name) for name in OF_POWER}
        if run.platform is not None and folder.energy and not folder.batsim5:  # it sends no times
            of_power["power"] = folder.inputs / "platform.xml"
        command += arguments(SETTINGS, of_power)
    if folder.registers and run.speed_factor != 1 and not is_program:
        command += arguments(SETTINGS, {"speed_factor": run.speed_factor})
    if folder.dynamic:
        command += ["--users", run.users, "--log", str(folder.inputs / "workload.json")]
        chance = {name: getattr(run, name) for name in ("user_options", "seed", "shake")}
        command += arguments(SETTINGS, chance, as_json=True)
    return command


def _proxy(run: Run, folder: RunFolder) -> list[str]:
    """Return the command that starts a scheduler of others, and stands before it."""
    options = run.scheduler_options
    version, other = (5 if folder.batsim5 else 4), options.get("protocol", 4)
    if other != version:
        raise UsageError(
            f"{parameter('scheduler_protocol')} {other}: this simulator speaks the protocol of "
            f"Batsim {version}"
        )
    registers = ["--scheduler-registers"] if options.get("registers") else []
    return [*PROGRAM, "users-proxy", "--scheduler-command", options["command"], *registers]
