"""Pools are made once for runs of the same log, and anew where its jobs are others."""

from __future__ import annotations

import pytest

from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.workload import Workload
from batsched_users.resampling import user_pools
from batsched_users.resampling.user_pools import Pools, Rare, make_pools, reuse_pools
from batsched_users.sessions.delimitation import Delimitation

SESSIONS = Delimitation.parse("arrival:60")
WEEK = 7 * 86_400


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Workload:
    """Two users for twenty weeks, one for a day; nothing is kept from other tests."""
    monkeypatch.setattr(user_pools, "_KEPT", {})
    jobs = [
        J(week * WEEK, 1, 60, user=user, finish=week * WEEK + 60)
        for week in range(20)
        for user in "ab"
    ]
    return workload([*jobs, J(10 * WEEK, 1, 60, user="c", finish=10 * WEEK + 60)], 4)


def shape(pools: Pools) -> list[list[str]]:
    return [[trace.user for trace in part] for part in (pools.long_term, pools.temporary)]


def test_a_copy_of_the_log_has_the_pools_of_the_log(log: Workload) -> None:
    first = reuse_pools(log.copy().jobs, SESSIONS, "joins", rare=[], long_weeks=12.0)
    assert shape(first) == [["a", "b"], ["c"]]
    assert reuse_pools(log.copy().jobs, SESSIONS, "joins", rare=[], long_weeks=12.0) is first


def test_other_jobs_and_other_options_have_their_own(log: Workload) -> None:
    first = reuse_pools(log.copy().jobs, SESSIONS, "joins", rare=[], long_weeks=12.0)
    other = reuse_pools(log.copy().jobs, SESSIONS, "joins", rare=[], long_weeks=30.0)
    assert shape(other) == [[], ["a", "b", "c"]]
    changed = log.copy()
    changed.jobs[0].user = "c"
    again = reuse_pools(changed.jobs, SESSIONS, "joins", rare=[], long_weeks=12.0)
    assert again is not first
    plain = make_pools(changed.jobs, SESSIONS, "joins", rare=[], long_weeks=12.0)
    assert shape(again) == shape(plain)
    assert [trace.start for trace in again.temporary] == [0]
    rare = reuse_pools(log.copy().jobs, SESSIONS, "joins", rare=[Rare("b")], long_weeks=12.0)
    assert shape(rare) == [["a"], ["c"]]


def test_what_a_model_does_to_its_jobs_is_not_kept(log: Workload) -> None:
    """Who changes a job that is in the pools has them made anew."""
    jobs = log.copy().jobs
    first = reuse_pools(jobs, SESSIONS, "joins", rare=[], long_weeks=12.0)
    first.long_term[0].batches[0].jobs[0].size = 3
    assert reuse_pools(log.copy().jobs, SESSIONS, "joins", rare=[], long_weeks=12.0) is not first
