"""Rules that switch processors off: schedules worked out by hand, and a slow twin of the choice."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from batsched_py import simulate
from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from helpers.partitions import entry, machine_of, partition
from helpers.shutdown_runs import Ran, run_with_rule

FOUR = entry("nodes", count=4)
SIX = entry("nodes", count=6)
ALL = partition("all")


class Case(NamedTuple):
    """A machine, its jobs with their partitions, and what the rule does.

    All processors take 20 s to switch off and 50 s to switch on.
    """

    shutdown: str
    machine: str
    jobs: list[tuple[str, J]]
    switches: list[tuple[float, str, str]]
    starts: list[float]
    policy: Any = Easy


CASES = {
    "with T = 0 from the first event on, and the longest idle go first, then the highest": Case(
        "idle_time=0,keep=1",
        FOUR,
        [("", J(10, 2, 30)), ("", J(100, 1, 10))],
        [(10, "off", "3"), (40, "off", "1-2")],
        [10, 100],
        Fcfs,
    ),
    "at the multiples of a period only": Case(
        "idle_time=10,period=100",
        FOUR,
        [("", J(0, 1, 420)), ("", J(50, 1, 10)), ("", J(150, 1, 30))],
        [(100, "off", "1-3"), (150, "on", "1"), (300, "off", "1")],
        [0, 50, 200],
        Fcfs,
    ),
    "quiet periods pass until the idle time is over": Case(
        "idle_time=600,period=50",
        FOUR,
        [("", J(0, 1, 10)), ("", J(5000, 1, 10))],
        [(600, "off", "1-3"), (650, "off", "0"), (5000, "on", "0")],
        [0, 5050],
        Fcfs,
    ),
    "each partition keeps one": Case(
        "idle_time=10,keep=1",
        FOUR + partition("p", "0-1") + partition("q", "2-3"),
        [("p", J(0, 2, 100)), ("q", J(200, 2, 10))],
        [(10, "off", "3"), (110, "off", "1"), (200, "on", "3")],
        [0, 250],
    ),
    "of 1 to 3, one of two partitions that share 2 and 3 would lose its last by 2": Case(
        "idle_time=10,keep=1",
        FOUR + partition("wide", "0-3") + partition("few", "2-3"),
        [("wide", J(0, 1, 100))],
        [(10, "off", "1 3")],
        [0],
    ),
    "a node goes as a whole, and one that is kept stays as a whole": Case(
        "idle_time=10,keep=1",
        entry("nodes", count=3, cores=2) + partition("whole", whole_nodes=True),
        [("whole", J(0, 2, 100))],
        [(10, "off", "4-5")],
        [0],
    ),
    "only the nodes that a head lacks are woken": Case(
        "idle_time=20",
        entry("nodes", count=4, cores=2) + partition("whole", whole_nodes=True),
        [("whole", J(0, 4, 200)), ("whole", J(100, 6, 10))],
        [(20, "off", "4-7"), (100, "on", "4-5")],
        [0, 200],
    ),
    "a head wakes processors of its partition": Case(
        "idle_time=20",
        SIX + partition("p", "0-1") + partition("q", "2-5"),
        [("q", J(0, 2, 200)), ("q", J(100, 4, 10))],
        [(20, "off", "0-1 4-5"), (100, "on", "4-5")],
        [0, 200],
    ),
    "a start that conservative backfilling has planned is a promise": Case(
        "idle_time=20",
        FOUR,
        [("", J(0, 2, 200)), ("", J(100, 4, 10))],
        [(20, "off", "2-3"), (100, "on", "2-3")],
        [0, 200],
        Conservative,
    ),
    "a processor that a planned outage takes away before the start is not woken": Case(
        "idle_time=20",
        FOUR + entry("outages", begin=150, end=400, nodes="2"),
        [("", J(0, 2, 200)), ("", J(100, 3, 10))],
        [(20, "off", "2-3"), (100, "on", "3")],
        [0, 200],
    ),
    "a head that cannot start before a repair holds nothing awake": Case(
        "idle_time=20",
        FOUR + entry("outages", begin=50, end=1000, nodes="3", planned=False),
        [("", J(0, 1, 300)), ("", J(100, 4, 10))],
        [(20, "off", "1-3"), (320, "off", "0"), (1000, "on", "0-3")],
        [0, 1050],
    ),
    "a job that a limit holds back is no head": Case(
        "idle_time=20",
        FOUR + partition("p", max_running_jobs_per_user=1),
        [("p", J(0, 2, 200)), ("p", J(100, 4, 10))],
        [(20, "off", "2-3"), (200, "on", "2-3")],
        [0, 250],
    ),
    "two stay awake, busy or not": Case(
        "rule=proportional,period=100,awake=2",
        SIX,
        [("", J(0, 1, 350)), ("", J(150, 3, 20))],
        [(100, "off", "2-5"), (150, "on", "2-3"), (300, "off", "2-3")],
        [0, 200],
        Fcfs,
    ),
    # The load of each period from 400 on, in square seconds: 27,083, 47,500, 30,625, 30,000.
    "one more each period while the load does not rise": Case(
        "rule=inertial,period=100,growth=one",
        entry("nodes", count=8),
        [("", J(0, 5, 1000)), ("", J(450, 6, 100))],
        [
            *((300, "off", "7"), (400, "off", "5-6")),
            *((450, "on", "5"), (600, "on", "6"), (800, "off", "5")),
        ],
        [0, 1000],
        Fcfs,
    ),
}


def run_case(case: Case, **changes: Any) -> Ran:
    text = case.machine if "[[partitions]]" in case.machine else case.machine + ALL
    described = machine_of(text)
    load = workload([job for _, job in case.jobs], described.nb_processors)
    for made, (name, _) in zip(load.jobs, case.jobs, strict=True):
        made.extra["partition"] = name or "all"
    return run_with_rule(load, case.policy, case.shutdown, described=described, **changes)


@pytest.mark.parametrize("name", CASES)
def test_by_hand(name):
    case = CASES[name]
    ran = run_case(case)
    assert ran.switches == case.switches
    assert [ran.jobs[name][0] for name in sorted(ran.jobs)] == case.starts


def test_calls_come_when_something_is_due():
    """2 and 3 are idle since 0, 0 and 1 since 60; no call is asked for twice."""
    jobs = [("", J(0, 2, 60)), ("", J(300, 1, 10))]
    ran = run_case(Case("idle_time=30", FOUR, jobs, [], [], Fcfs))
    assert ran.calls == [30, 90]
    ran = run_case(Case("idle_time=30,keep=2", FOUR, jobs, [], [], Fcfs))
    assert ran.calls == [30, 90]
    ran = run_case(Case("idle_time=30,keep=4", FOUR, jobs, [], [], Fcfs))
    assert ran.calls == [30]


@pytest.mark.parametrize("options", ["idle_time=100", "rule=proportional,awake=1", "rule=inertial"])
def test_periods_without_a_job_cost_nothing(options: str) -> None:
    """A log may begin at any time, and jobs may be far apart."""
    jobs = workload([J(1e9, 2, 50), J(2e9, 2, 50)], 4)
    given = {"power": "off_seconds=6,on_seconds=100", "shutdown": f"{options},period=300"}
    result = simulate(jobs, progress=False, **given)
    assert result.table.start.tolist() == [1e9 + 100, 2e9 + 100]
    assert result.output.nb_messages is not None
    assert result.output.nb_messages < 50
