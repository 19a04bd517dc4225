"""What policies refuse: values of their options, and jobs without walltimes."""

from __future__ import annotations

from typing import Any

import pytest

from batsched_py.errors import UsageError
from batsched_py.schedulers.conservative import Conservative
from batsched_py.schedulers.creasy import Creasy
from batsched_py.schedulers.dynp.bounds import DynpBounds
from batsched_py.schedulers.dynp.clock import DynpClock
from batsched_py.schedulers.dynp.dynp_policy import Dynp
from batsched_py.schedulers.easy import Easy
from batsched_py.schedulers.grid.grid_policy import Grid
from batsched_py.schedulers.list_scheduling import ListScheduling
from batsched_py.schedulers.planning.planning_policy import Planning
from batsched_py.schedulers.slack import Slack
from batsched_py.schedulers.ups import Ups
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import run, workload

REFUSED = [
    (Easy, "order", ["sfj"]),
    (Easy, "extra_nodes", ["all"]),
    (Grid, "extra_nodes", ["all"]),
    (Planning, "order", ["longest", "expansion_factor"]),
    (Dynp, "when", ["never"]),
    (Dynp, "metric", ["AWT"]),
    (Creasy, "alpha", [-1, "much"]),
    (Ups, "a_user", [1.5]),
    (Ups, "rank", ["lod"]),
    (Slack, "slack", [True]),
    (ListScheduling, "take", ["fit", "next"]),
    (Conservative, "order", ["longest", "expansion_factor"]),  # the latter changes with the clock
    (Planning, "admission", ["always"]),
    (Dynp, "decider", ["cleverest"]),
    (Dynp, "slackness", [-1, 101, True]),
    (Dynp, "first_jobs", [0, 1.5, True]),
    (Dynp, "within", [-1, "2 h"]),
    (Dynp, "preferred_reading", ["third"]),
    (Dynp, "legacy_fcfs_list_order", [1]),
    (DynpBounds, "lower", [-1, None]),
    (DynpBounds, "upper", [7000, "1 h"]),
    (DynpClock, "begins", ["noon", 6]),
]


@pytest.mark.parametrize(("policy", "option", "values"), REFUSED)
def test_wrong_options(policy: type[Any], option: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(UsageError, match=f"^{option}={value}"):
            policy(**{option: value})


def test_wrong_prime_time() -> None:
    for options in (
        {"prime_from": "6"},
        {"prime_to": "06:00"},
        {"prime_from": "24:00", "prime_to": "00:00"},
    ):
        with pytest.raises(UsageError, match=r"^prime_from"):
            DynpClock(**options)


@pytest.mark.parametrize("make", [Conservative, Planning, Dynp, DynpBounds, DynpClock])
def test_walltimes_are_needed(make: Any) -> None:
    with pytest.raises(UsageError, match="no walltime"):
        run(workload([J(0, 1, 5, None)], 4), make())
