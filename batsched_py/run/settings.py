"""Defines all options of a simulation.

A field of :class:`Settings` is a keyword of :func:`~batsched_py.run.simulate.simulate`, an option
of ``batsched-py simulate`` and a key of a campaign file. :meth:`Settings.run` converts the options
to a :class:`Run`, which is stored with the results: a new option is a field of both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.options.budgets import Budgets
from batsched_py.options.durations import parse_time
from batsched_py.options.setting_fields import (
    TIME,
    Setting,
    parse_budgets,
    parse_limits,
    setting_fields,
)
from batsched_py.plugins.plugins import EXTERNAL, RIGID
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.run.stored_values import EMBEDDED, Run, Timeouts
from batsched_py.schedulers.shutdown.settings import Shutdown, parse_power, parse_shutdown
from batsched_py.workload.conversion_rules import CHOICES, DEFAULT, PRESETS, Rules, make_rules
from batsched_py.workload.grid_sites import MOST_TIMES, is_platform
from batsched_py.workload.processor_power import ProcessorPower

if TYPE_CHECKING:
    File = str | Path
else:  # as a file and a command line have it
    File = str

_KEY_VALUE = "KEY=VALUE"
USERS = "Users"
CONVERSION = "Conversion of the log"
BACK_END = "Simulator"
# What a setting is under each heading of a help:
_policy = partial(Setting, group="Policy")
_users = partial(Setting, group=USERS)
_machine = partial(Setting, group="Machine")
_factor = partial(_machine, metavar="X", values="a number above 0")
_power = partial(Setting, group="Power")
_rule = partial(Setting, group=CONVERSION, default="that of --rules")
_seed = partial(Setting, metavar="N", values="a whole number, at least 0")
_SAME_TIME = "Simultaneous events"
_measured = partial(Setting, group="Measured jobs", metavar="TIME", values=TIME, default="0")
_limits = partial(Setting, group="Limits")
_back_end = partial(Setting, group=BACK_END)
_PLUG_IN = "a name from `batsched-py list`, or FILE.py:CLASS"
_OPTION_OF = "an option that `batsched-py list NAME` shows; repeatable"


def _choices(rule: str) -> str:
    return "|".join(CHOICES[rule])


class Settings(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The options of a simulation as the user gives them; None stands for the default."""

    log: str = "sample"
    """SWF log or Batsim workload, a file or a log's name: the input of a run of a campaign."""
    scheduler: Annotated[
        str, _policy("Policy that decides which job starts when.", "NAME", values=_PLUG_IN)
    ] = "easy"
    scheduler_options: Annotated[
        Mapping[str, Any], _policy("Option of the policy.", _KEY_VALUE, ("-O",), values=_OPTION_OF)
    ] = {}
    scheduler_command: Annotated[
        str | None,
        _policy(
            "Command line of a scheduler for Batsim that decides instead of a policy. {endpoint} "
            "or {port} is where it listens; else -s ENDPOINT is appended.",
            "COMMAND",
        ),
    ] = None
    scheduler_protocol: Annotated[
        int, _policy("Version of Batsim that --scheduler-command speaks with.", "4|5")
    ] = 4
    scheduler_registers: Annotated[
        bool, _policy("Let --scheduler-command register jobs of its own.")
    ] = False
    users: Annotated[
        str,
        _users(
            "User model that decides who submits which job when; rigid submits all jobs at their "
            "recorded times.",
            "NAME",
            values=f"rigid, {_PLUG_IN}",
        ),
    ] = RIGID
    sessions: Annotated[
        str | None,
        _users(
            "Rule that cuts the jobs of a user into sessions.",
            "METHOD:MINUTES",
            values="arrival, last or max with a threshold in minutes, such as arrival:60",
            default="that of the user model",
        ),
    ] = None
    user_options: Annotated[
        Mapping[str, Any],
        _users("Option of the user model.", _KEY_VALUE, ("-U",), values=_OPTION_OF),
    ] = {}
    platform: Annotated[
        File | None,
        _machine(
            "SimGrid platform file that describes the processors, instead of --nodes.",
            "FILE.xml",
            ("-p", "--platform"),
        ),
    ] = None
    machine: Annotated[
        File | None,
        _machine(
            "Machine file with nodes, partitions, their limits, and outages, instead of --nodes.",
            "FILE.toml",
        ),
    ] = None
    max_walltime: Annotated[
        str | float | None,
        _machine(
            "Longest walltime that any partition of the machine file allows.",
            "TIME",
            values=TIME,
            default="no further limit",
        ),
    ] = None
    nodes: Annotated[
        int | None,
        _machine(
            "Number of processors of the machine.",
            "N",
            values=f"a whole number from 1 to {MOST_PROCESSORS}",
            default="that of the log",
        ),
    ] = None
    node_factor: Annotated[
        float | None,
        _factor(
            "Number of processors as a multiple of the log's; with --machine, of the nodes of each "
            "group.",
            default="1",
        ),
    ] = None
    gpu_node_factor: Annotated[
        float | None,
        _factor("Number of nodes with GPUs of the machine file, as a multiple.", default="1"),
    ] = None
    whole_nodes: Annotated[
        bool | None,
        _machine(
            "Whether jobs take whole nodes, in all partitions of the machine file.",
            "true|false",
            default="that of each partition",
        ),
    ] = None
    max_gpus_per_user: Annotated[
        int | None,
        _machine(
            "Most GPUs that the running jobs of a user hold, a further limit of the machine file.",
            "N",
            values="a whole number, at least 1",
            default="no further limit",
        ),
    ] = None
    sites: Annotated[
        str | None,
        _machine(
            "Grid sites: parts of the machine with users of their own.",
            "SITES",
            values="processors (4x128,6x32), names with processors and speeds "
            "(west:96,east:128@1.5), a grid of Streit's thesis (m128), or a platform file",
            default="the clusters of the platform file, else none",
        ),
    ] = None
    speed_factor: Annotated[
        float, _factor("Speed as a multiple of the log's (0.8: runs take 1.25 times as long).")
    ] = 1.0
    power: Annotated[
        ProcessorPower | str | None,
        _power(
            "Power of each processor, and the time and energy to switch it off and on.",
            "NAME=N,...",
            values="idle_watts, computing_watts, asleep_watts, off_seconds, off_joules, "
            "on_seconds, on_joules; with commas; for serve also Batsim's platform file",
            default="that of --machine or --platform, else unknown",
        ),
    ] = None
    shutdown: Annotated[
        Shutdown | str | None,
        _power(
            "Rule that switches idle processors off, beside any policy.",
            "NAME=N,...",
            values="idle_time (after which a processor is switched off), keep (idle processors "
            "that stay on, or a share such as 10%), rule (idle, proportional, inertial), period, "
            "awake, growth, load_bound; with commas",
            default="none is switched off",
        ),
    ] = None
    rules: Annotated[
        Rules | str,
        Setting(
            "Preset of the rules that convert a log to jobs; options below change single rules.",
            "|".join(PRESETS),
            group=CONVERSION,
        ),
    ] = DEFAULT
    size: Annotated[
        str | None, _rule("Which number of processors a job gets.", _choices("size"))
    ] = None
    walltime: Annotated[
        str | None,
        _rule(
            "Walltime of a job: the request; double: the request, at least 2 x the run time; "
            "exact: none, and policies know the run time.",
            _choices("walltime"),
        ),
    ] = None
    least_walltime: Annotated[
        str | float | None,
        _rule("Shortest walltime that --walltime double gives.", "TIME", values=TIME),
    ] = None
    runtime: Annotated[
        str | None, _rule("Run time of a job, whole or cut at the request.", _choices("runtime"))
    ] = None
    drop: Annotated[
        str | None,
        _rule(
            "Kinds of jobs to leave out.",
            "KIND,...",
            values=f"{', '.join(CHOICES['drop'])}, with commas",
        ),
    ] = None
    unknown_user: Annotated[
        str | None,
        _rule(
            "Owner of the jobs of unknown users: one user, each its own, or drop the jobs.",
            _choices("unknown_user"),
        ),
    ] = None
    profile: Annotated[
        str | None,
        _rule(
            "Profile of a job: a fixed run time, or an amount of computation for each processor.",
            _choices("profile"),
        ),
    ] = None
    keep: Annotated[
        str | None,
        _rule(
            "Fields of the log that policies see; with a machine file also group, queue and "
            "partition.",
            "FIELD,...",
            values="fields of SWF, such as queue and requested_memory, with commas",
            default="none",
        ),
    ] = None
    without_users: Annotated[
        str | None,
        _rule(
            "Leave out the jobs of these users.",
            "USER,...",
            values="numbers of users in the log, such as 374, with commas",
            default="none",
        ),
    ] = None
    span_from: Annotated[
        str | float | None,
        _rule(
            "Use only the jobs submitted from this time on.",
            "TIME",
            ("--from",),
            values="a time after the first submission of the log, such as '29 weeks', or a date by "
            "its clock, such as '2001-03-05 08:00'",
            default="the first submission",
        ),
    ] = None
    span_until: Annotated[
        str | float | None,
        _rule(
            "Use only the jobs submitted before this time.",
            "TIME",
            ("--until",),
            values="as for --from",
            default="no end",
        ),
    ] = None
    job_numbers: Annotated[
        str | None,
        _rule(
            "Use only the jobs with these numbers in the log.",
            "N-M",
            values="two numbers, such as 10000-19999",
            default="all",
        ),
    ] = None
    first: Annotated[
        int | None,
        _rule(
            "Use only the first N jobs.", "N", values="a whole number, at least 1", default="all"
        ),
    ] = None
    homes: Annotated[
        str | None,
        _rule(
            "How a job gets its grid site of origin: by its user, each site in turn, by its group, "
            "or by its partition.",
            _choices("homes"),
            default="user",
        ),
    ] = None
    split: Annotated[
        str | int | None,
        _rule(
            "Split jobs wider than their home, than the largest grid site, or than N processors.",
            "local|largest|N",
            default="no splitting",
        ),
    ] = None
    withdrawn: Annotated[
        str | None,
        _rule(
            "Jobs that were withdrawn before they started; impute keeps them, with run times drawn "
            "from completed jobs.",
            _choices("withdrawn"),
            default="as-recorded",
        ),
    ] = None
    impute_seed: Annotated[
        int | None,
        _seed("Seed of the run times of --withdrawn impute.", group=CONVERSION, default="0"),
    ] = None
    skip_bad_lines: Annotated[
        bool, _rule("Leave malformed lines of the log out, and count them.")
    ] = False
    seed: Annotated[int, _seed("Seed of the random choices of users.", group=USERS)] = 0
    shake: Annotated[
        int | None,
        _seed(
            "Shuffle the events of the same instant with this seed.",
            group=_SAME_TIME,
            default="the order of the log",
        ),
    ] = None
    each_event: Annotated[
        bool,
        Setting(
            "Run the policy after every event, submissions first, instead of once per instant.",
            group=_SAME_TIME,
        ),
    ] = False
    end_delay: Annotated[
        float,
        Setting(
            "Report each end of a job this many seconds late, as Batsim does on a platform with "
            "latency.",
            "SECONDS",
            group=_SAME_TIME,
        ),
    ] = 0.0
    warm_up: Annotated[
        str | float | None,
        _measured(
            "Time after the first submission; jobs submitted in it load the machine, but are not "
            "measured."
        ),
    ] = None
    cool_down: Annotated[
        str | float | None,
        _measured("Time before the last submission; jobs submitted in it are not measured."),
    ] = None
    budgets: Annotated[
        Budgets | str | None,
        _limits(
            "Limits beyond which a simulation counts as endless and fails; inf lifts one.",
            "NAME=N,...",
            values="idle_time (seconds), messages, decisions, jobs, jobs_at_once; with commas",
            default="idle_time=315360000,messages=3e6,decisions=1e6,jobs=1e7,jobs_at_once=1e6",
        ),
    ] = None
    backend: Annotated[
        str,
        _back_end(
            "Simulator: the embedded one, Batsim, its Docker image, or the embedded one in another "
            "process, in place of Batsim 4 (socket) or 5 (socket5).",
            "embedded|batsim|docker|socket|socket5",
        ),
    ] = EMBEDDED
    batsim: Annotated[
        str | None,
        _back_end(
            "Program or command line of Batsim, for --backend batsim.",
            "COMMAND",
            default="batsim on PATH",
        ),
    ] = None
    batsim_log: Annotated[
        bool, _back_end("Let Batsim log everything it does (4 MB and more), not only errors.")
    ] = False
    timeouts: Annotated[
        Timeouts | str | None,
        _back_end(
            "Time limits in seconds for a simulator in another process.",
            "NAME=S,...",
            values="ready, run, success, failure; with commas",
            default="ready=300,run=604800,success=60,failure=5",
        ),
    ] = None

    def on_machine(self, machine_size: Callable[[], int]) -> Settings:
        """Return the options with ``nodes`` in place of ``node_factor``.

        ``machine_size`` gives the number of processors of the log's machine.
        """
        if self.node_factor is None or self.machine is not None:
            return self  # of a machine file it is for each partition
        factor = f"{parameter('node_factor')} {self.node_factor}"
        if (self.nodes, self.platform, self.sites) != (None, None, None):
            raise UsageError(f"{factor}: give it without nodes, platform and sites")
        if not 0 < self.node_factor <= MOST_TIMES:
            raise UsageError(f"{factor}: expected a positive number up to {MOST_TIMES:g}")
        size = machine_size()
        nodes = round(size * self.node_factor)
        if nodes < 1:
            raise UsageError(f"{factor} leaves no node of {size}")
        if nodes > MOST_PROCESSORS:
            raise UsageError(f"{factor} of {size} are more than {MOST_PROCESSORS} nodes")
        return msgspec.structs.replace(self, nodes=nodes, node_factor=None)

    def run(self) -> Run:
        """Return the values to store and simulate; raises :class:`UsageError`.

        Where there is a ``node_factor``, see :meth:`on_machine` first.
        """
        for name in ("scheduler", "users"):
            if not isinstance(given := getattr(self, name), str):
                kind = getattr(given, "__name__", type(given).__name__)
                raise UsageError(
                    f"{parameter(name)} {given!r}: only simulate() takes classes; this needs a "
                    f"file: path/to/file.py:{kind}"
                )
        same = {name: getattr(self, name) for name in Run.__struct_fields__}
        return Run(
            **same
            | self._policy()
            | {
                "user_options": self._all_user_options(),
                "rules": make_rules(
                    self.rules, **{name: getattr(self, name) for name in SINGLE_RULES}
                ),
                "platform": None if self.platform is None else str(self.platform),
                "machine": None if self.machine is None else str(self.machine),
                "node_factor": None if self.machine is None else self.node_factor,
                "max_walltime": None
                if self.max_walltime is None
                else parse_time(parameter("max_walltime"), self.max_walltime),
                "power": self.power
                if isinstance(self.power, str) and is_platform(self.power)
                else parse_power(self.power),
                "shutdown": parse_shutdown(self.shutdown),
                "budgets": parse_budgets(self.budgets),
                "timeouts": parse_limits(
                    "timeouts", self.timeouts, Timeouts, times=Timeouts.__struct_fields__
                ),
                "warm_up": parse_time(parameter("warm_up"), self.warm_up),
                "cool_down": parse_time(parameter("cool_down"), self.cool_down),
            }
        )

    def _policy(self) -> dict[str, Any]:
        """Return name and options of the policy as a run has them; a program is ``external``."""
        given: dict[str, Any] = {}
        if self.scheduler_protocol != 4:
            given["protocol"] = self.scheduler_protocol
        if self.scheduler_registers:
            given["registers"] = True
        command = self.scheduler_command
        if command is None:
            if given:
                raise UsageError(
                    f"{parameter(f'scheduler_{next(iter(given))}')} has no effect without "
                    f"{parameter('scheduler_command')}"
                )
            return {"scheduler_options": dict(self.scheduler_options)}
        if self.scheduler_options or self.scheduler != "easy":
            raise UsageError(
                f"{parameter('scheduler')} {self.scheduler} and {parameter('scheduler_command')} "
                f"{command}: give one of them, and options of a program in its command line"
            )
        return {"scheduler": EXTERNAL, "scheduler_options": {"command": command, **given}}

    def _all_user_options(self) -> dict[str, Any]:
        options = dict(self.user_options)
        if self.sessions is None:
            return options
        if "sessions" in options:
            raise UsageError(
                f"{parameter('sessions')} and {parameter('user_options')} sessions="
                f"{options['sessions']}: give one of them"
            )
        return options | {"sessions": self.sessions}


SETTINGS = setting_fields(Settings)
"""The fields of all options but ``log``, by name, with their help."""
OF_PROGRAM = ("scheduler_command", "scheduler_protocol", "scheduler_registers")
"""Settings of a scheduler of others."""
SINGLE_RULES = tuple(name for name in Rules.__struct_fields__ if name in SETTINGS)
"""Settings that change a rule of the preset."""
