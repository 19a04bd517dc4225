"""The cases for both simulators: at least one for each policy and each user model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from batsched_py.decision_process import DecisionProcess
from batsched_py.schedulers.easy import Easy
from batsched_py.support.installation import platforms_folder, studies_folder
from batsched_py.transport import Partner
from batsched_studies.real_batsim import message_schedulers as schedulers
from batsched_studies.real_batsim.made_up_workloads import make_mixed, put_in_partitions
from batsched_studies.real_batsim.two_simulators import OutputFiles, Run, make_run, make_served_run


class Case(NamedTuple):
    """A simulation to run with both simulators."""

    group: str
    name: str
    about: str
    """What is simulated, in addition to the name and the group."""
    run: Run
    plugin: str = ""
    """The policy or user model that the case tests."""
    note: str = ""
    """Why outputs differ, if they do."""
    shaken: Sequence[Run] = ()
    """Runs with other orders of simultaneous events, which show how much the order matters."""


_POLICIES = "policies, rigid replay"
_USERS = "user models, easy"
_OTHER_POLICIES = "user models, other policies"
_LARGE = "more jobs, easy"
_MACHINES = "machines and run times, easy"
_MACHINE_FILE = "partitions and outages"
_PROFILES = "synthetic jobs, easy"
_OWN_OPTIONS = "synthetic jobs, Batsim's options"
_PLATFORMS = platforms_folder()
_SIX_DECIMALS = "Batsim's messages have six decimals"


# With batsched_py.simulate ------------------------------------------------------------------------


def _policy(name: str, how: str = "", **settings: Any) -> Case:
    title = f"{name} ({how})" if how else f"{name}"
    return Case(_POLICIES, title, "", make_run(first=600, scheduler=name, **settings), name)


def _grid(how: str, **options: Any) -> Case:
    return _policy("grid", how, sites="big:48,small:16@0.5", scheduler_options=options)


def _users(name: str, about: str = "", first: int | None = 600, **options: Any) -> Case:
    run = make_run(first=first, users=name, user_options=options)
    return Case(_USERS, f"{name}", about, run, name)


def _feedback(scheduler: str) -> Case:
    run = make_run(first=600, users="feedback", scheduler=scheduler)
    return Case(_OTHER_POLICIES, f"feedback with {scheduler}", "", run, "feedback")


def _large(name: str, about: str, note: str = "", shaken: int = 0, **settings: Any) -> Case:
    seeds = [make_run(shake=seed, **settings) for seed in range(shaken)]
    return Case(_LARGE, name, about, make_run(**settings), note=note, shaken=seeds)


def _machine(name: str, about: str, note: str = "", **settings: Any) -> Case:
    return Case(_MACHINES, name, about, make_run(first=600, **settings), note=note)


def _jobs(name: str, about: str, kinds: list[str], platform: str, widest: int = 8) -> Case:
    run = make_run(make_mixed(kinds, widest=widest), platform=str(_PLATFORMS / platform))
    return Case(_PROFILES, name, f"{about}, {platform}", run)


def _partitions(name: str, about: str = "", **settings: Any) -> Case:
    file = str(studies_folder() / "real_batsim" / "machine.toml")

    def run(side: str, folder: Path) -> OutputFiles:
        return make_run(put_in_partitions(), machine=file, **settings)(side, folder)

    return Case(_MACHINE_FILE, name, about, run)


_COMPUTE = ["compute", "uneven", "total", "delay", "composed", "failing"]
_COMMUNICATE = ["communicating", "matrix", "composed"]
_WEEK = {"weeks": 1, "edge_weeks": 1, "long_weeks": 3}
_MANY_USERS: dict[str, Any] = {"users": "site", "user_options": {"weeks": 3}}
_AGENT = str(studies_folder() / "learning" / "agents" / "sample" / "priority_rigid_slowdown_1.json")
_POPULATION = str(studies_folder() / "real_batsim" / "population.toml")

_SIMULATED = (
    _policy("fcfs"),
    _policy("list", "SJF, best fit", scheduler_options={"order": "sjf", "take": "best_fit"}),
    _policy("list", "NFIW", scheduler_options={"order": "narrowest", "take": "next_fit"}),
    _policy("filler"),
    _policy("easy"),
    _policy("easy_fast"),
    _policy("easy_fixed"),
    _policy("conservative_streit"),
    _policy("slack"),
    _policy("conservative"),
    _policy("creasy"),
    _policy("ups"),
    _policy("planning"),
    _policy("dynp"),
    _policy("dynp_bounds"),
    _policy("dynp_clock"),
    _policy("multifactor"),
    _policy(
        "multifactor",
        "other options",
        scheduler_options={
            "algorithm": "classic",
            "half_life": "1 day",
            "favor_small": True,
            "bf_interval": "10 min",
            "bf_window": "12 h",
            "bf_max_job_test": 20,
        },
    ),
    _policy("fair_share"),
    _policy("agent", "linear priorities", scheduler_options={"weights": _AGENT}),
    _grid("each at home", scenario="local"),
    _grid("shared", scenario="sharing"),
    _grid("spread", scenario="multi_site", overhead=0.3),
    Case(
        _POLICIES,
        "grid (a site each cluster)",
        "m64-8.xml",
        make_run(first=600, scheduler="grid", platform=str(_PLATFORMS / "m64-8.xml")),
        note="a message of Batsim takes 3e-10 s on this network, so an end is sent "
        "after a submission of the same second",
    ),
    _users("feedback"),
    _users("adjusted"),
    _users("distribution"),
    _users("fluid"),
    _users("population", "of the 600 jobs and others, population.toml", file=_POPULATION),
    _users("resampled", "a week, drawn from the log", None, **_WEEK),
    _users("tbuos", "a week, drawn from the log", None, **_WEEK),
    _users("synthetic", "600 jobs, drawn from the log", None, jobs=600),
    _users("site", "20 users, a week", nb_users=20, weeks=1),
    _users("weekly", "40 users, two weeks", nb_users=40, weeks=2),
    _users(
        "sufficient",
        "users of feedback who change half of their jobs of the day in one of five ways",
        model="feedback",
        signal="9:00-18:00",
        red="delay:0.1,reconfiguration:0.1,space_degradation:0.1,time_degradation:0.1,renounce:0.1",
    ),
    _users("recorded_dependencies"),
    _users(
        "withdraws", "of feedback, three times as often as in logs", model="feedback", rate=3
    )._replace(note=_SIX_DECIMALS),
    _users(
        "resubmits", "users withdraws, three times as often as in logs", model_options={"rate": 3}
    )._replace(note=_SIX_DECIMALS),
    _users("deadline", "mean slack twice the requested time", slack=2),
    *map(_feedback, ("fcfs", "conservative", "dynp")),
    _large("whole log", "the sample log"),
    _large("whole log, users", "feedback", users="feedback"),
    _large(
        "many users",
        "250 users site, three weeks",
        "SimGrid's clock: two ends of one second are sent in two messages",
        shaken=10,
        **_MANY_USERS,
    ),
    _large(
        "many users, rounded clock",
        "250 users site, three weeks, Batsim with --sg-cfg surf/precision:1e-6",
        batsim="batsim --sg-cfg surf/precision:1e-6",
        **_MANY_USERS,
    ),
    _machine("small machine", "16 processors, wide jobs are refused", nodes=16),
    _machine("fast machine", "1.3 times as fast", _SIX_DECIMALS, speed_factor=1.3),
    _machine(
        "fast machine, users",
        "1.3 times as fast, users feedback",
        _SIX_DECIMALS,
        speed_factor=1.3,
        users="feedback",
    ),
    _machine("requested times", "jobs are killed at their requested times", walltime="requested"),
    _machine("delays", "jobs that wait instead of computing", profile="delay"),
    _partitions("partitions, easy"),
    _partitions("partitions, conservative", scheduler="conservative"),
    _partitions("partitions, multifactor", scheduler="multifactor"),
    _partitions("partitions, fair_share", scheduler="fair_share"),
    _partitions(
        "partitions, users",
        "feedback with multifactor",
        users="feedback",
        scheduler="multifactor",
    ),
    _jobs("profiles", "of all kinds that compute", _COMPUTE, "ideal_64.xml"),
    _jobs("refused jobs", "of up to 80 processors", _COMPUTE, "ideal_64.xml", widest=80),
    _jobs("network", "that communicate", _COMMUNICATE, "m128.xml"),
    _jobs("network with latency", "that communicate", _COMMUNICATE, "cluster_128.xml"),
)


# With Batsim's own options ------------------------------------------------------------------------


def _served(
    name: str,
    about: str,
    scheduler: Callable[[], Partner],
    kinds: list[str],
    *options: str,
    platform: str = "ideal_64.xml",
    widest: int = 8,
    events: tuple[str, ...] = (),
    note: str = "",
) -> Case:
    workload = make_mixed(kinds, widest=widest)
    run = make_served_run(scheduler, workload, _PLATFORMS / platform, *options, events=events)
    shown = [f"{option}" for option in (*options, *(["--events"] if events else []))]
    about = ", ".join((about, *shown, f"{platform}"))
    return Case(_OWN_OPTIONS, name, about, run, note=note)


def _event(kind: str, time: float, resources: str) -> str:
    event = {"type": f"machine_{kind}", "timestamp": time, "resources": resources}
    return msgspec.json.encode(event).decode()


_FAILURES = (
    _event("unavailable", 1000.5, "0-15 40"),
    _event("available", 9000.25, "0-7"),
    _event("unavailable", 9500.125, "60-63"),
    _event("available", 20000.75, "8-15 40 60-63"),
)
_ENERGY = "energy_16.xml"
_SHARING = "--enable-compute-sharing"

_OPTIONS = (
    _served("energy", "all compute", schedulers.FirstFit, _COMPUTE, "-E", platform=_ENERGY),
    _served(
        "pstates",
        "idle hosts sleep, speeds change",
        schedulers.PowerSaver,
        _COMPUTE,
        "-E",
        platform=_ENERGY,
    ),
    _served(
        "external events",
        "EASY, hosts fail and return",
        lambda: DecisionProcess(Easy()).answer,
        _COMPUTE,
        widest=40,
        events=_FAILURES,
    ),
    _served(
        "kills",
        "each fourth job is killed",
        schedulers.Killer,
        [*_COMPUTE, *_COMMUNICATE],
        platform="m128.xml",
        widest=40,
    ),
    _served("sharing", "two on a host", schedulers.Sharing, _COMPUTE, _SHARING, widest=32),
    _served(
        "sharing a network",
        "two on a host",
        schedulers.Sharing,
        _COMMUNICATE,
        _SHARING,
        platform="cluster_128.xml",
        widest=64,
        note="a message of Batsim takes 40 us on this network, so ends are sent late",
    ),
    _served(
        "messages of jobs",
        "send, recv and metadata",
        schedulers.Talker,
        ["talking", "delay", "failing"],
    ),
    _served(
        "dynamic jobs",
        "each job is submitted once more",
        schedulers.Resubmitter,
        ["delay"],
        "--enable-dynamic-jobs",
        "--acknowledge-dynamic-jobs",
    ),
)
CASES = (*_SIMULATED, *_OPTIONS)
