"""The mixed model against the printed table, its product form and what must hold always."""

from __future__ import annotations

from itertools import pairwise
from math import comb, factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_users.analytic.mixed_queue import bounds, closed_response, mixed

# S = 1, Z = 5: users, then Rc and X without an open class, then Rc, Xc, X and Ro with rate 0.5
TABLE = """
 1  1.0000 0.1667   2.0000 0.1429 0.6429  2.5714
 2  1.1667 0.3243   2.5714 0.2642 0.7642  3.3585
 3  1.3784 0.4703   3.3585 0.3589 0.8589  4.4108
 5  1.9917 0.7151   5.7496 0.4651 0.9651  7.3487
 6  2.4243 0.8082   7.3487 0.4859 0.9859  9.1412
 8  3.6026 0.9300  11.0499 0.4984 0.9984 13.0155
10  5.1873 0.9816  15.0043 0.4999 0.9999 17.0011
20 15.0000 1.0000  35.0000 0.5000 1.0000 37.0000
"""

SYSTEMS = st.tuples(
    st.integers(1, 40),
    st.floats(0, 0.95),  # of the service rate
    st.floats(0, 50),
    st.floats(0.01, 100),
).map(lambda system: (system[0], system[1] * system[3], *system[2:]))


@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_printed_digits(line: str) -> None:
    n, *expected = line.split()
    closed, both = mixed(20, 0, 5, 1)[int(n) - 1], mixed(20, 0.5, 5, 1)[int(n) - 1]
    numbers = (
        closed.closed_response,
        closed.throughput,
        both.closed_response,
        both.closed_throughput,
        both.throughput,
        both.open_response,
    )
    assert [f"{value:.4f}" for value in numbers] == expected
    assert closed.nb_users == both.nb_users == int(n)


def product_form(
    nb_users: int, open_rate: float, think_time: float, service_rate: float
) -> tuple[float, float]:
    """Return the mean numbers of closed and of open jobs at the server, state by state.

    The probability of k closed and m open jobs there is proportional to
    ``C(m + k, k) S^k (lambda S)^m Z^(N - k) / (N - k)!``.
    """
    weight = closed = opened = 0.0
    for k in range(nb_users + 1):
        thinking = think_time ** (nb_users - k) / factorial(nb_users - k)
        for m in range(400):  # the rest is below 1e-15 for the loads below
            p = comb(m + k, k) * thinking * (open_rate / service_rate) ** m / service_rate**k
            weight, closed, opened = weight + p, closed + k * p, opened + m * p
    return closed / weight, opened / weight


@pytest.mark.parametrize(
    "system", [(1, 0.5, 5, 1), (4, 0.5, 5, 1), (6, 1.2, 0.25, 2), (3, 0, 2, 1), (5, 0.3, 0, 0.5)]
)
def test_product_form(system: tuple[int, float, float, float]) -> None:
    """The recursion gives what the stationary distribution does, by Little's law for Ro."""
    closed, opened = product_form(*system)
    point = mixed(*system)[-1]
    assert point.closed_queue == pytest.approx(closed, rel=1e-9)
    assert system[1] * point.open_response == pytest.approx(opened, rel=1e-9)


@given(system=SYSTEMS)
def test_bounds_and_monotony(system: tuple[int, float, float, float]) -> None:
    _, open_rate, think_time, service_rate = system
    points = mixed(*system)
    slack = 1 + 1e-9
    for n, point in enumerate(points, 1):
        limits = bounds(n, open_rate, think_time, service_rate)
        slowed = 1 / (service_rate - open_rate)
        full = n / (service_rate - open_rate) - think_time
        assert limits.closed_response == pytest.approx(max(slowed, full))
        assert point.closed_response * slack >= limits.closed_response
        assert point.closed_throughput <= limits.closed_throughput * slack
        assert point.throughput <= limits.throughput * slack
        assert limits.throughput <= service_rate * slack
        assert point.utilisation <= slack
        # The asymptotes cross at the knee
        assert (n < limits.knee) == (slowed > full) or n == pytest.approx(limits.knee)
    for point, more in pairwise(points):
        assert more.closed_response == pytest.approx(point.open_response)  # one user more
        assert more.closed_response * slack >= point.closed_response
        assert more.throughput * slack >= point.throughput


@given(system=SYSTEMS.filter(lambda system: system[2] > 0.01))
def test_response_time_law(system: tuple[int, float, float, float]) -> None:
    """Rc follows from the throughput; in the partial phase (X < mu) it is above the full line."""
    nb_users, open_rate, think_time, service_rate = system
    point = mixed(*system)[-1]
    by_law = closed_response(nb_users, point.throughput, open_rate, think_time)
    around = point.closed_response + think_time
    assert by_law == pytest.approx(point.closed_response, abs=1e-6 * around)
    if point.throughput < service_rate:
        assert by_law >= closed_response(nb_users, service_rate, open_rate, think_time)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.5, 5, 1), "nb_users=0: expected a whole number"),
        ((2.5, 0.5, 5, 1), "nb_users=2.5"),
        ((3, 1, 5, 1), "open_rate=1: expected less than service_rate=1"),
        ((3, -0.1, 5, 1), "open_rate=-0.1"),
        ((3, 0.5, -1, 1), "think_time=-1"),
        ((3, 0, 5, 0), "open_rate=0: expected less than service_rate=0"),
        ((3, 0, float("nan"), 1), "think_time=nan"),
    ],
)
def test_no_steady_state_or_no_sense(
    arguments: tuple[int, float, float, float], message: str
) -> None:
    for function in (mixed, bounds):
        with pytest.raises(UsageError, match=message):
            function(*arguments)


def test_law_without_closed_jobs() -> None:
    with pytest.raises(UsageError, match=r"throughput=0\.5: expected more than open_rate"):
        closed_response(3, 0.5, 0.5, 5)
