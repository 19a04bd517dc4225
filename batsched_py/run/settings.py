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
from batsched_py.options.setting_fields import Setting, parse_budgets, parse_limits, setting_fields
from batsched_py.plugins.plugins import RIGID
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.run.stored_values import EMBEDDED, Run, Timeouts
from batsched_py.workload.conversion_rules import CHOICES, DEFAULT, PRESETS, Rules, make_rules
from batsched_py.workload.grid_sites import MOST_TIMES

if TYPE_CHECKING:
    File = str | Path
else:  # as a file and a command line have it
    File = str

_KEY_VALUE = "KEY=VALUE"
USERS = "Users"
BACK_END = "What simulates"
# What a setting is under each heading of a help:
_policy = partial(Setting, group="Policy")
_users = partial(Setting, group=USERS)
_machine = partial(Setting, group="Machine")
_rule = partial(Setting, group="How a log becomes jobs (rules)")
_same_time = partial(Setting, group="Events at the same time")
_measured = partial(Setting, group="What is measured")
_endless = partial(Setting, group="How long work may go on")
_back_end = partial(Setting, group=BACK_END)


class Settings(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The options of a simulation as the user gives them; None stands for the default."""

    log: str = "sample"
    """SWF log or Batsim workload, a file or a log's name: the input of a run of a campaign."""
    scheduler: Annotated[
        str, _policy("Policy: a name of `batsched-py list`, or file.py:Class.", "NAME")
    ] = "easy"
    scheduler_options: Annotated[
        Mapping[str, Any], _policy("Option of the policy (repeatable).", _KEY_VALUE, ("-O",))
    ] = {}
    users: Annotated[
        str,
        _users(
            "User model: rigid (recorded times), feedback, another name of `batsched-py list`, or "
            "file.py:Class.",
            "NAME",
        ),
    ] = RIGID
    sessions: Annotated[
        str | None, _users("How sessions are delimited, such as arrival:60.", "METHOD:MINUTES")
    ] = None
    """The user model's option of that name: how sessions are delimited."""
    user_options: Annotated[
        Mapping[str, Any], _users("Option of the user model (repeatable).", _KEY_VALUE, ("-U",))
    ] = {}
    platform: Annotated[
        File | None, _machine("SimGrid platform file.", "X.xml", ("-p", "--platform"))
    ] = None
    machine: Annotated[
        File | None, _machine("Machine file: nodes, partitions and their limits, outages.", "FILE")
    ] = None
    max_walltime: Annotated[
        str | float | None,
        _machine(
            "No partition of the machine file lets a job ask for more, such as '24 h'.", "TIME"
        ),
    ] = None
    nodes: Annotated[int | None, _machine("Number of processors (default: the log's).", "N")] = None
    node_factor: Annotated[
        float | None,
        _machine(
            "Number of processors, as a multiple of the log's; of a machine file's nodes.", "X"
        ),
    ] = None
    sites: Annotated[
        str | None,
        _machine(
            "Sites of the machine: such as 4x128,6x32 (processors), west:96,east:128@1.5 (names, "
            "speed), or m128 (a grid of Streit's table 7.1); default: the clusters of the "
            "platform.",
            "SITES",
        ),
    ] = None
    speed_factor: Annotated[
        float, _machine("Speed of the processors, as a multiple of the log's.", "X")
    ] = 1.0
    rules: Annotated[
        Rules | str,
        _rule(
            f"How a log becomes jobs: {', '.join(PRESETS)}; the options below change single rules.",
            "PRESET",
        ),
    ] = DEFAULT
    size: Annotated[
        str | None, _rule("Number of processors of a job.", "|".join(CHOICES["size"]))
    ] = None
    walltime: Annotated[
        str | None,
        _rule(
            "Kill limit; double: max(request, 2 x run time); exact: none, policies are told the "
            "run time.",
            "|".join(CHOICES["walltime"]),
        ),
    ] = None
    least_walltime: Annotated[
        str | float | None,
        _rule("With double, the shortest limit of a job, such as '1 min'.", "TIME"),
    ] = None
    runtime: Annotated[str | None, _rule("Run time of a job.", "|".join(CHOICES["runtime"]))] = None
    drop: Annotated[
        str | None, _rule(f"Jobs to leave out: {', '.join(CHOICES['drop'])}.", "KIND,...")
    ] = None
    unknown_user: Annotated[
        str | None,
        _rule(
            "Jobs of unknown users: all of one user, each of its own, or left out.",
            "|".join(CHOICES["unknown_user"]),
        ),
    ] = None
    profile: Annotated[
        str | None,
        _rule(
            "What a job does: last so long, or compute so much on each processor.",
            "|".join(CHOICES["profile"]),
        ),
    ] = None
    keep: Annotated[
        str | None,
        _rule(
            f"Fields of the log that policies see: {', '.join(CHOICES['keep'])}; with a machine "
            "file, all.",
            "FIELD,...",
        ),
    ] = None
    job_numbers: Annotated[
        str | None, _rule("Only jobs with these numbers in the log, such as 10000-19999.", "N-M")
    ] = None
    first: Annotated[int | None, _rule("Only the first N jobs.", "N")] = None
    homes: Annotated[
        str | None,
        _rule(
            "The site where a job is at home: by its user, each in turn, by its group, or the n-th "
            "for partition n.",
            "|".join(CHOICES["homes"]),
        ),
    ] = None
    split: Annotated[
        str | int | None,
        _rule(
            "Split jobs wider than their home, than the largest site, or than N processors.",
            "local|largest|N",
        ),
    ] = None
    skip_bad_lines: Annotated[bool, _rule("Leave malformed lines out and count them.")] = False
    seed: Annotated[int, _users("Seed of what users do by chance.", "N")] = 0
    shake: Annotated[
        int | None, _same_time("Shuffle events of the same instant, by this seed.", "N")
    ] = None
    """None: the order of the log."""
    each_event: Annotated[
        bool,
        _same_time(
            "Run the policy after every event, submissions before ends, not once an instant."
        ),
    ] = False
    warm_up: Annotated[
        str | float | None,
        _measured(
            "Jobs submitted within this time of the first submission load the machine, but are not "
            "measured; such as '4 weeks'.",
            "TIME",
        ),
    ] = None
    cool_down: Annotated[
        str | float | None,
        _measured(
            "Jobs submitted within this time of the last submission are not measured either.",
            "TIME",
        ),
    ] = None
    budgets: Annotated[
        Budgets | str | None,
        _endless(
            "What is taken for endless work: more than so much idle_time (seconds), messages, "
            "decisions, jobs, jobs_at_once; inf: nothing.",
            "NAME=N,...",
        ),
    ] = None
    backend: Annotated[
        str,
        _back_end(
            "What simulates: embedded, batsim (the program), docker (its image), or socket (the "
            "embedded simulator as another process in the place of Batsim 4; socket5: of 5).",
            "NAME",
        ),
    ] = EMBEDDED
    batsim: Annotated[str | None, _back_end("Batsim's program or command line.", "COMMAND")] = None
    """For the back end ``batsim``; None: ``batsim`` on PATH."""
    batsim_log: Annotated[bool, _back_end("Have Batsim log all that it does, not only errors.")] = (
        False
    )
    timeouts: Annotated[
        Timeouts | str | None,
        _back_end(
            "Seconds for another process as back end: ready, run, success, failure.", "NAME=S,..."
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
            raise UsageError(f"{factor}: it goes with neither nodes nor platform nor sites")
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
            | {
                "scheduler_options": dict(self.scheduler_options),
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
                "budgets": parse_budgets(self.budgets),
                "timeouts": parse_limits(
                    "timeouts", self.timeouts, Timeouts, times=Timeouts.__struct_fields__
                ),
                "warm_up": parse_time(parameter("warm_up"), self.warm_up),
                "cool_down": parse_time(parameter("cool_down"), self.cool_down),
            }
        )

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
"""What the command line says of each setting but ``log``, by name."""
SINGLE_RULES = tuple(name for name in Rules.__struct_fields__ if name in SETTINGS)
"""Settings that change a rule of the preset."""
