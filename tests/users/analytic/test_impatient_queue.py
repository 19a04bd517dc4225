"""The impatient queue: printed digits, a slow twin, limits, and simulations of three cases."""

from __future__ import annotations

from math import factorial, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_studies.withdrawals.exact_queue import CASES, compare_queue
from batsched_users.analytic.impatient_queue import impatient, make_impatient_workload

# Withdrawn, waiting, queue, waits of all, served and withdrawn, utilisation: of another program
TABLE = """
A 0.227218 0.869794 4.54437 454.437 470.479 399.878 0.965977
C 0.083770 0.693384 3.35079 335.079 329.561 395.431 0.916230
E 0.056290 0.426592 0.67548 202.643 189.093 429.807 0.707783
"""
SYSTEMS = st.tuples(
    st.floats(1, 1000), st.floats(1, 5000), st.integers(1, 30), st.floats(10, 20000)
)


@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_printed_digits(line: str) -> None:
    case, *expected = line.split()
    q = impatient(*CASES[case])
    means = (q.withdrawn, q.waiting, q.queue, q.wait, q.served_wait, q.withdrawn_wait)
    digits = (6, 6, 5, 3, 3, 3, 6)
    assert expected == [
        f"{value:.{n}f}" for value, n in zip((*means, q.utilisation), digits, strict=True)
    ]


@given(system=SYSTEMS)
def test_identities(system: tuple[float, float, int, float]) -> None:
    interarrival, service, servers, patience = system
    q = impatient(*system)
    served = 1 - q.withdrawn
    assert q.withdrawn == pytest.approx(q.wait / patience)
    assert q.utilisation == pytest.approx(served * service / interarrival / servers, rel=1e-6)
    by_end = served * q.served_wait + q.withdrawn * q.withdrawn_wait
    assert by_end == pytest.approx(q.wait, rel=1e-6)
    assert 0 <= q.withdrawn <= q.waiting <= 1 + 1e-9
    assert q.withdrawn_wait <= patience


def test_patient_users_are_those_of_erlang_c() -> None:
    servers, load = 4, 3.0
    q = impatient(100, 300, servers, 1e9)
    blocked = load**servers / factorial(servers) * servers / (servers - load)
    waiting = blocked / (sum(load**n / factorial(n) for n in range(servers)) + blocked)
    assert q.waiting == pytest.approx(waiting, rel=1e-4)
    assert q.wait == pytest.approx(waiting * 300 / (servers - load), rel=1e-4)


def test_waits_of_a_slow_twin() -> None:
    """Jobs one after another: Lindley's recursion for one server, with a patience for each."""
    generator = np.random.default_rng(1)
    nb = 400_000
    gaps, runs, patience = (generator.exponential(mean, nb) for mean in (100, 90, 200))
    free, now, wait, served = 0.0, 0.0, np.empty(nb), np.empty(nb, bool)
    for at in range(nb):
        now += gaps[at]
        offered = max(0.0, free - now)
        served[at] = offered <= patience[at]
        wait[at] = min(offered, patience[at])
        if served[at]:
            free = now + offered + runs[at]
    q = impatient(100, 90, 1, 200)
    assert 1 - served.mean() == pytest.approx(q.withdrawn, rel=0.02)
    assert wait[served].mean() == pytest.approx(q.served_wait, rel=0.02)
    assert wait[~served].mean() == pytest.approx(q.withdrawn_wait, rel=0.02)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("value", [0, -1, inf])
def test_wrong_arguments(place: int, value: float) -> None:
    arguments: list[float] = [100, 1000, 8, 2000]
    arguments[place] = value
    name = ("interarrival", "service", "nb_servers", "patience")[place]
    with pytest.raises(UsageError, match=f"{name}="):
        impatient(*arguments)  # type: ignore[arg-type]


def test_workload() -> None:
    load = make_impatient_workload(20_000, 100, 1000, 8, seed=1)
    runs = [load.profiles[job.profile]["delay"] for job in load.jobs]
    assert np.mean(runs) == pytest.approx(1000, rel=0.03)
    assert load.jobs[-1].submit_time == pytest.approx(2_000_000, rel=0.03)
    assert {job.size for job in load.jobs} == {1}
    again = make_impatient_workload(20_000, 100, 1000, 8, seed=1)
    assert again.jobs == load.jobs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "policy"),
    [
        *((case, "fcfs") for case in CASES),
        ("A", "last come first served"),
        ("E", "ups"),
    ],
)
def test_simulations_agree_within_three_standard_errors(case: str, policy: str) -> None:
    for name, mean in compare_queue(CASES[case], policy, 8_000, 2).items():
        assert abs(mean.distance) < 3, (name, mean)
        assert mean.error < 0.15 * mean.exact
