"""Policies on machines that sleep: schedules by hand, and no run of any policy may fail.

A processor is switched off in 20 s, and on in 50 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batsched_py.model.decisions import Decision, Start
from batsched_py.model.machine import Machine
from batsched_py.model.policy import ExplainingScheduler
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.waiting_reason import WaitingReason
from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.conservative_streit import ConservativeOfStreit
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.easy_fast import EasyFast
from batsched_py.schedulers.easy_fixed import EasyFixed
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.schedulers.grid.grid_policy import Grid
from batsched_py.schedulers.multifactor.multifactor import Multifactor
from batsched_py.schedulers.partitioned import adapt_to_partitions
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.schedulers.shutdown.settings import Shutdown
from batsched_py.schedulers.slack import Slack
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import check_machine, run, starts, workload
from helpers.partitions import entry, machine_of, partition
from helpers.sleeping import OFF, ON, AsTold, AtRandom, as_told, placed, power, run_sleeping
from schedulers.test_withdrawals import ALL

FIRST = J(0, 1, 1)
"""A job that runs before anything is switched."""
EASY = partial(Easy, extra_nodes="instant")


# Reservations ------------------------------------------------------------------------------------


def test_a_job_that_would_begin_too_late_is_not_backfilled() -> None:
    """The head b is promised 200. c would end then if it began now, but it has to wake 2 or 3."""
    jobs = [J(0, 2, 200), J(100, 4, 50), J(101, 1, 99)]
    told = AsTold(EASY(), {20: "off 2-3"})
    assert placed(run_sleeping(told, jobs, 4))[1:] == [(250, 300, "0-3"), (300, 399, "0")]
    told = AsTold(EASY(), {20: "off 2-3", 100: "on 2-3"})
    assert placed(run_sleeping(told, jobs, 4))[1:] == [(200, 250, "0-3"), (250, 349, "0")]


def test_a_job_is_backfilled_on_a_processor_that_is_being_woken() -> None:
    """The head c is promised 250, when b ends. d begins at 160, when 3 is awake."""
    jobs = [J(0, 1, 300), J(100, 2, 100), J(110, 3, 50), J(115, 1, 30)]
    told = AsTold(EASY(), {10: "off 2-3", 110: "on 3"})
    assert placed(run_sleeping(told, jobs, 4)) == [
        (0, 300, "0"),
        (150, 250, "1-2"),
        (250, 300, "1-3"),
        (160, 190, "3"),
    ]


def test_the_head_waits_for_an_end_that_comes_before_a_processor_is_awake() -> None:
    jobs = [J(0, 1, 60), J(50, 1, 20), J(65, 2, 10)]
    told = AsTold(EASY(), {15: "off 1"})
    assert placed(run_sleeping(told, jobs, 2)) == [(0, 60, "0"), (60, 80, "0"), (130, 140, "0-1")]


def test_the_head_wakes_processors_if_the_end_is_as_late() -> None:
    told = AsTold(EASY(), {15: "off 1"})
    jobs = [J(0, 1, 100), J(50, 1, 20)]
    assert placed(run_sleeping(told, jobs, 2)) == [(0, 100, "0"), (100, 120, "1")]


def test_the_head_does_not_wait_for_a_job_that_outlives_its_estimate() -> None:
    """a should have ended at 60. When c comes at 70, nobody knows when it will: 1 is woken."""
    jobs = [J(0, 1, 500, 500), J(50, 1, 20), J(70, 2, 10)]
    told = AsTold(EASY(), {15: "off 1"})
    outcome = run_sleeping(told, jobs, 2, estimates={0: 60})
    assert placed(outcome) == [(0, 500, "0"), (120, 140, "1"), (500, 510, "0-1")]


def test_a_job_is_bound_to_extra_nodes_that_sleep() -> None:
    """The head b is promised 200, when one of 2 and 3 remains for c, however long it takes."""
    jobs = [J(0, 2, 200), J(50, 3, 10), J(60, 1, 300), J(61, 1, 300)]
    told = AsTold(EASY(), {10: "off 2-3", 50: "on 2", 60: "on 3"})
    assert placed(run_sleeping(told, jobs, 4)) == [
        (0, 200, "0-1"),
        (200, 210, "0-1 3"),
        (100, 400, "2"),
        (210, 510, "0"),
    ]


def test_a_promise_slips_if_nobody_wakes_what_it_needs() -> None:
    """At 80 the head b is promised 130, for which 2 and 3 would have to be woken at once."""
    jobs = [J(0, 2, 100), J(80, 4, 10)]
    assert placed(run_sleeping(AsTold(EASY(), {10: "off 2-3"}), jobs, 4))[1] == (150, 160, "0-3")


def test_a_promise_slips_if_processors_are_switched_off() -> None:
    """The head b is promised 100. 1 is switched off at 90, and on again from 110 to 160."""
    jobs = [J(0, 1, 100), J(80, 2, 10)]
    assert placed(run_sleeping(AsTold(EASY(), {90: "off 1"}), jobs, 2))[1] == (160, 170, "0-1")


def test_slack_backfills_until_the_deadline_with_the_time_to_wake() -> None:
    """b is promised 200 and may start 50 s later: c begins at 150 and ends at 250, d at 251."""
    jobs = [J(0, 2, 200), J(100, 4, 100), J(100, 1, 100), J(100, 1, 101)]
    told = AsTold(Slack(slack=0.5), {20: "off 2-3"})
    assert placed(run_sleeping(told, jobs, 4))[1:3] == [(300, 400, "0-3"), (150, 250, "2")]


@pytest.mark.parametrize("make", [Conservative, Planning])
def test_reservations_slip_in_their_order_behind_a_job_that_begins_late(make: Any) -> None:
    """d was planned from 50 to 100 on 3, and begins at 100. So b moves from 100 to 150.

    c was planned behind b, and stays there, though it fits on 0-2 at 110.
    """
    jobs = [J(0, 3, 100), J(40, 4, 10), J(41, 3, 100), J(50, 1, 50)]
    told = AsTold(make(), {10: "off 3"})
    assert placed(run_sleeping(told, jobs, 4)) == [
        (0, 100, "0-2"),
        (150, 160, "0-3"),
        (160, 260, "0-2"),
        (100, 150, "3"),
    ]


def test_the_head_explains_that_it_waits_by_choice() -> None:
    told: Any = AsTold(EASY(), {15: "off 1"})
    held: list[WaitingReason | None] = []

    class Asking(AsTold):
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
            yield from super().schedule(now, queue, machine)
            assert isinstance(self.policy, ExplainingScheduler)
            held.extend(self.policy.held(job, now, queue, machine) for job in queue if now == 55)

    told = Asking(EASY(), {15: "off 1"})
    run_sleeping(told, [J(0, 1, 60), J(50, 1, 20), J(55, 1, 10)], 2)
    note = "waiting is sooner than waking processors"
    assert held == [
        WaitingReason("head", 1, until=60, free=1, note=note),
        WaitingReason("reservation", 2, "w0!0001", 60, 1, 0, lasts=60),
    ]


# Grid sites and partitions -----------------------------------------------------------------------


def test_a_job_gets_a_site_that_is_awake() -> None:
    """By best fit it would get the west, where fewer processors are free."""
    told = AsTold(Grid(), {10: "off 0-1"})
    jobs = [FIRST, J(100, 2, 10), J(101, 2, 10)]
    outcome = run_sleeping(told, jobs, 5, sites="west:2,east:3")
    assert placed(outcome)[1:] == [(100, 110, "2-3"), (110, 120, "2-3")]


@pytest.mark.parametrize("selection", ["best_fit", "earliest_end", "random"])
def test_on_a_grid_the_head_starts_where_it_begins_first(selection: str) -> None:
    """The west sleeps. At 40 b waits for the east, where a ends at 60; c wakes the west at 70."""
    jobs = [J(0, 3, 60), J(40, 2, 100), J(70, 2, 10)]
    told = AsTold(Grid(selection=selection), {10: "off 0-1"})
    outcome = run_sleeping(told, jobs, 5, sites="west:2,east:3")
    assert placed(outcome) == [(0, 60, "2-4"), (60, 160, "2-3"), (120, 130, "0-1")]


def test_a_job_that_is_spread_begins_when_its_last_part_is_awake() -> None:
    told = AsTold(Grid(scenario="multi_site", overhead=0.5), {10: "off 0-1"})
    outcome = run_sleeping(told, [FIRST, J(100, 5, 20)], 5, sites="west:2,east:3")
    assert [job[:2] for job in placed(outcome)[-1:]] == [(150, 180)]


TWO = machine_of(entry("nodes", count=4) + partition("a", "0-1") + partition("b", "2-3"))


def test_the_form_of_a_bound_job_is_registered_when_it_begins() -> None:
    """No job waits at 20 any more, but Batsim must still accept a job that runs longer."""
    load = workload([J(0, 1, 1), J(20, 2, 100)], 2)
    told = AsTold(Grid(scenario="multi_site", overhead=0.5), {10: "off 0-1"})
    outcome = run(load, told, sites="a:1,b:1", power=f"off_seconds={OFF},on_seconds={ON}")
    assert starts(outcome) == [0, 80]


def test_jobs_of_a_partition_take_processors_that_are_awake() -> None:
    told = as_told(Fcfs, {10: "off 0"}, TWO)
    outcome = run_sleeping(told, [FIRST, J(50, 1, 10)], 4, partitions=["a", "a"], described=TWO)
    assert placed(outcome)[1:] == [(50, 60, "1")]


@pytest.mark.parametrize("backfill", ["slurm", "none"])
def test_multifactor_takes_processors_that_are_awake(backfill: str) -> None:
    over = machine_of(entry("nodes", count=4) + partition("all") + partition("few", "2-3"))
    for described, which, expected in ((TWO, ["a"], (50, 60, "1")), (over, ["all"], (50, 60, "1"))):
        told = as_told(partial(Multifactor, backfill=backfill), {10: "off 0"}, described)
        jobs = [FIRST, J(50, 1, 10)]
        outcome = run_sleeping(told, jobs, 4, partitions=which * 2, described=described)
        assert placed(outcome)[1] == expected


def planned_outage(begin: float, end: float, nodes: str = "0", planned: bool = True) -> Any:
    outage = entry("outages", begin=begin, end=end, nodes=nodes, planned=planned)
    limit = entry("partitions", name="all", max_running_jobs_per_user=1)
    return machine_of(entry("nodes", count=2) + limit + outage)


def test_nothing_is_woken_into_a_planned_outage() -> None:
    """It would begin on 0 at 150 and end at 160: it takes 1, or waits if both are needed."""
    described = planned_outage(155, 300)
    told = as_told(Fcfs, {10: "off 0-1"}, described)
    assert placed(run_sleeping(told, [FIRST, J(100, 1, 10)], 2, described=described))[1:] == [
        (150, 160, "1")
    ]
    told = as_told(Fcfs, {10: "off 0-1"}, described)
    outcome = run_sleeping(told, [FIRST, J(100, 2, 10)], 2, described=described)
    assert placed(outcome)[1:] == [(350, 360, "0-1")]


def test_a_bound_job_whose_processor_breaks_waits_again_and_counts_once() -> None:
    """a is bound to 0 at 100. At 120 it breaks: a waits again, and wakes 1 for 170.

    b is of the same user, who may run one job at a time.
    """
    described = planned_outage(120, 300, planned=False)
    told = as_told(Fcfs, {10: "off 0-1"}, described)
    jobs = [FIRST, J(100, 1, 10, user="ann"), J(101, 1, 10, user="ann")]
    outcome = run_sleeping(told, jobs, 2, described=described)
    assert placed(outcome)[1:] == [(170, 180, "1"), (180, 190, "1")]


# Any policy --------------------------------------------------------------------------------------


jobs_of = st.lists(
    st.builds(
        lambda submit, size, run, more, user: J(submit, size, run, run + more, user),
        st.integers(0, 400),
        st.integers(1, 8),
        st.integers(0, 150),
        st.integers(1, 60),
        st.sampled_from(["1", "2", "3"]),
    ),
    max_size=25,
)
OUTAGES = entry("outages", begin=100, end=250, nodes="0-1", planned=True) + entry(
    "outages", begin=300, end=320, nodes="5-7"
)
MACHINES: dict[str, Any] = {
    "alike": None,
    "broken": machine_of(entry("nodes", count=8) + partition("all") + OUTAGES),
    "limited": machine_of(
        entry("nodes", count=4, cores=2)
        + partition("all", max_running_jobs_per_user=2)
        + partition("few", "2-3", whole_nodes=True, tier=1)
        + entry("outages", begin=100, end=250, nodes="0")
    ),
}
GRIDS: list[Callable[[], Any]] = [
    Grid,
    partial(Grid, scenario="local"),
    partial(Grid, selection="random"),
    partial(Grid, scenario="multi_site", overhead=0.3, reservation="easy"),
    partial(Grid, scenario="multi_site", overhead=0.3, adaptive=True, reservation="easy"),
    partial(Grid, scenario="multi_site", booked_overhead=False, fragments="1-8:2"),
]


@settings(max_examples=100)
@given(
    jobs_of,
    st.sampled_from(
        [EASY, Easy, EasyFast, EasyFixed, ConservativeOfStreit, partial(Slack, slack=0.5)]
    ),
    st.sampled_from([Shutdown(idle_time=5), Shutdown(idle_time=40, keep=2)]),
    st.booleans(),
)
def test_with_a_rule_heads_begin_by_their_first_promise(
    jobs: list[J], make: Callable[[], Any], rule: Shutdown, unlike: bool
) -> None:
    made = make()
    promised: dict[str, float] = {}

    class Noting:
        def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
            for decision in made.schedule(now, queue, machine):
                yield decision
                assert isinstance(decision, Start)
                assert decision.job.start_time <= promised.get(decision.job.id, inf)
            if made.head is not None:
                promised.setdefault(made.head.id, made.shadow_time)

    run_sleeping(Noting(), jobs, 8, groups=power(8, unlike), shutdown=rule)


class Watched:
    """A policy, of which each start must begin within the longest way back."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def __getattr__(self, name: str) -> Any:
        return getattr(self.policy, name)

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        assert machine.sleepers is not None
        for decision in self.policy.schedule(now, queue, machine):
            yield decision
            if isinstance(decision, Start) and decision.job.processors:
                assert now <= decision.job.start_time <= now + OFF + ON + 1e-6


@settings(max_examples=30)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("make", [each for each in ALL.items() if each[0] != "grid"], ids=repr)
@given(jobs=jobs_of, seed=st.integers(0, 1 << 30), unlike=st.booleans())
def test_every_policy_finishes(
    make: tuple[str, Any], machine: str, jobs: list[J], seed: int, unlike: bool
) -> None:
    described = MACHINES[machine]
    partitions = ["all", "few", "all"] * 10 if machine == "limited" else []
    if machine == "limited":
        jobs = [job._replace(size=min(job.size, 4)) for job in jobs]
    policy = AtRandom(Watched(adapt_to_partitions(make[1], described)), seed)
    groups = power(8, unlike, always_on=seed // 2 % 2)
    outcome = run_sleeping(
        policy, jobs, 8, described=described, partitions=partitions, groups=groups
    )
    check_machine(outcome)
    assert all(job.final_state == "COMPLETED_SUCCESSFULLY" for job in outcome.jobs)


@settings(max_examples=30)
@pytest.mark.parametrize("make", GRIDS)
@given(jobs=jobs_of, seed=st.integers(0, 1 << 30), unlike=st.booleans())
def test_a_grid_finishes(make: Callable[[], Any], jobs: list[J], seed: int, unlike: bool) -> None:
    jobs = [job._replace(size=min(job.size, 4)) for job in jobs]
    run_sleeping(
        AtRandom(make(), seed), jobs, 8, sites="west:3@0.5,east:5", groups=power(8, unlike)
    )
