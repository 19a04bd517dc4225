"""Draws what is simulated as a whole: jobs that collide, a machine, a policy and users.

Policies and user models are those that are registered, so that a new one is covered. Their options
come from their signatures: true and false, small numbers, and the texts that the error for a wrong
text lists. Options that are texts of another kind have values in :data:`TEXTS`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pandas as pd
from hypothesis import strategies as st
from msgspec import json

from batsched_py import Result, Workload, simulate
from batsched_py.errors import BatschedError
from batsched_py.plugins import plugins
from batsched_py.plugins.plugins import RIGID, SCHEDULERS, USERS
from batsched_py.run.resolved_run import ResolvedRun, resolve
from batsched_py.run.settings import Settings
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.sample_log import SAMPLE_LOG
from every_policy import OPTIONS, POPULATION
from helpers.agents import agents

POLICIES = sorted(plugins.list_names(SCHEDULERS))
ACTING = f"{Path(__file__).with_name('acting_users.py')}:Acting"
"""Users who withdraw jobs, and whose jobs depend on others."""
MODELS = [RIGID, ACTING, *sorted(plugins.list_names(USERS))]
POWER = {
    "idle_watts": 95.0,
    "computing_watts": 190.0,
    "asleep_watts": 9.0,
    "off_joules": 620.0,
    "on_joules": 1900.0,
}
"""Of each processor that sleeps; seconds are drawn."""
SHUTDOWNS: list[dict[str, Any]] = [
    {"idle_time": 0},
    {"idle_time": 10},
    {"idle_time": 60, "keep": 1},
    {"idle_time": 20, "keep": "25%", "period": 200},
    {"rule": "proportional", "period": 400, "awake": "30%", "idle_time": 100},
    {"rule": "inertial", "period": 300, "load_bound": 30},
]
"""Rules that switch processors off; the last three call at each period, from 0 on."""
TEXTS: dict[str, list[Any]] = {
    "begins": ["tue 08:15"],
    "bf_window": ["30 min"],
    "half_life": ["1 min", "1 day"],
    "limits": [[{"days": "mon-fri", "from": "06:00", "to": "20:00", "max_share": 0.5}]],
    "max_age": ["1 h"],
    "prime_from": ["00:00", "07:30"],
    "prime_to": ["08:00", "23:59"],
    "sessions": ["arrival:5", "last:20", "max:30"],
}
"""Values of options that are texts of a form of their own."""
NUMBERS: dict[str, list[Any]] = {
    SCHEDULERS: [0, 1, 2, 7, 64, 0.5, 60.0, 7200.0],
    USERS: [0, 1, 2, 0.5],
}
"""Values of options that are numbers, as far as an option takes them; few users, few weeks."""
LATE = 1_000_000_000
"""Seconds: times after it lose their fractions wherever few digits are kept."""


class Job(NamedTuple):
    """A job of the log; times in seconds, ``requested`` is -1 if it asks for no walltime."""

    number: int
    submit: int
    run_time: int
    size: int
    requested: int
    user: int
    partition: int


@dataclass(frozen=True)
class Partition:
    """A partition of a machine file: its nodes, and the limits that it has."""

    nodes: tuple[int, int]
    """The first and the last."""
    whole_nodes: bool
    limits: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Machine:
    """A machine file: equal nodes, partitions numbered from 1, and outages."""

    cores: int
    count: int
    partitions: tuple[Partition, ...]
    outages: tuple[tuple[int, int, int, bool], ...]
    """Begin and end (seconds), the node, and whether it was planned."""
    limits: tuple[tuple[str, str, str, int], ...] = ()
    """Whose jobs count (``""``: all), for whom, jobs or cpus, and how many."""
    memory: int = 0
    """MiB of a node; 0: it is not limited."""

    def processors(self, first: int, last: int) -> set[int]:
        """Return the processors of these nodes."""
        return set(range(first * self.cores, (last + 1) * self.cores))

    def text(self) -> str:
        """Return the file."""
        lines = [f"[[nodes]]\ncount = {self.count}\ncores = {self.cores}"]
        if self.memory:
            lines = [f'resources = "{_write(self.table())}"', *lines, f"memory = {self.memory}"]
        for number, part in enumerate(self.partitions, 1):
            first, last = part.nodes
            lines += ["[[partitions]]", f'name = "p{number}"', f"number = {number}"]
            lines += [f'nodes = "{first}-{last}"', f"whole_nodes = {part.whole_nodes}".lower()]
            lines += [f"{name} = {value}" for name, value in part.limits]
        for begin, end, node, planned in self.outages:
            lines += ["[[outages]]", f"begin = {begin}", f"end = {end}"]
            lines += [f'nodes = "{node}"', f"planned = {planned}".lower()]
        for of, per, resource, most in self.limits:
            lines += ["[[limits]]", *([f'of = "{of}"'] if of else [])]
            lines += [f'per = "{per}"', f"{resource} = {most}"]
        return "\n".join(lines)

    def memory_of(self, number: int) -> int:
        """Return the MiB of the job with this number in the log."""
        return number * 7 % (self.memory + 1)

    def table(self) -> str:
        """Return what the jobs of the log hold besides processors."""
        rows = (f"{number},,{self.memory_of(number)},0\n" for number in range(1, 301))
        return f"job,nodes,memory_mib,gpus\n{''.join(rows)}"


@dataclass(frozen=True)
class World:
    """One simulation; everything in it follows from these values."""

    policy: str
    policy_options: Mapping[str, Any]
    users: str
    user_options: Mapping[str, Any]
    nb_jobs: int
    seed: int
    gaps: tuple[int, ...]
    """Tens of seconds between submissions, of which one is drawn for each job."""
    lengths: tuple[int, ...]
    """Tens of seconds that jobs run."""
    begins: int
    nodes: int
    machine: Machine | None
    sites: str | None
    walltime: str
    """The rule by which jobs get their limits."""
    settings: Mapping[str, Any]

    @property
    def plain(self) -> bool:
        """Whether all processors are alike."""
        return self.machine is None and self.sites is None

    @property
    def seconds(self) -> tuple[float, float] | None:
        """The seconds to switch a processor off and on, None if none is switched."""
        power = self.settings.get("power")
        return (power["off_seconds"], power["on_seconds"]) if power else None

    def always_on(self) -> World:
        """Return the world without a shutdown."""
        kept = {k: v for k, v in self.settings.items() if k not in ("power", "shutdown")}
        return replace(self, settings=kept)

    def jobs(self) -> list[Job]:
        """Return the jobs of the log, in order of submission."""
        random, now, jobs = Random(self.seed), self.begins, []
        sizes = (1, 1, 2, self.nodes // 2 or 1, self.nodes, self.nodes + 1)
        requests = (0.5, 1, 1, 2, 10) if self.walltime != "exact" else (-1, 1)
        for number in range(1, self.nb_jobs + 1):
            now += 10 * random.choice(self.gaps)
            run_time = 10 * random.choice(self.lengths)
            requested = int((run_time or 10) * random.choice(requests))
            nb_partitions = 1 if self.machine is None else len(self.machine.partitions)
            # two who are always there, and others one after the other
            user = random.choice((1, 2, 3 + 8 * number // self.nb_jobs))
            size = random.choice(sizes)
            partition = random.randint(1, nb_partitions)
            jobs.append(Job(number, now, run_time, size, max(requested, -1), user, partition))
        return jobs

    def log(self) -> pd.DataFrame:
        """Return the log; jobs waited for up to a minute when it was recorded."""
        random = Random(self.seed)
        frame = pd.DataFrame(self.jobs())
        frame = frame.rename(
            columns={
                "number": "job_number",
                "submit": "submit_time",
                "size": "requested_processors",
                "requested": "requested_time",
            }
        )
        frame["wait_time"] = [random.choice((0, 10, 60)) for _ in range(len(frame))]
        frame["status"] = 1
        frame.attrs = {"MaxProcs": self.nodes, "UnixStartTime": 0, "TimeZoneString": "UTC"}
        return frame

    def all_settings(self) -> dict[str, Any]:
        """Return the settings of the simulation, but for the log."""
        named: dict[str, Any] = {
            "scheduler": self.policy,
            "scheduler_options": self.policy_options,
            "users": self.users,
            "user_options": self.user_options,
            "walltime": self.walltime,
            "sites": self.sites,
            **self.settings,
        }
        if self.plain:
            named["nodes"] = self.nodes
        if self.machine is not None:
            named["machine"] = _write(self.machine.text())
        return named

    def simulate(self, **changes: Any) -> Result:
        """Simulate it, with some settings changed."""
        return simulate(self.log(), **self.all_settings() | changes)

    def resolve(self) -> ResolvedRun:
        """Return its run, with all files read."""
        return resolve(Settings(**self.all_settings()), self.log())


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


def _write(text: str) -> str:
    path = Path(_folder().name, f"{abs(hash(text))}.toml")
    path.write_text(text)
    return str(path)


@cache
def _values(group: str, name: str) -> dict[str, list[Any]]:
    """Return values that the options of a plug-in may have, by option."""
    kind = plugins.load(group, name)
    values = {}
    for option in plugins.find_option_parameters(kind):
        if option.name == "seed":
            continue
        tried = [True, False, *NUMBERS[group], *TEXTS.get(option.name, ())]
        tried += _listed_texts(group, name, option.name)
        values[option.name] = [
            value for value in tried if not _refusal(group, name, option.name, value)
        ]
    return values


def _listed_texts(group: str, name: str, option: str) -> list[str]:
    """Return the texts that the error for a wrong one lists."""
    listed = re.search("expected one of (.*)", _refusal(group, name, option, "?"))
    return listed[1].split(", ") if listed else []


def _refusal(group: str, name: str, option: str, value: Any) -> str:
    """Return the error for a value of an option, "" if there is none."""
    options = needed_options(name) | {option: value}
    try:
        if group == SCHEDULERS:
            plugins.make(plugins.load(group, name), name, (), options)
        else:
            plugins.make(plugins.load(group, name), name, (_some_log(),), options)
    except BatschedError as error:
        return str(error)
    return ""


@cache
def _some_log() -> Workload:
    return load_workload(SAMPLE_LOG, make_rules(first=600))


def needed_options(name: str) -> dict[str, Any]:
    """Return the options without which a plug-in cannot be made, or makes up too much."""
    options = dict(OPTIONS.get(name, {}))
    if "file" in options:
        options["file"] = _write(POPULATION)
    if "weeks" in options:
        options["weeks"] = 1.0
    if name == "synthetic":
        options["jobs"] = 100
    if "long_weeks" in options:
        options |= {"long_weeks": 0.7, "edge_weeks": 0.2, "n_temporary": 3, "rate": 3}
    return options


@st.composite
def options_of(draw: st.DrawFn, group: str, name: str) -> dict[str, Any]:
    """Up to three options with other values than the default, and those that are needed."""
    options = needed_options(name)
    if name == "agent":
        options["weights"] = _write(json.encode(draw(agents())).decode())
    values = _values(group, name) if name != RIGID else {}
    free = sorted(option for option, some in values.items() if some and option not in options)
    for option in draw(st.lists(st.sampled_from(free), max_size=3, unique=True)) if free else []:
        options[option] = draw(st.sampled_from(values[option]))
    return options


@st.composite
def machines(draw: st.DrawFn, begins: int) -> Machine:
    """A machine file; the first partition has all nodes."""
    cores, count = draw(st.integers(1, 3)), draw(st.integers(2, 6))
    partitions = [Partition((0, count - 1), False, ())]
    for _ in range(draw(st.integers(0, 2))):
        first = draw(st.integers(0, count - 1))
        limits = draw(
            st.dictionaries(
                st.sampled_from(
                    ["max_running_jobs_per_user", "max_processors_per_user", "max_walltime", "tier"]
                ),
                st.sampled_from([1, 2, 4]),
                max_size=2,
            )
        )
        if "max_walltime" in limits:
            limits["max_walltime"] *= 100
        last = draw(st.integers(first, count - 1))
        partitions.append(Partition((first, last), draw(st.booleans()), tuple(limits.items())))
    outages = []
    for node in draw(st.lists(st.integers(0, count - 1), max_size=2, unique=True)):
        begin = begins + 10 * draw(st.integers(0, 100))
        outages.append((begin, begin + 10 * draw(st.integers(1, 60)), node, draw(st.booleans())))
    limits = st.tuples(
        st.sampled_from(["", "user:1", f"partition:p{len(partitions)}"]),
        st.sampled_from(["user", "all"]),
        st.sampled_from(["jobs", "cpus"]),
        st.sampled_from([2, 4, 8]),
    )
    some = draw(st.lists(limits, max_size=2)) if draw(st.booleans()) else []
    memory = draw(st.sampled_from([0, 0, 2, 4]))
    return Machine(cores, count, tuple(partitions), tuple(outages), tuple(some), memory)


@st.composite
def worlds(
    draw: st.DrawFn,
    policy: str | None = None,
    users: str | None = None,
    sleeps: bool | None = None,
) -> World:
    """Any world with this policy and these users, or any; maybe its processors sleep, or do not."""
    policy = draw(st.sampled_from(POLICIES)) if policy is None else policy
    users = draw(st.sampled_from(MODELS)) if users is None else users
    begins = draw(st.sampled_from([0, 0, LATE]))
    nodes, machine, sites = draw(st.sampled_from([1, 4, 8, 16, 61])), None, None
    kinds = ["plain", "plain", *(["sites"] if policy == "grid" else ["machine", "sites"])]
    kind = draw(st.sampled_from(kinds))
    if kind == "machine":
        machine = draw(machines(begins))
        nodes = machine.cores * machine.count
    elif kind == "sites":
        sizes = draw(st.lists(st.sampled_from([2, 4, 8]), min_size=1, max_size=3))
        speeds = st.sampled_from(["", "@0.5", "@2"])
        sites = ",".join(f"s{at}:{size}{draw(speeds)}" for at, size in enumerate(sizes))
        nodes = sum(sizes)
    settings = {
        "profile": draw(st.sampled_from(["delay", "parallel_homogeneous"])),
        **draw(st.sampled_from([{}, {}, {"each_event": True}, {"shake": 1}])),
        "speed_factor": draw(st.sampled_from([1.0, 1.0, 0.7])),
        "runtime": draw(st.sampled_from(["recorded", "recorded", "cut-at-request"])),
    }
    if draw(st.sampled_from([False, False, True])) if sleeps is None else sleeps:
        off, on = draw(st.sampled_from([(10.0, 50.0), (20.0, 20.0), (5.0, 160.0)]))
        settings["power"] = POWER | {"off_seconds": off, "on_seconds": on}
        settings["shutdown"] = draw(st.sampled_from(SHUTDOWNS[: 3 if begins else None]))
    if sites is not None:
        settings["homes"] = draw(st.sampled_from(["user", "round-robin"]))
        settings["split"] = draw(st.sampled_from([None, None, "local", "largest", 3]))
    needs_weeks = "long_weeks" in needed_options(users)
    return World(
        policy=policy,
        policy_options=draw(options_of(SCHEDULERS, policy)),
        users=users,
        user_options=draw(options_of(USERS, users)),
        nb_jobs=draw(st.sampled_from([131, 300] if needs_weeks else [3, 20, 66, 131, 300])),
        seed=draw(st.integers(0, 1 << 16)),
        gaps=draw(
            st.sampled_from([(0, 0, 0, 1), (1,), (0, 1, 30), (0, 1, 400), (0, 9, 2000), (0,)])
        ),
        lengths=draw(st.sampled_from([(1, 1, 2, 5, 30), (0, 1, 1, 5), (1,), (0, 0, 60)])),
        begins=begins,
        nodes=nodes,
        machine=machine,
        sites=sites,
        walltime=draw(st.sampled_from(["requested", "double", "exact"])),
        settings=settings,
    )
