"""Fair share: the policy, the tree of accounts and both algorithms, against slow twins."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import InputError
from batsched_py.schedulers.multifactor.accounts_file import Account, Accounts, User, read_accounts
from batsched_py.schedulers.multifactor.fair_share import FairShare
from batsched_py.schedulers.multifactor.fair_share_tree import FairShareTree
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import check_machine, run, starts, workload
from helpers.fair_share_twin import SlowTree, slow_usage
from helpers.partitions import entry, machine_of, partition, run_on

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
    described = machine_of(entry("nodes", count=4) + partition("all") + partition("few", "2-3"))
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
    now = max(start + length for _, _, start, length in runs)
    for user, number in policy._users.items():
        expected = slow_usage(runs, "uvw".index(user), now, half_life or inf)
        assert policy._usage.decayed.at(now, len(policy._users))[number] == pytest.approx(expected)


# The tree of accounts ----------------------------------------------------------------------------


# The example of Slurm's page on the classic algorithm ---------------------------------------------

CLASSIC = Accounts(
    accounts=(
        Account("A", shares=40),
        Account("D", shares=60),
        Account("B", "A", 30),
        Account("C", "A", 10),
        Account("E", "D", 25),
        Account("F", "D", 35),
    ),
    users=(User("1", "B"), User("2", "C"), User("3", "C"), User("4", "E"), User("5", "F")),
)


def test_the_worked_example_of_the_classic_algorithm() -> None:
    """Users 1, 2, 4 have used 0.2, 0.25, 0.25 of the machine (a further account the rest)."""
    tree = FairShareTree(
        Accounts(
            (*CLASSIC.accounts, Account("rest", shares=0)), (*CLASSIC.users, User("6", "rest"))
        ),
        "classic",
    )
    factors = tree.compute_factors(np.array([0.2, 0.25, 0, 0.25, 0, 0.3]))
    expected = [0.408479, 0.022097, 0.125, 0.5, 0.749154, 0]  # the last one has no share
    assert factors == pytest.approx(expected, abs=5e-5)


def test_dampening_brings_the_factors_closer_together() -> None:
    """2^(-U/S/d): with d = 2 it is the square root."""
    usage = np.array([30.0, 10.0, 0.0, 40.0, 20.0])
    plain = FairShareTree(CLASSIC, "classic").compute_factors(usage)
    damped = FairShareTree(CLASSIC, "classic", dampening=2).compute_factors(usage)
    assert damped == pytest.approx(np.sqrt(plain))


# Fair Tree ----------------------------------------------------------------------------------------


def test_a_user_that_ties_with_a_sibling_account_has_the_rank_of_its_first_user() -> None:
    tree = FairShareTree(
        Accounts(
            (Account("top"), Account("sub", "top")),
            (User("a", "top"), User("b", "sub"), User("c", "sub")),
        )
    )
    assert tree.compute_factors(np.array([50.0, 40, 10])).tolist() == pytest.approx([1, 1 / 3, 1])


@st.composite
def trees(draw: Any) -> tuple[Accounts, list[int]]:
    """Draw accounts at up to four levels, users in them, and what these have used."""
    nb = draw(st.integers(1, 6))
    accounts = [
        Account(
            f"a{at}",
            draw(st.sampled_from(["", *(f"a{n}" for n in range(at))])),
            draw(st.integers(0, 3)),
        )
        for at in range(nb)
    ]
    users = [
        User(f"u{at}", f"a{draw(st.integers(0, nb - 1))}", draw(st.integers(0, 3)))
        for at in range(draw(st.integers(1, 8)))
    ]
    usage = [draw(st.sampled_from([0, 0, 1, 2, 3, 4, 6, 12])) for _ in users]
    return Accounts(tuple(accounts), tuple(users)), usage


@given(trees(), st.sampled_from(["fair_tree", "classic"]))
def test_both_algorithms_agree_with_a_slow_twin(
    drawn: tuple[Accounts, list[int]], algorithm: str
) -> None:
    """The twin walks the tree by recursion, on fractions."""
    accounts, usage = drawn
    factors = FairShareTree(accounts, algorithm).compute_factors(np.array(usage, float))
    slow = SlowTree(accounts, usage)
    expected = slow.fair_tree() if algorithm == "fair_tree" else slow.classic()
    assert factors.tolist() == pytest.approx(expected, abs=1e-12)


# Who is who ---------------------------------------------------------------------------------------


def test_without_a_file_accounts_are_made_as_they_come() -> None:
    """Of equal shares: u in account 1 has used half, v and w in 2 a quarter each."""
    tree = FairShareTree(algorithm="classic")
    assert [
        tree.get_user_number("u", "1"),
        tree.get_user_number("v", "2"),
        tree.get_user_number("w", "2"),
    ] == [0, 1, 2]
    assert tree.get_user_number("u", "1") == 0
    assert tree.get_user_number("u", "2") == 3  # the same person, charged elsewhere
    assert tree.nb_users == 4
    first, *others = tree.compute_factors(np.array([2.0, 1, 1, 0]))
    assert first == 0.5  # half of the machine used, half promised
    assert others == pytest.approx([2 ** -((1 / 4 + 1 / 4 / 3) * 6)] * 2 + [2**-1], abs=1e-3)


def test_with_a_file_others_share_one_account() -> None:
    accounts = Accounts(
        (Account("physics", number=3), Account("optics", "physics")),
        (User("a", "optics"), User("a", "physics")),
    )
    tree = FairShareTree(accounts)
    assert tree.get_user_number("a", "optics") == 0
    assert tree.get_user_number("a", "3") == tree.get_user_number("a", "physics") == 1
    assert tree.get_user_number("a", None) == 0  # the first account that lists him
    assert tree.get_user_number("b", "physics") == 2  # not listed: one share
    assert (
        tree.get_user_number("b", "9")
        == tree.get_user_number("b", "10")
        == tree.get_user_number("b", None)
        == 3
    )


def test_association_priorities() -> None:
    """Of accounts, inherited by users that have none; as a fraction of the highest."""
    accounts = Accounts(
        (Account("a", priority=5), Account("b")), (User("u", "a"), User("v", "a", priority=10))
    )
    tree = FairShareTree(accounts)
    tree.get_user_number("w", "b")
    assert tree.priorities().tolist() == [0.5, 1, 0]


# Files --------------------------------------------------------------------------------------------

FILE = """
[[accounts]]
name = "optics"
parent = "physics"
shares = 30

[[accounts]]
name = "physics"
number = 3
shares = 40

[[users]]
name = 17
account = "optics"
shares = 2
"""


def test_a_file_of_accounts(tmp_path: Path) -> None:
    """Parents may come later, and users may be numbers."""
    path = tmp_path / "accounts.toml"
    path.write_text(FILE)
    accounts = read_accounts(path)
    assert accounts.accounts == (
        Account("physics", shares=40, number=3),
        Account("optics", "physics", 30),
    )
    assert accounts.users == (User("17", "optics", 2),)


WRONG = {
    '[[accounts]]\nname = ""': "name = ''",
    '[[account]]\nname = "a"': "no 'account' (did",
    "[[accounts]]\nshares = 3": "accounts 1: there is no name",
    '[[accounts]]\nname = "a"\nshares = -1': "shares = -1",
    '[[accounts]]\nname = "a"\n[[accounts]]\nname = "a"': "'a' is there twice",
    '[[accounts]]\nname = "3"\n[[accounts]]\nname = "b"\nnumber = 3': "'3' is both account '3'",
    '[[accounts]]\nname = "phys"\nparent = "phy"': "is 'phy' (did you mean 'phys'?): no such",
    '[[accounts]]\nname = "a"\nparent = "b"\n[[accounts]]\nname = "b"\nparent = "a"': "below it",
    '[[users]]\nname = "u"\naccount = "a"': "user 'u' is 'a'",
    '[[accounts]]\nname = "a"\n' + '[[users]]\nname = "u"\naccount = "a"\n' * 2: "twice in account",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "accounts.toml"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        read_accounts(path)
    assert message in str(raised.value)
    assert str(path) in str(raised.value)
