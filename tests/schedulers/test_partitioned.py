"""Policies that know no partitions on a machine with some: limits, tiers, outages, whole nodes."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import pytest

from batsched_py import Job, Machine, WaitingQueue
from batsched_py.errors import InvariantError, UsageError
from batsched_py.processors.sets import to_text
from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.creasy import Creasy
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.grid.grid_policy import Grid
from batsched_py.schedulers.partitioned import Partitioned, adapt_to_partitions
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.simulator.engine import Outcome
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import starts
from helpers.partitions import entry, machine_of, over, partition, run_on

Jobs = list[tuple[str, J]]
FOUR = entry("nodes", count=4)
SHORT = partition("short", "0-3", max_walltime=100)
TWO = entry("nodes", count=8) + SHORT + partition("long", "4-7")
WHOLE = entry("nodes", count=3, cores=4) + partition("whole", whole_nodes=True) + partition("cores")
OUTAGE = {"begin": 100, "end": 150}
MAINTENANCE = FOUR + entry("outages", **OUTAGE)
PER_USER = FOUR + partition("p", max_running_jobs_per_user=1)


class Case(NamedTuple):
    """A machine, jobs with their partitions, when they start (None: refused), and where."""

    machine: str
    jobs: Jobs
    starts: list[float | None]
    where: list[str] | None = None


def of(partition: str, *jobs: J) -> Jobs:
    return [(partition, job) for job in jobs]


CASES = {
    "who asks for more time or nodes than a partition has is refused": Case(
        TWO,
        [*of("short", J(0, 1, 10, 101), J(0, 5, 10), J(0, 1, 10, 100)), *of("long", J(0, 1, 200))],
        [None, None, 0, 0],
    ),
    # few has the higher tier: of two that come together its job is first, though it is the second
    "a higher tier is first": Case(
        over(tier=2), [*of("all", J(0, 8, 10)), *of("few", J(0, 4, 10))], [10, 0]
    ),
    # The wide job waits for all 8 from 10 on; that does not bind `few`, whose job runs until 32.
    "a reservation does not bind another partition": Case(
        over(tier=1),
        [*of("all", J(0, 4, 10), J(1, 8, 10), J(2, 4, 20)), *of("few", J(2, 4, 30))],
        [0, 32, 10, 2],
    ),
    # A core of node 0 is taken, so whole nodes are but two: the third whole job waits for it.
    "whole nodes are those on which nothing runs": Case(
        WHOLE,
        [*of("cores", J(0, 1, 50)), *of("whole", J(1, 4, 10), J(1, 4, 10), J(1, 4, 10))],
        [0, 1, 1, 11],
        ["0", "4-7", "8-11", "4-7"],
    ),
    # Maintenance from 100 to 150. A would end at 100 and starts; B would run into it, and waits
    # until 150; C, submitted after B, is short enough; D comes when nothing is left of the time.
    "nobody runs into maintenance": Case(
        MAINTENANCE,
        of("all", J(0, 2, 100), J(1, 2, 100), J(2, 2, 90), J(95, 1, 10)),
        [0, 150, 2, 150],
    ),
    # Of node 0 only. A and C end before, and are on it; B ends at 110, and is not; D starts in it.
    # E needs all four nodes, and F, until 115, the three others, once B and D are gone.
    "maintenance of a part leaves the rest": Case(
        FOUR + entry("outages", nodes="0", **OUTAGE),
        of(
            "all",
            *(J(0, 1, 50), J(50, 2, 60), J(60, 1, 25), J(100, 1, 10)),
            *(J(101, 4, 10), J(65, 3, 20, 50)),
        ),
        [0, 50, 60, 100, 150, 110],
        ["0", "1-2", "0", "3", "0-3", "1-3"],
    ),
    # Who waits and could have started before, leaves the queue when it is too late.
    # C needs all four nodes, and cannot start after 70: D keeps nothing free for it at 90.
    # B would run until 111 on node 3, which is free and goes out of order at 100; at 120 node 0 is.
    "without knowing of an outage a job goes on": Case(
        FOUR + entry("outages", planned=False, **OUTAGE),
        of("all", J(90, 2, 100), J(110, 1, 10)),
        [90, 150],
    ),
    # One job of a user at a time; the others overtake, and he keeps his order.
    "a user has only so many running": Case(
        PER_USER,
        of(
            "p",
            *(J(0, 1, 10, user="u"), J(1, 1, 10, user="u"), J(2, 1, 10, user="v")),
            J(3, 1, 10, user="u"),
        ),
        [0, 10, 2, 20],
    ),
    "a user has only so many processors": Case(
        FOUR + partition("p", max_processors_per_user=3),
        of("p", *(J(0, size, 10, user="u") for size in (2, 1, 2, 1))),
        [0, 0, 10, 10],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_by_hand(case: str) -> None:
    machine, jobs, expected, where = CASES[case]
    outcome = run_on(machine_of(machine), Easy, jobs)
    assert starts(outcome) == expected
    if where is not None:
        assert [to_text(job.alloc) for job in in_order(outcome)] == where


@pytest.mark.parametrize("policy", [Conservative, Creasy, Planning])
def test_a_plan_holds_no_jobs_that_wait_for_an_outage(policy: Callable[[], Any]) -> None:
    """B is planned to start at 90, when it would run into the outage at 100; C and D need not wait
    for it."""
    jobs = of("all", J(0, 4, 70, 90), J(1, 4, 5, 40), J(80, 4, 10), J(85, 4, 10))
    assert starts(run_on(machine_of(MAINTENANCE), policy, jobs)) == [0, 150, 80, 90]


def in_order(outcome: Outcome) -> list[Any]:
    return sorted(outcome.jobs, key=lambda job: job.description.id)


def test_what_does_not_go_together() -> None:
    easy = Easy()
    with pytest.raises(UsageError, match="give the class"):
        adapt_to_partitions(lambda: easy, machine_of(TWO))
    with pytest.raises(UsageError, match="Grid places jobs"):
        adapt_to_partitions(Grid, machine_of(TWO))


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        (None, "Wrong.schedule returned None"),
        (["start"], "yielded 'start'"),
    ],
)
def test_a_policy_that_decides_nothing_is_named(decisions: Any, message: str) -> None:
    class Wrong:
        def schedule(self, *_: object) -> Any:
            return decisions

    with pytest.raises(InvariantError, match=message):
        run_on(machine_of(TWO), Wrong, of("short", J(0, 1, 1)))


def test_why_a_job_waits() -> None:
    """For its user's other job, for the end of maintenance, for processors."""
    described = machine_of(PER_USER + entry("outages", **OUTAGE))
    policy = adapt_to_partitions(Easy, described)
    machine, queue = Machine(4, (), described), WaitingQueue()
    sizes = [("u", 4, 50.0), ("u", 1, 10.0), ("v", 1, 10.0), ("w", 1, 150.0)]
    for number, (user, size, estimate) in enumerate(sizes):
        queue.append(Job(f"w0!{number}", number, size, estimate, estimate, 0.0, {}, user))
    for decision in policy.schedule(0.0, queue, machine):
        if hasattr(decision, "job"):
            machine.start(decision.job, 0.0, decision.processors)
            queue.remove(decision.job)
    assert isinstance(policy, Partitioned)
    reasons = [policy.held(job, 0.0, queue, machine) for job in queue]
    told = [(reason.why, reason.until) for reason in reasons if reason]
    assert told == [
        ("limit", inf),
        ("head", 50.0),
        ("limit", inf),
    ]
