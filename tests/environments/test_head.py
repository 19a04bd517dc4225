"""The first job that an agent chooses: until when the choice holds, and what users learn of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from batsched_py import Withdraw, WorkloadJob, simulate
from batsched_py.environments import Head
from helpers.answering import Rule, first_allowed, last_allowed, policy_of
from helpers.scripted_users import Scripted, job

FIELDS = ["job_number", "submit_time", "run_time", "requested_processors", "requested_time"]
OUTAGE = """
nodes = [{ count = 8, cores = 1 }]
partitions = [{ name = "all", nodes = "0-7" }]
outages = [{ begin = 100, end = 200, nodes = "0-3", planned = true }]
"""


def find_starts(rows: list[tuple[int, ...]], head: Head, rule: Rule, **settings: Any) -> list[int]:
    """Return when each job starts (seconds)."""
    log = pd.DataFrame(rows, columns=FIELDS)
    log.attrs = {"MaxProcs": 8, "UnixStartTime": 0}
    policy = policy_of(head, rule)
    result = simulate(log, scheduler=policy, walltime="requested", **settings)
    jobs = result.jobs.sort_values("job_id")
    return jobs["starting_time"].astype(int).tolist()


def test_a_choice_ends_when_an_outage_holds_the_job_back(tmp_path: Path) -> None:
    file = tmp_path / "machine.toml"
    file.write_text(OUTAGE)
    rows = [(1, 0, 40, 8, 40), (2, 10, 60, 6, 70), (3, 10, 60, 6, 75)]
    rows += [(4, 12, 10, 2, 10), (5, 13, 10, 2, 10)]
    starts = find_starts(rows, Head(commit=True), last_allowed, machine=str(file))
    assert starts == [0, 260, 200, 40, 40]


@pytest.mark.parametrize("commit", [False, True])
def test_no_job_overtakes_where_ends_are_unknown(commit: bool) -> None:
    rows = [(1, 0, 100, 4, -1), (2, 1, 100, 8, 100), (3, 2, 500, 4, 500)]
    assert find_starts(rows, Head(commit=commit), first_allowed) == [0, 100, 200]


class Looking(Scripted):
    """Users who look when their job ``b`` starts, whenever they submit a job."""

    def jobs_to_submit(self, now: float) -> Iterator[WorkloadJob | Withdraw]:
        assert self.site is not None
        self.seen = self.site.expected_start("b")
        return super().jobs_to_submit(now)


@pytest.mark.parametrize("commit", [False, True])
@pytest.mark.parametrize(("backfill", "expected"), [(True, 11.0), (False, None)])
def test_users_see_when_the_first_job_starts(
    *, commit: bool, backfill: bool, expected: float | None
) -> None:
    users = Looking((0.0, job("a", 8)), (1.0, job("b", 8)), (2.0, job("c", 8)))
    log = pd.DataFrame([(1, 0, 1, 1, 1)], columns=FIELDS)
    policy = policy_of(Head(commit, backfill), first_allowed)
    simulate(log, nodes=8, scheduler=policy, users=lambda _: users)
    assert users.seen == pytest.approx(expected)
