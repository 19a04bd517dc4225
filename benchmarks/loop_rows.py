"""Rows of the loop: policies, users, options, machines, and what is written of a run."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import floor
from floor_queue import Blocks
from measuring import Bench, Measured, cpu, row

from batsched_py import SiteView, StartedJob, Workload, simulate
from batsched_py.decision_process import DecisionProcess
from batsched_py.model.policy import Scheduler
from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.creasy import Creasy
from batsched_py.schedulers.dynp.dynp_policy import Dynp
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.simulator.direct import DirectSimulation
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_users.models.feedback import ThinkTimeFeedback

OVERLOAD = 0.3
"""Gaps between submissions, in those of the log: the queue grows to thousands."""
PLANNED = 3_000
"""Jobs of the log with which planners are measured turn by turn: of KTH-SP2 some 240 wait then, of
the whole log 3,100."""


class MayWithdraw(ThinkTimeFeedback):
    """Users who learn of starts and see the site, so that they could withdraw jobs; none does."""

    def begin(self, site: SiteView) -> None:
        """Remember the site."""
        self._site = site

    def job_started(self, now: float, job: StartedJob) -> None:
        """Learn of a start."""


def prepared(
    load: Workload,
    policy: Callable[[], Scheduler] = Easy,
    *,
    sessions: str | None = None,
    model: type[ThinkTimeFeedback] = ThinkTimeFeedback,
    processors: int | None = None,
    messages: bool = False,
    **options: Any,
) -> Callable[[], object]:
    """Return a simulation that is ready to run; with ``options`` it needs messages."""
    users = model(load, sessions=sessions) if sessions else None
    machine = make_homogeneous(processors or load.nb_res)
    if not messages:
        direct = DirectSimulation(policy(), users)
        return lambda: direct.run(machine, None if users else load)
    chosen = Options(dynamic_jobs=bool(users), profile_reuse=bool(users), **options)
    simulator = Simulator(machine, [] if users else [load], chosen)
    process = DecisionProcess(policy(), users)
    return lambda: simulator.run(process.answer)


def loop(load: Workload, policy: Callable[[], Scheduler] = Easy, **how: Any) -> float:
    """Return the CPU seconds of one simulation, without reading and preparing."""
    return cpu(prepared(load, policy, **how))


def per_job(load: Workload) -> Callable[[float, float], str]:
    """Return what to note of two simulations: microseconds of a job in both."""
    nb_jobs = len(load.jobs)
    return lambda standard, measured: (
        f"{1e6 * measured / nb_jobs:.1f} us a job beside {1e6 * standard / nb_jobs:.1f}"
    )


@row("floor-loop", "EASY, the loop, against the floor's loop", wanted=3.5)
def _(bench: Bench) -> Measured:
    load, jobs = bench.workload(), bench.columns
    return bench.paired(
        lambda: cpu(lambda: floor.easy(jobs, floor.Scanned(jobs))),
        lambda: loop(load),
        per_job(load),
    )


@row("floor-overload", f"EASY, gaps x {OVERLOAD}, against the floor with a queue in blocks")
def _(bench: Bench) -> Measured:
    load, jobs = bench.workload(OVERLOAD), bench.columns
    jobs = jobs._replace(submit=tuple(OVERLOAD * submit for submit in jobs.submit))
    return bench.paired(
        lambda: cpu(lambda: floor.easy(jobs, Blocks(jobs))), lambda: loop(load), per_job(load)
    )


def against_easy(
    policy: Callable[[], Scheduler], most: int | None = None, rounds: int | None = None
) -> Callable[[Bench], Measured]:
    """Return the measurement of a policy compared with EASY where the queue grows long.

    ``most`` is the number of jobs from the beginning of the log, all if it is None.
    """

    def measure(bench: Bench) -> Measured:
        load = bench.workload(OVERLOAD, most=500 if bench.quick else most)
        return bench.paired(lambda: loop(load), lambda: loop(load, policy), per_job(load), rounds)

    return measure


PLANNERS: dict[str, Callable[[], Scheduler]] = {
    "conservative": Conservative,
    "planning": Planning,
    "dynp": Dynp,
}
WANTED: dict[str, tuple[float | None, float | None]] = {
    "conservative": (5, 30),
    "dynp": (10, 80),
}
"""At most, of the first jobs and of the whole log."""
QUEUEING: dict[str, Callable[[], Scheduler]] = {
    "fcfs": Fcfs,
    "sjbf": lambda: Easy(backfill_order="sjf"),
    "creasy": Creasy,
}
for _name, _policy in QUEUEING.items():
    row(f"overload-{_name}", f"{_name}, gaps x {OVERLOAD}, against EASY")(against_easy(_policy))
for _name, _policy in PLANNERS.items():
    _what, _wanted = f"{_name}, gaps x {OVERLOAD}, ", WANTED.get(_name, (None, None))
    row(f"overload-{_name}", f"{_what}the first {PLANNED:,} jobs, against EASY", _wanted[0])(
        against_easy(_policy, PLANNED)
    )
    row(f"overload-{_name}-whole", f"{_what}the whole log, against EASY", _wanted[1])(
        against_easy(_policy, rounds=1)
    )


@row("messages", "EASY, the loop with messages against without")
def _(bench: Bench) -> Measured:
    load = bench.workload()
    return bench.paired(lambda: loop(load), lambda: loop(load, messages=True), per_job(load))


@row("messages-feedback", "the same with feedback")
def _(bench: Bench) -> Measured:
    load, sessions = bench.workload(), "arrival:0"
    return bench.paired(
        lambda: loop(load, sessions=sessions),
        lambda: loop(load, sessions=sessions, messages=True),
        per_job(load),
    )


@row("feedback", "EASY with feedback against rigid, per job", wanted=1.5)
def _(bench: Bench) -> Measured:
    load = bench.workload()
    return bench.paired(lambda: loop(load), lambda: loop(load, sessions="arrival:0"), per_job(load))


@row("may-withdraw", "feedback of users who may withdraw jobs, against feedback", wanted=1.03)
def _(bench: Bench) -> Measured:
    load, sessions = bench.workload(), "arrival:0"
    return bench.paired(
        lambda: loop(load, sessions=sessions),
        lambda: loop(load, sessions=sessions, model=MayWithdraw),
        per_job(load),
    )


def calls(load: Workload, **how: Any) -> Measured:
    """Count the calls of Python functions of a simulation: the same in each run."""
    run, counted = prepared(load, **how), 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal counted
        counted += event == "call"

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return Measured(counted / len(load.jobs), 0.0)


@row("calls-rigid", "calls of Python functions a job, EASY")
def _(bench: Bench) -> Measured:
    return calls(bench.workload(most=1000))


@row("calls-feedback", "the same with feedback")
def _(bench: Bench) -> Measured:
    return calls(bench.workload(most=1000), sessions="arrival:0")


@row("calls-may-withdraw", "the same with users who may withdraw jobs")
def _(bench: Bench) -> Measured:
    return calls(bench.workload(most=1000), sessions="arrival:0", model=MayWithdraw)


SHORT: dict[str, Any] = {"long_weeks": 3, "edge_weeks": 1}  # pools that fit short logs
USER_OPTIONS: dict[str, dict[str, Any]] = {
    "adjusted": {},
    "distribution": {},
    "fluid": {},
    "resampled": SHORT,
    "tbuos": SHORT,
    "site": {"nb_users": 100, "weeks": 8},
    "weekly": {"nb_users": 100, "weeks": 26},
}


def against_rigid(model: str) -> Callable[[Bench], Measured]:
    """Return the measurement of a user model, reading and preparing included."""

    def seconds_a_job(load: Workload, **how: Any) -> float:
        nb_jobs = 0

        def run() -> None:
            nonlocal nb_jobs
            nb_jobs = len(simulate(load, progress=False, **how).table.submit)

        return cpu(run) / nb_jobs

    def measure(bench: Bench) -> Measured:
        load = bench.workload()
        return bench.paired(
            lambda: seconds_a_job(load),
            lambda: seconds_a_job(load, users=model, user_options=USER_OPTIONS[model]),
            lambda rigid, users: f"{1e6 * users:.1f} us a job beside {1e6 * rigid:.1f}",
            rounds=2,
        )

    return measure


for _name in USER_OPTIONS:
    row(f"users-{_name}", f"EASY with the users {_name} against rigid, per job")(
        against_rigid(_name)
    )


@row("traced", "machine states followed, against not")
def _(bench: Bench) -> Measured:
    load = bench.workload()
    return bench.paired(
        lambda: loop(load, messages=True),
        lambda: loop(load, messages=True, trace_machines=True),
        per_job(load),
    )


@row("shared", "hosts that may be shared, against not")
def _(bench: Bench) -> Measured:
    load = bench.workload()
    return bench.paired(
        lambda: loop(load, messages=True),
        lambda: loop(load, messages=True, compute_sharing=True),
        per_job(load),
        rounds=2,
    )


@row("output", "jobs.csv, schedule.csv and metrics against the loop", wanted=0.5)
def _(bench: Bench) -> Measured:
    load = bench.workload()

    def output() -> float:
        result = simulate(load, progress=False)
        folder = bench.folder / "output"
        shutil.rmtree(folder, ignore_errors=True)
        return cpu(lambda: (result.metrics, result.write(folder / "run")))

    return bench.paired(lambda: loop(load), output, per_job(load))


def larger(processors: int) -> Callable[[Bench], Measured]:
    """Return the measurement of the same jobs on a larger machine, without its set-up."""

    def measure(bench: Bench) -> Measured:
        load = bench.workload(most=300 if bench.quick else None)
        single = bench.workload(most=1)
        set_up = min(loop(single, processors=processors) for _ in range(2))
        return bench.paired(
            lambda: loop(load),
            lambda: loop(load, processors=processors) - set_up,
            per_job(load),
            rounds=2,
        )

    return measure


row("machine-1e5", "EASY on 100,000 processors against the log's, per job", wanted=1.3)(
    larger(100_000)
)
row("machine-1e6", "EASY on 1,000,000 processors against the log's, per job", wanted=1.6)(
    larger(1_000_000)
)


@row("set-up-1e6", "1,000,000 processors set up, against 100,000 jobs in the floor's loop")
def _(bench: Bench) -> Measured:
    single = bench.workload(most=1)
    return bench.paired(
        lambda: 1e5 * bench.yardstick / 1e6,
        lambda: cpu(lambda: prepared(single, processors=1_000_000)()),
        lambda _, seconds: f"{seconds:.2f} s; wanted: 1 s",
        rounds=2,
    )
