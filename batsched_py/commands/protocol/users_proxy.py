"""``batsched-py users-proxy``: users for a scheduler of others, under a Batsim that connects."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from math import inf
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Annotated

import typer

from batsched_py.commands import shared_options as o
from batsched_py.commands.protocol import decision_process_options as p
from batsched_py.commands.protocol import simulator_conversation as c
from batsched_py.commands.protocol.added_users import Registers, make_scheduler_settings
from batsched_py.errors import UsageError
from batsched_py.files.writers import find_temporary_folder, make_folder_of
from batsched_py.run.settings import Settings
from batsched_py.run.stored_values import Run, Timeouts
from batsched_py.support.signals import stop_signals
from batsched_py.support.terminal_text import say

if TYPE_CHECKING:
    from batsched_py.model.user_model import UserModel
    from batsched_py.protocol.messages import SimulationBegins
    from batsched_py.results.machine_power import Change
    from batsched_py.run.external_scheduler import ExternalScheduler
    from batsched_py.transport import Partner
    from batsched_py.workload import Workload

app = typer.Typer(add_completion=False, rich_markup_mode=None)
_SOCKET = "tcp://localhost:28001"


@app.command(cls=p.ArgumentsFromFiles)
@o.with_settings(*p.OF_USERS, p.BUDGETS)
def users_proxy(
    *,
    settings: Settings,
    command: Annotated[
        str | None,
        typer.Option(
            "--scheduler-command",
            metavar="COMMAND",
            help="Command line that starts the scheduler. {endpoint} or {port} is where it "
            "listens; else -s ENDPOINT is appended.",
        ),
    ] = None,
    scheduler_socket: Annotated[
        str | None,
        typer.Option(
            metavar="ENDPOINT",
            help=f"Endpoint at which a scheduler listens already. [default: {_SOCKET}]",
        ),
    ] = None,
    registers: Registers = False,
    endpoint: c.Endpoint = "tcp://127.0.0.1:28000",
    verbosity: c.Verbosity = c.BatschedVerbosity.info,
    log: p.Log = None,
    prefix: c.Prefix = None,
    record: c.Record = None,
    first_timeout: c.FirstTimeout = 3600,
    silence_timeout: c.SilenceTimeout = 3600,
    log_dir: o.LogDirs = None,
) -> None:
    """Let users submit jobs to a scheduler of others, between it and Batsim 4.2 or 5.

    Batsim connects to this program, and this program to the scheduler, which sees the jobs of the
    users as jobs of a workload. The program ends with the simulation. The exit code is 0 only if
    the simulation ended as it should. An argument @FILE stands for the arguments in that file.

    Examples:
        batsched-py users-proxy --scheduler-command "batsched -v easy_bf" --users feedback \
            --log sample
        batsched-py users-proxy --scheduler-socket tcp://localhost:28001 --users feedback \
            --log sample -s tcp://*:28000
    """
    from batsched_py.plugins.isolated_run import isolate

    if command is not None and scheduler_socket is not None:
        raise UsageError("--scheduler-command and --scheduler-socket: give one of them")
    run = p.make_run(make_scheduler_settings(settings, command=command or "", registers=registers))
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
        if command is None:
            place = scheduler_socket or _SOCKET
            c.converse(lambda at, stack: _Proxy(run, workload, at, stack, around, place), around)
        else:
            _converse_with_program(run, workload, around, command)
    for note in notes:
        around.say(f"note: {note}")


def _converse_with_program(
    run: Run, workload: Workload | None, around: c.Surroundings, command: str
) -> None:
    """Start the scheduler, and let Batsim meet it."""
    from batsched_py.run.backends.started_scheduler import start_scheduler

    folder = None if around.prefix else mkdtemp(prefix="batsched-", dir=find_temporary_folder())
    log = Path(f"{around.prefix}_scheduler.log" if folder is None else f"{folder}/scheduler.log")
    make_folder_of(log)
    starting = start_scheduler(
        command, log.resolve(), Timeouts(), lambda text: around.say(f"note: {text}")
    )
    with stop_signals(), starting as program:
        c.converse(
            lambda at, stack: _Proxy(
                run, workload, at, stack, around, program.endpoint, program.check
            ),
            around,
        )
    if folder is not None:
        rmtree(folder, ignore_errors=True)


class _Proxy:
    """Makes the proxy after Batsim's first message."""

    def __init__(
        self,
        run: Run,
        workload: Workload | None,
        batsims_endpoint: str,
        stack: ExitStack,
        around: c.Surroundings,
        place: str,
        watch: Callable[[bool], None] = lambda met: None,
    ) -> None:
        from batsched_py.run.external_scheduler import make_external

        self._endpoint = batsims_endpoint
        self._external: ExternalScheduler = make_external(run, workload)
        self._external.set_place(
            stack, place, around.silence_timeout or inf, six_decimals=True, note=say, watch=watch
        )
        self.list_power_changes: Callable[[], list[Change]] = list
        self.read_request = self._external.read_request
        self.describe_progress = self._external.describe_progress
        self.find_stuck_jobs = self._external.find_stuck_jobs

    @property
    def users(self) -> UserModel | None:
        """The users of the simulation, None if there are none."""
        return self._external.users

    def batsim_command(self, prefix: str = "PREFIX", *, batsim5: bool = False) -> str:
        """Return the command line that starts Batsim 4 or 5; capitals stand for files."""
        dynamic = self.users is not None
        return p.make_batsim_command(
            self._endpoint,
            prefix,
            dynamic=dynamic,
            registers=dynamic or self._external.scheduler.registers,
            batsim5=batsim5,
        )

    def __call__(self, begins: SimulationBegins) -> Partner:
        """Return what answers the messages; raises :class:`ProtocolError` if nothing could."""
        if self.users is not None:
            p.check_dynamic_jobs(begins, self.batsim_command())
        return self._external.make_partner()
