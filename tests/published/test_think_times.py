"""Think times of five logs beside Schlagkamp 2015: 0.4826 r + 1779."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import InputError
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.workload.conversion_rules import make_rules
from batsched_py.workload.load import load_workload
from batsched_py.workload.logs.swf import read_swf
from batsched_users.learning.learn_think_times import (
    BOUND,
    Pairs,
    find_think_time_pairs,
    fit_logs,
    fit_think_times,
    pool_pairs,
)
from batsched_users.measures.job_columns import JobColumns, columns_of_log, columns_of_workload

LOGS = {
    "KTH-SP2-1996-2.1-cln": 0.404,
    "SDSC-SP2-1998-4.2-cln": 0.409,
    "LANL-CM5-1994-4.1-cln": 0.378,
    "HPC2N-2002-2.2-cln": 0.410,
    "OSC-Clust-2000-3.1-cln": 0.435,
}
"""Slope of each log when response times are bounded too."""


@pytest.fixture(scope="module")
def pairs(shared: Path) -> dict[str, Pairs]:
    logs = {name: columns_of_log(read_swf(shared / f"swf/{name}.swf.gz")) for name in LOGS}
    return {name: find_think_time_pairs(jobs.ended) for name, jobs in logs.items()}


def test_five_logs(pairs: dict[str, Pairs]) -> None:
    """160,723 pairs; only with bounded response times is the slope near the paper's 0.4826."""
    table = fit_logs(pairs)
    free, bounded = table.pop("pooled")
    assert free.nb_pairs == 160_723
    assert free.slope == pytest.approx(0.062, abs=0.0005)
    assert bounded.slope == pytest.approx(0.404, abs=0.0005)
    assert bounded.intercept == pytest.approx(1_312, abs=0.5)
    assert bounded.mean_absolute_residual < free.mean_absolute_residual
    for name, (alone, alone_bounded) in table.items():
        assert alone.slope < 0.15
        assert alone_bounded.slope == pytest.approx(LOGS[name], abs=0.0005)
        assert alone_bounded.nb_pairs <= alone.nb_pairs == len(pairs[name])


def test_log_and_workload_give_the_same(shared: Path, pairs: dict[str, Pairs]) -> None:
    """The rules drop one job of no size, which takes one pair away."""
    name = "KTH-SP2-1996-2.1-cln"
    load = load_workload(shared / f"swf/{name}.swf.gz", make_rules("replay-feedback"))
    of_workload = find_think_time_pairs(columns_of_workload(load))
    assert len(of_workload) == len(pairs[name]) - 1
    assert fit_think_times(of_workload, BOUND).slope == pytest.approx(LOGS[name], abs=0.0005)


@pytest.mark.parametrize(
    ("jobs", "expected"),
    [
        ([("u", 0, 10), ("u", 15, 20)], [(10, 5)]),  # the plain case
        ([("u", 0, 10), ("v", 15, 20)], []),  # of different users
        ([("u", 0, 10), ("v", 12, 13), ("u", 15, 20)], [(10, 5)]),  # another user between
        ([("u", 0, 20), ("u", 15, 30)], []),  # they overlap
        ([("u", 0, 15), ("u", 15, 20)], []),  # no think time
        ([("u", 0, 10), ("u", 10 + 28_800, 30_000)], []),  # the user was away
        ([("u", 0, 10), ("u", 9 + 28_800, 30_000)], [(10, 28_799)]),  # just in time
        ([("u", 15, 20), ("u", 0, 10)], [(10, 5)]),  # the order of rows does not matter
        ([("u", 0, 100), ("u", 5, 10), ("u", 20, 30)], [(5, 10)]),  # only the job before counts
        ([("u", 0, 10), ("u", 0, 5), ("u", 12, 30)], [(10, 2)]),  # of two at once, the later end
    ],
)
def test_pairs(jobs: list[tuple[str, float, float]], expected: list[tuple[float, float]]) -> None:
    users, submit, end = (np.array(column) for column in zip(*jobs, strict=True))
    pairs = find_think_time_pairs(
        JobColumns(
            user=np.unique(users, return_inverse=True)[1],
            submit=submit.astype(float),
            end=end.astype(float),
            size=submit,
            run_time=submit,
            requested_time=submit,
        )
    )
    assert list(zip(pairs.response.tolist(), pairs.think.tolist(), strict=True)) == expected


def test_jobs_of_unknown_user_or_finish() -> None:
    """Job 1 has no recorded end, so no think time follows it; without it the others are pairs."""
    jobs = [
        J(0, 1, 10, user="u", finish=10),
        J(12, 1, 10, user="u", finish=None),
        J(30, 1, 10, user="u", finish=40),
        J(50, 1, 10, user=None, finish=60),
    ]
    columns = columns_of_workload(workload(jobs, 4))
    pairs = find_think_time_pairs(columns.ended)
    assert (pairs.response.tolist(), pairs.think.tolist()) == ([10], [20])
    assert find_think_time_pairs(columns).think.tolist() == [2]


@given(st.lists(st.tuples(st.integers(0, 90), st.integers(1, 90)), min_size=2, max_size=30))
def test_least_squares(points: list[tuple[int, int]]) -> None:
    """No line near the found one is nearer to the points; the bound leaves out the rest."""
    x, y = np.array(points, dtype=float).T
    if len(set(x[x < 80])) < 2:
        with pytest.raises(InputError, match="at least two"):
            fit_think_times(Pairs(x, y), 80)
        return
    fit = fit_think_times(Pairs(x, y), 80)
    x, y = x[x < 80], y[x < 80]
    assert fit.nb_pairs == len(x)

    def error(slope: float, intercept: float) -> float:
        return float(((y - slope * x - intercept) ** 2).sum())

    best = error(fit.slope, fit.intercept)
    assert fit.explained == pytest.approx(1 - best / error(0, y.mean()) if np.ptp(y) else 1)
    for slope, intercept in ((0.01, 0), (-0.01, 0), (0, 0.1), (0, -0.1), (0.01, -0.1)):
        assert best <= error(fit.slope + slope, fit.intercept + intercept)


def test_no_pairs_no_line() -> None:
    with pytest.raises(InputError, match="0 pairs"):
        fit_think_times(pool_pairs([]))
