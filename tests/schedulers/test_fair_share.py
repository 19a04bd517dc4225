"""The policy fair_share: EASY in the order of what users have used of late."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py import Job, Machine, Start, WaitingQueue
from batsched_py.errors import UsageError
from batsched_py.schedulers.multifactor.fair_share import FairShare
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import check_machine, run, starts, workload
from helpers.fair_share_twin import slow_usage
from helpers.partitions import machine_of, run_on

U_THEN_V = [
    J(0, 4, 100, user="u"),
    J(185, 1, 5, user="v"),
    J(190, 4, 10, user="w"),
    J(191, 4, 10, user="v"),
    J(192, 4, 10, user="u"),
]
CASES: dict[str, tuple[dict[str, Any], list[J], list[float]]] = {
    "u has run, so v's job goes first, though it came later": (
        {},
        [J(0, 4, 10, user="u"), J(1, 4, 10, user="u"), J(2, 4, 10, user="v")],
        [0, 20, 10],
    ),
    "a short memory: what u used until 100 is nothing at 200 beside v's little at 190": (
        {"half_life": 10},
        U_THEN_V,
        [0, 185, 190, 210, 200],
    ),
    "nothing forgotten: v is first": (
        {"half_life": 0},
        U_THEN_V,
        [0, 185, 190, 200, 210],
    ),
    "equals in the order of submission; unknown users are one": (
        {},
        [J(0, 4, 10, user="u"), J(1, 4, 10), J(2, 4, 10, user="v"), J(3, 4, 10)],
        [0, 10, 20, 30],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_by_hand(case: tuple[dict[str, Any], list[J], list[float]]) -> None:
    options, jobs, expected = case
    assert starts(run(workload(jobs, 4), FairShare(**options))) == expected


def test_in_partitions_each_has_its_own_usage() -> None:
    """Of overlapping ones too, where jobs of others run among those of a policy."""
    described = machine_of(
        "[[nodes]]\ncount = 4\n[[partitions]]\nname = 'all'\n"
        "[[partitions]]\nname = 'few'\nnodes = '2-3'\n"
    )
    jobs = [
        ("few", J(0, 2, 10, user="v")),
        ("all", J(0, 2, 10, user="u")),
        ("all", J(1, 4, 10, user="u")),
        ("all", J(2, 4, 10, user="v")),
    ]
    assert starts(run_on(described, FairShare, jobs)) == [0, 0, 20, 10]


EVENTS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 8), st.integers(1, 80), st.sampled_from("uvw")),
    max_size=20,
)


@given(EVENTS, st.sampled_from([10.0, 1e5, 0.0]))
def test_usage_is_that_of_the_schedule(
    drawn: list[tuple[int, int, int, str]], half_life: float
) -> None:
    """Whenever a pass was: what the users are said to have used is what their jobs ran."""
    jobs = [J(submit, size, length, user=user) for submit, size, length, user in drawn]
    if not jobs:
        return
    policy = FairShare(half_life=half_life)
    outcome = run(workload(jobs, 8), policy)
    check_machine(outcome)
    runs = [
        ("uvw".index(drawn[at][3]), drawn[at][1], start, drawn[at][2])
        for at, start in enumerate(starts(outcome))
    ]
    policy._usage.take_ends_into_account(Machine(8), outcome.jobs[-1].finish_time)
    now = max(start + length for _, _, start, length in runs)
    for user, number in policy._users.items():
        expected = slow_usage(runs, "uvw".index(user), now, half_life or inf)
        assert policy._usage.at(now, len(policy._users))[number] == pytest.approx(expected)


def test_what_runs_already_is_charged_from_its_start() -> None:
    """A policy that takes over a machine (after an outage, say) knows what runs there."""
    machine, policy, queue = Machine(4), FairShare(half_life=0), WaitingQueue()
    machine.start(Job("r", 0, 3, None, 50.0, 0.0, {}, "u"), 10.0)
    for number, user in ((1, "u"), (2, "v")):
        queue.append(Job(f"w{number}", number, 1, None, 10.0, 20.0, {}, user))
    first = next(policy.schedule(30.0, queue, machine))
    assert isinstance(first, Start)
    assert first.job.user == "v"
    assert policy._usage.at(30.0, 1).tolist() == [60]


def test_wrong_options() -> None:
    with pytest.raises(UsageError, match="half_life"):
        FairShare(half_life=-1)
    with pytest.raises(UsageError, match="extra_nodes=all"):
        FairShare(extra_nodes="all")
