"""Speed of simulations: jobs per second in the loop, best of five, and ratios in one run.

Usage: python benchmarks/simulation.py [LOG ...]   (default: the sample log)

LOG is a path or a name that `batsched-py logs path` finds. Figures in jobs per second depend on
the computer; the ratios to the first line of a log are what to compare between versions.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from batsched_py.decision_process import DecisionProcess
from batsched_py.model.policy import Scheduler
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import homogeneous
from batsched_py.workload import Workload
from batsched_py.workload.conversion_rules import Rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.log_archive import find_log
from batsched_users.models.feedback import ThinkTimeFeedback
from batsched_users.sessions.delimitation import Delimitation, partition
from batsched_users.sessions.session_graph import build_graph

REPEATS = 5


def best(action: Callable[[], float]) -> float:
    """Return the least seconds of five calls; ``action`` returns its own."""
    return min(action() for _ in range(REPEATS))


def loop(
    load: Workload,
    policy: type[Scheduler],
    speed: float = 1.0,
    sessions: str | None = None,
    **options: Any,
) -> float:
    """Return the seconds of one simulation, without reading and preparing."""
    users = ThinkTimeFeedback(load, sessions=sessions) if sessions else None
    chosen = Options(dynamic_jobs=bool(users), profile_reuse=bool(users), **options)
    simulator = Simulator(homogeneous(load.nb_res, speed), [] if users else [load], chosen)
    process = DecisionProcess(policy(), users)
    begin = time.perf_counter()
    simulator.run(process.answer)
    return time.perf_counter() - begin


def graphs(load: Workload, sessions: str) -> float:
    """Return the seconds of cutting sessions and building the graphs of all users."""
    begin = time.perf_counter()
    for of_user in partition(load.jobs, Delimitation.parse(sessions)).values():
        build_graph(of_user)
    return time.perf_counter() - begin


def measure(log: str) -> None:
    """Print the figures of one log."""
    path = find_log(log)
    begin = time.perf_counter()
    load = load_workload(path, Rules())
    print(f"\n{path.name}: {len(load.jobs)} jobs, read in {time.perf_counter() - begin:.2f} s")
    cases: list[tuple[str, type[Scheduler], float, str | None]] = [
        ("EASY, rigid", Easy, 1.0, None),
        ("FCFS, rigid", Fcfs, 1.0, None),
        ("EASY, feedback a0", Easy, 1.0, "arrival:0"),
        ("EASY, feedback a60", Easy, 1.0, "arrival:60"),
        ("EASY, rigid, half speed", Easy, 0.5, None),
    ]
    reference = 0.0
    for name, policy, speed, sessions in cases:
        seconds = best(lambda p=policy, f=speed, s=sessions: loop(load, p, f, s))  # type: ignore[misc]
        reference = reference or seconds
        rate = len(load.jobs) / seconds
        print(f"  {name:24} {seconds:7.3f} s  {rate:8.0f} jobs/s  ratio {seconds / reference:5.2f}")
    for sessions in ("arrival:0", "arrival:60"):
        seconds = best(lambda s=sessions: graphs(load, s))  # type: ignore[misc]
        print(f"  session graphs {sessions:10} {seconds:6.3f} s  ratio {seconds / reference:5.2f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  peak memory so far: {peak:.0f} MiB")


if __name__ == "__main__":
    for name in sys.argv[1:] or ["sample"]:
        measure(name)
