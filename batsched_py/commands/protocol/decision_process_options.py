"""Options of the commands that run a scheduler: ``serve`` and ``replay``."""

from __future__ import annotations

import shlex
from collections.abc import Container, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from batsched_py.commands import shared_options as o
from batsched_py.commands.help_text import CommandHelp
from batsched_py.errors import (
    BatschedError,
    ProtocolError,
    UsageError,
    describe_waiting_jobs,
    located,
    parameter,
)
from batsched_py.files.readers import parse_json, read_text
from batsched_py.run.settings import Settings
from batsched_py.run.stored_values import OF_MACHINE_FILE, OF_POWER, ProcessSettings, Run
from batsched_py.workload.logs.clock import LATEST, Clock
from batsched_py.workload.logs.log_archive import find_log

if TYPE_CHECKING:
    from batsched_py.decision_process import DecisionProcess
    from batsched_py.model.user_model import UserModel
    from batsched_py.protocol.messages import SimulationBegins
    from batsched_py.results.machine_power import Change
    from batsched_py.transport import Partner
    from batsched_py.workload import Workload

OF_USERS = ("users", "sessions", "user_options", "seed", "shake", *o.RULES, "skip_bad_lines")
"""Settings of the users of a decision process, and of the log that they replay."""
OF_SITES = ("sites", *OF_MACHINE_FILE, "speed_factor", *OF_POWER)
"""What a decision process knows of the machine beside Batsim's messages."""
BUDGETS = "budgets"
"""What it takes for endless work."""
Log = Annotated[
    str | None,
    typer.Option(
        "--log",
        metavar="INPUT",
        help="Log or workload whose jobs the users submit: a file, or a name of `logs list`.",
    ),
]

ClockText = Annotated[
    str | None,
    typer.Option(
        "--clock",
        metavar="SECONDS@ZONE",
        help="Unix time of second 0 and time zone, for policies that look at the clock. By default "
        "those of --log, else unknown.",
    ),
]


class ArgumentsFromFiles(CommandHelp):
    """A command whose argument ``@FILE`` stands for the arguments in that file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments with the content of the files in place; comments begin with ``#``."""
        return super().parse_args(ctx, self.prepare(ctx, args))

    def prepare(self, ctx: Any, arguments: Sequence[str]) -> list[str]:
        """Return the arguments as they are parsed."""
        # behind --variant_options, @FILE is a value: see json_options
        values = {at for at, name in enumerate(arguments, 1) if name == "--variant_options"}
        return expand_files(arguments, values)


def expand_files(arguments: Sequence[str], values: Container[int] = ()) -> list[str]:
    """Replace each argument ``@FILE`` by the arguments in that file, but not at ``values``."""
    expanded: list[str] = []
    for at, argument in enumerate(arguments):
        if not argument.startswith("@") or at in values:
            expanded.append(argument)
            continue
        text = read_file_of(argument[1:], argument)
        try:
            expanded += shlex.split(text, comments=True)
        except ValueError as error:
            raise UsageError(
                f"{argument}: {error}; expected arguments as a shell takes them"
            ) from None
    return expanded


def read_json_options(text: str | None, path: str | None) -> dict[str, Any]:
    """Return the policy's options from batsched's two options for them; both may be used.

    ``text`` is a JSON object, or ``@FILE``; ``path`` a file with one.
    """
    options: dict[str, Any] = {}
    for flag, given in (
        ("--variant_options_filepath", None if path is None else f"@{path}"),
        ("--variant_options", text),
    ):
        if given is not None:
            content = read_file_of(given[1:], flag) if given.startswith("@") else given
            options |= parse_json_object(content, f"{flag} {given}")
    return options


def parse_json_object(text: str, what: str) -> dict[str, Any]:
    """Read a JSON object; raises :class:`UsageError`."""
    example = 'a JSON object with options of the policy, such as {"extra_nodes": "instant"}'
    return parse_json(text, dict[str, Any], what, UsageError, expected=example, unique_names=True)


def make_run(settings: Settings) -> Run:
    """Resolve the settings of a decision process, and check them."""
    run = settings.run()
    ProcessSettings.check(run)
    if run.shake is not None and not run.dynamic:
        raise UsageError(
            f"{parameter('shake')} {run.shake}: it shuffles the submissions of a user model, and "
            "there is none; `batsched-py simulator` has --shake for all events"
        )
    return run


def load_users_workload(
    run: Run, log: str | None, log_dirs: Sequence[Path] | None
) -> Workload | None:
    """Load the workload that the users replay; None without users."""
    if not run.dynamic:
        if log is not None:
            raise UsageError(
                f"--log {log}: without a user model, Batsim submits the jobs (its option -w); "
                "add --users feedback, or leave --log out"
            )
        return None
    if log is None:
        raise UsageError(f"--users {run.users} needs --log, the log whose jobs the users submit")
    from batsched_py.run.resolved_machine import describe_machine
    from batsched_py.workload.load import load_workload

    path = find_log(log, log_dirs or [])
    machine = describe_machine(run)
    return load_workload(
        path,
        run.rules,
        skip_bad_lines=run.skip_bad_lines,
        sites=machine.sites,
        described=machine.description,
    )


def read_clock(text: str | None) -> Clock | None:
    """Return the clock of the option ``--clock``; raises :class:`UsageError`."""
    if text is None:
        return None
    start, _, zone = text.partition("@")
    try:
        seconds = float(start)
    except ValueError:
        seconds = inf
    if not abs(seconds) <= LATEST:
        raise UsageError(f"--clock {text}: expected such as 843480031@Europe/Stockholm")
    with located(f"--clock {text}", BatschedError, UsageError):
        return Clock(seconds, zone or "UTC")


class SchedulerMaker:
    """Makes the scheduler after Batsim's first message, which may have options for it.

    Options that Batsim was started with for the policy, a JSON object (``--sched-cfg``, in version
    5 the text behind the endpoint), complete those of the command line. What does not fit is found
    at once: a first process is made here.
    """

    def __init__(
        self,
        settings: ProcessSettings,
        workload: Workload | None,
        endpoint: str,
        clock: Clock | None = None,
    ) -> None:
        from batsched_py.run.resolved_machine import describe_machine

        self._settings, self._workload, self._endpoint = settings, workload, endpoint
        self._machine, self._clock = describe_machine(settings), clock
        self._text = ""
        self.process = self._process(settings)
        """The latest process that was made."""

    @property
    def users(self) -> UserModel | None:
        """The users of the simulation, None if there are none."""
        return self.process.users

    def list_power_changes(self) -> Sequence[Change]:
        """Return when processors were switched off and on."""
        sleepers = self.process.machine.sleepers
        return sleepers.changes if sleepers else ()

    def describe_progress(self) -> str:
        """Return the progress of the simulation in words."""
        from batsched_py.run.progress import describe_progress

        return describe_progress(self.process)

    def find_stuck_jobs(self) -> str | None:
        """Return which jobs wait while nothing runs, None if there are none."""
        process = self.process
        if process.nb_running or not len(process.queue):
            return None
        jobs, machine = list(process.queue), process.machine
        return describe_waiting_jobs(
            [job.id for job in jobs],
            machine.nb_processors,
            machine.free,
            (jobs[0].id, jobs[0].size),
            any_started=machine.nb_ended > 0,
        )

    def _dilates(self) -> bool:
        from batsched_py.model.policy import may_dilate

        return may_dilate(self.process.scheduler, self.process.sites)

    def read_request(self, text: str) -> dict[str, bool]:
        """Return the request of the hello to Batsim 5; ``text`` is its option for the policy.

        Raises :class:`UsageError` for a text that does not fit.
        """
        self._complete(text, "the text behind Batsim's endpoint")
        dilates = self._dilates()
        registers = self._workload is not None or dilates
        return {
            "dynamic_registration": registers,
            "profile_reuse": registers,
            # What static jobs do must be known to dilate it.
            "forward_profiles_on_job_submission": dilates and self._workload is None,
        }

    def batsim_command(self, prefix: str = "PREFIX", *, batsim5: bool = False) -> str:
        """Return the command line that starts Batsim 4 or 5; capitals stand for files."""
        dynamic = self._workload is not None
        return make_batsim_command(
            self._endpoint,
            prefix,
            dynamic=dynamic,
            registers=dynamic or self._dilates(),
            batsim5=batsim5,
            energy=self._machine.can_sleep,
        )

    def __call__(self, begins: SimulationBegins) -> Partner:
        """Return what answers the messages; raises :class:`ProtocolError` if nothing could."""
        if self._workload is not None:
            check_dynamic_jobs(begins, self.batsim_command())
        self._complete(begins.config.get("sched-config") or "", "Batsim's --sched-cfg")
        return self.process.answer

    def _complete(self, text: str, what: str) -> None:
        """Make the process anew if Batsim was started with options for the policy."""
        if text == self._text:
            return
        settings = self._settings
        given = parse_json_object(text, f"{what} {text}")
        options = given | settings.scheduler_options
        self._text = text
        self.process = self._process(msgspec.structs.replace(settings, scheduler_options=options))

    def _process(self, settings: ProcessSettings) -> DecisionProcess:
        from batsched_py.run.make_process import make_process

        return make_process(
            settings, self._workload, self._machine, clock=self._clock, six_decimals=True
        )


def make_batsim_command(
    endpoint: str,
    prefix: str,
    *,
    dynamic: bool,
    registers: bool,
    batsim5: bool,
    energy: bool = False,
) -> str:
    """Return a command line of Batsim 4 or 5; ``dynamic``: users submit the jobs."""
    from batsched_py.run.backends.batsim_arguments import batsim_arguments

    arguments = batsim_arguments(
        platform="PLATFORM.xml",
        workloads=[] if dynamic else ["WORKLOAD.json"],
        endpoint=endpoint,
        prefix=prefix,
        registers=registers,
        quiet=True,
        batsim5=batsim5,
        energy=energy,
    )
    return shlex.join(["batsim", *arguments])


def check_dynamic_jobs(begins: SimulationBegins, command: str) -> None:
    """Raise :class:`ProtocolError`, with Batsim's ``command``, if users cannot submit jobs."""
    if not begins.config.get("dynamic-jobs-enabled"):
        raise ProtocolError(
            "the user model submits its jobs during the simulation, and Batsim was started "
            f"without dynamic jobs; start it as: {command}"
        )


def read_file_of(path: str, option: str) -> str:
    """Return the content of the file that ``option`` names; raises :class:`UsageError`."""
    with located(option, BatschedError, UsageError):
        return read_text(path)
