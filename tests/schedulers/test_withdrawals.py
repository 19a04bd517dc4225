"""Withdrawn jobs under each policy: schedules by hand, and what policies must not keep of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.creasy import Creasy
from batsched_py.schedulers.dynp.bounds import DynpBounds
from batsched_py.schedulers.dynp.clock import DynpClock
from batsched_py.schedulers.dynp.dynp_policy import Dynp
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.easy_fast import EasyFast
from batsched_py.schedulers.easy_fixed import EasyFixed
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.schedulers.filler import Filler
from batsched_py.schedulers.grid.grid_policy import Grid
from batsched_py.schedulers.list_scheduling import ListScheduling
from batsched_py.schedulers.multifactor.fair_share import FairShare
from batsched_py.schedulers.multifactor.multifactor import Multifactor
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.schedulers.slack import Slack
from batsched_py.schedulers.ups import Ups
from batsched_py.testing import DrawnJob as J
from batsched_py.workload.grid_sites import parse_sites
from helpers.partitions import entry, machine_of, partition
from helpers.streit_schedules import random_jobs
from helpers.withdrawn_jobs import run_withdrawing

Make = Callable[[], Any]
IN_ORDER: dict[str, Make] = {
    "fcfs": Fcfs,
    "easy": Easy,
    "easy_fast": EasyFast,
    "easy_fixed": EasyFixed,
    "slack": partial(Slack, slack=0),
    "ups": Ups,
    "fair_share": FairShare,
    "conservative": Conservative,
    "planning": Planning,
    "dynp_bounds": partial(DynpBounds, lower=0, upper=1000),
    "multifactor": partial(Multifactor, bf_interval=0, bf_resolution=0, weight_jobsize=0),
}
"""Policies under which a wide job that is first keeps others from its processors."""
ALL = IN_ORDER | {
    "creasy": Creasy,
    "filler": Filler,
    "list": partial(ListScheduling, order="narrowest", take="next_fit"),
    "conservative_sjf": partial(Conservative, order="sjf"),
    "dynp": Dynp,
    "dynp_half": partial(Dynp, when="half"),
    "dynp_legacy": partial(Dynp, legacy_fcfs_list_order=True),
    "dynp_clock": DynpClock,
    "grid": Grid,
    "multifactor_none": partial(Multifactor, backfill="none"),
}


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_at_the_instant_of_its_start_the_withdrawal_wins(make: Make) -> None:
    """``
           |0   4
        A 4|####
        B 4| ...w      withdrawn at 4
        C 4|  ..####
    ``"""
    jobs = [J(0, 4, 4), J(1, 4, 4), J(2, 4, 4)]
    assert run_withdrawing(make, jobs, {1: 4}) == [0, None, 4]


@pytest.mark.parametrize("make", IN_ORDER.values(), ids=IN_ORDER)
def test_a_withdrawn_head_leaves_its_processors_to_the_next(make: Make) -> None:
    """C would delay B, which is first; nothing else happens when B is withdrawn.

    The same on a machine whose partition has a limit, with a queue of its own.

       |0  3  6
    A 3|######
    B 4| ..w
    C 1|  .##########
    D 4|  ...........####
    """
    jobs = [J(0, 3, 6), J(1, 4, 4), J(2, 1, 10), J(2, 4, 4)]
    assert run_withdrawing(make, jobs, {1: 3}) == [0, None, 3, 13]
    limited = machine_of(entry("nodes", count=4) + partition("all", max_running_jobs_per_user=9))
    assert run_withdrawing(make, jobs, {1: 3}, described=limited) == [0, None, 3, 13]


@pytest.mark.parametrize("make", [Conservative, Planning, Easy])
def test_others_in_the_plan_come_forward(make: Make) -> None:
    """B and C have reservations at 6 and 10; D ends before 6 and runs beside A.

       |0  3  6
    A 3|######
    B 4| ..w
    C 3| .....####
    D 1|  ###
    E 2|   .......##      behind C, which leaves one processor
    """
    jobs = [J(0, 3, 6), J(1, 4, 4), J(1, 3, 4), J(2, 1, 3), J(3, 2, 2)]
    assert run_withdrawing(make, jobs, {1: 3}) == [0, None, 6, 2, 10]


def test_conservative_gives_the_place_to_jobs_behind() -> None:
    """D was promised 9, when C ends; without C it gets 5, and B keeps its 2.

       |0 2  5
    A 4|##
    B 3| .###
    C 4| .w
    D 4| ...####
    """
    jobs = [J(0, 4, 2), J(1, 3, 3), J(1, 4, 4), J(1, 4, 4)]
    assert run_withdrawing(Conservative, jobs, {2: 2}) == [0, 2, None, 5]


@pytest.mark.parametrize("make", [Planning, Dynp, DynpBounds, DynpClock])
def test_a_withdrawn_advance_reservation_is_free(make: Make) -> None:
    """R has all processors from 10 to 15; B does not fit before, until R is withdrawn at 3."""
    jobs = [J(0, 4, 5), J(1, 4, 12)]
    fields = {0: {"reserved_start": 10}}
    assert run_withdrawing(make, jobs, {}, fields=fields) == [10, 15]
    assert run_withdrawing(make, jobs, {0: 3}, fields=fields) == [None, 3]


def test_nothing_is_kept_of_an_advance_reservation() -> None:
    policies: list[Planning] = []

    def make() -> Planning:
        policies.append(Planning())
        return policies[-1]

    jobs = [J(0, 4, 5), J(0, 4, 2)]
    fields = {0: {"reserved_start": 10}}
    assert run_withdrawing(make, jobs, {0: 1}, fields=fields) == [None, 0]
    assert [policy.planner._reservations.starts for policy in policies] == [{}, {}]


@pytest.mark.parametrize("policy", [name for name in ALL if name != "grid"])
def test_held_back_by_a_limit(policy: str) -> None:
    """Of each user only one job runs: B is withdrawn while it is held back, so C is next."""
    make = ALL[policy]
    described = machine_of(entry("nodes", count=4) + partition("all", max_running_jobs_per_user=1))
    jobs = [J(0, 1, 6, user="u"), J(1, 1, 4, user="u"), J(2, 1, 4, user="u")]
    assert run_withdrawing(make, jobs, {1: 3}, described=described) == [0, None, 6]


@pytest.mark.parametrize("policy", ["easy", "conservative", "planning", "multifactor"])
def test_a_wide_job_held_back_no_longer_blocks_its_user(policy: str) -> None:
    """B needs more than the 3 processors that its user may have beside A; C does not."""
    described = machine_of(entry("nodes", count=4) + partition("all", max_processors_per_user=3))
    jobs = [J(0, 1, 6, user="u"), J(1, 3, 4, user="u"), J(2, 2, 4, user="u")]
    assert run_withdrawing(ALL[policy], jobs, {}, described=described) == [0, 6, 10]
    assert run_withdrawing(ALL[policy], jobs, {1: 3}, described=described) == [0, None, 3]


@pytest.mark.parametrize("policy", ["easy", "conservative", "planning", "multifactor"])
def test_held_back_by_an_outage(policy: str) -> None:
    """B would run into the outage from 5 to 8: it waits for its end, and is withdrawn before."""
    outage = entry("outages", nodes="0-3", begin=5, end=8, planned=True, reason="repair")
    described = machine_of(entry("nodes", count=4) + partition("all") + outage)
    jobs = [J(0, 4, 2), J(1, 4, 10), J(2, 4, 10)]
    assert run_withdrawing(ALL[policy], jobs, {}, described=described) == [0, 8, 18]
    assert run_withdrawing(ALL[policy], jobs, {1: 3}, described=described) == [0, None, 8]


def test_in_the_queue_of_a_grid_site() -> None:
    sites = parse_sites("west:2,east:2")
    jobs = [J(0, 2, 6, home="west"), J(1, 2, 4, home="west"), J(2, 2, 4, home="west")]
    make = partial(Grid, scenario="local")
    assert run_withdrawing(make, jobs, {1: 3}, sites=sites) == [0, None, 6]


def test_submitted_and_withdrawn_at_one_instant() -> None:
    """No policy, and no queue of a part of the machine, ever sees the job."""
    described = machine_of(entry("nodes", count=4) + partition("a") + partition("b"))
    jobs = [J(0, 4, 6), J(1, 4, 4), J(2, 4, 4)]
    for make in (Easy, Conservative, ALL["multifactor"]):
        assert run_withdrawing(make, jobs, {1: 1}, described=described) == [0, None, 6]
    sites = parse_sites("west:2,east:2")
    jobs = [job._replace(size=2, home="west") for job in jobs]
    make = partial(Grid, scenario="local")
    assert run_withdrawing(make, jobs, {1: 1}, sites=sites) == [0, None, 6]


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
@given(
    jobs=random_jobs(15, spread=40),
    waits=st.lists(st.none() | st.integers(0, 60), min_size=15, max_size=15),
)
def test_all_jobs_run_or_are_withdrawn_in_time(
    make: Make, jobs: list[J], waits: list[int | None]
) -> None:
    """A withdrawn job never runs, and one that runs started before its withdrawal."""
    at = {place: jobs[place].submit + wait for place, wait in enumerate(waits[: len(jobs)]) if wait}
    for place, start in enumerate(run_withdrawing(make, jobs, at, nodes=8)):
        assert place in at if start is None else start < at.get(place, start + 1)
