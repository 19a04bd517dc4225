"""Queues in closed form and simulated: printed tables, slow twins and what must hold always."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import comb, factorial, inf, isnan

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_users.analytic.mixed_queue import bounds, closed_response, mixed
from batsched_users.analytic.reopen_queue import (
    Reopen,
    constant,
    exponential,
    hyperbola,
    reopen,
    solve_constant,
)
from batsched_users.behaviour.think_times import continuation

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
    assert both.closed_queue == pytest.approx(both.closed_response * both.closed_throughput)
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


@pytest.mark.parametrize("system", [(4, 0.5, 5, 1), (6, 1.2, 0.25, 2), (5, 0.3, 0, 0.5)])
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
    assert points[0].closed_response == pytest.approx(1 / (service_rate - open_rate))
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
        by_law = closed_response(n, point.throughput, open_rate, think_time)
        around = point.closed_response + think_time
        assert think_time <= 0.01 or by_law == pytest.approx(
            point.closed_response, abs=1e-6 * around
        )
        # The asymptotes cross at the knee
        assert (n < limits.knee) == (slowed > full) or n == pytest.approx(limits.knee)
    for point, more in pairwise(points):
        assert more.closed_response == pytest.approx(point.open_response)  # one user more
        assert more.closed_response * slack >= point.closed_response
        assert more.throughput * slack >= point.throughput


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2.5, 0.5, 5, 1), "nb_users=2.5"),
        ((3, 1, 5, 1), "open_rate=1: .*service_rate=1"),
        ((3, -0.1, 5, 1), "open_rate=-0.1"),
        ((3, 0.5, -1, 1), "think_time=-1"),
    ],
)
def test_no_steady_state_or_no_sense(
    arguments: tuple[int, float, float, float], message: str
) -> None:
    for function in (mixed, bounds):
        with pytest.raises(UsageError, match=message):
            function(*arguments)
    with pytest.raises(UsageError, match=r"throughput=0\.5"):
        closed_response(3, 0.5, 0.5, 5)


HYPERBOLA = hyperbola(10)
"""In services of 10 minutes."""


def test_hyperbola_by_hand() -> None:
    assert [HYPERBOLA(r) for r in (0, 0.5, 5)] == pytest.approx([0.8, 0.64, 0.2286], abs=5e-5)
    assert hyperbola()(20) == continuation(20)


def approx(means: Reopen, rel: float) -> dict[str, object]:
    return {
        name: pytest.approx(value, rel=rel, nan_ok=True)
        for name, value in msgspec.structs.asdict(means).items()
    }


# p, X and R with open_rate 0.5, service_rate 1
CONSTANT = [
    (0.1, 0.5556, 2.25),
    (0.4, 0.8333, 6.0),
    (0.47, 0.9434, 17.667),
]


@pytest.mark.parametrize(("p", "throughput", "response"), CONSTANT)
def test_constant_in_closed_form(p: float, throughput: float, response: float) -> None:
    exact = solve_constant(0.5, p)
    assert exact.throughput == pytest.approx(throughput, abs=5e-5)
    assert exact.mean_response == pytest.approx(response, abs=5e-4)
    assert exact.utilisation == exact.throughput
    assert exact.jobs_per_user == pytest.approx(1 / (1 - p))


@pytest.mark.parametrize(
    ("p", "think_time", "printed"), [(0.0, 1, 0.5), (0.36, 0.1, 0.222), (0.36, 10, 0.124)]
)
def test_constant_simulated(p: float, think_time: float, printed: float) -> None:
    """The think time changes the throughput per user only.

    What is printed of that is from a simulation; the closed form is 1 to 2.5 % below.
    """
    exact = solve_constant(0.5, p, think_time=think_time)
    assert printed / 1.025 < exact.throughput_per_user <= printed
    means = reopen(0.5, constant(p), think_time=think_time, nb_users=60_000)
    assert exact.mean_of_user_throughputs == inf
    expected = approx(exact, 0.05) | {"mean_of_user_throughputs": means.mean_of_user_throughputs}
    assert msgspec.structs.asdict(means) == expected
    assert means.throughput == pytest.approx(exact.throughput, rel=0.02)
    assert isnan(means.continued_run_time) == (p == 0)


# Model, users by service time, then X, R, jobs per user, throughput per user and the mean run
# times of continued and of last jobs; service_rate 1, think time 1
ADAPTIVE = """
exponential 0.1 0.184  1.18 1.845 0.610 0.500 1.42
exponential 0.3 0.477  1.66 1.590 0.492 0.500 1.29
exponential 0.5 0.692  2.44 1.385 0.369 0.500 1.19
exponential 0.7 0.850  4.02 1.214 0.238 0.500 1.11
exponential 0.9 0.960 10.9  1.067 0.091 0.498 1.03
hyperbola   0.1 0.221  1.24 2.217 0.560 0.775 1.27
hyperbola   0.3 0.573  1.96 1.911 0.412 0.790 1.19
hyperbola   0.5 0.811  3.34 1.621 0.269 0.811 1.12
hyperbola   0.7 0.947  6.68 1.353 0.144 0.848 1.05
hyperbola   0.9 0.998 23.7  1.108 0.042 0.91  1.01
"""
MODELS: dict[str, Callable[[float], float]] = {
    "exponential": exponential(),
    "hyperbola": HYPERBOLA,
}


def test_units_and_single_users() -> None:
    """In a unit of time a tenth as long, rates are a tenth and times are ten times as large."""
    means = reopen(0.5, constant(0.7), think_time=3, nb_users=300)
    scaled = reopen(0.05, constant(0.7), think_time=30, service_rate=0.1, nb_users=300)
    factors = dict.fromkeys(("jobs_per_user", "utilisation", "mean_queue"), 1.0)
    factors |= dict.fromkeys(("mean_response", "continued_run_time", "last_run_time"), 10)
    for name, value in msgspec.structs.asdict(means).items():
        assert getattr(scaled, name) == pytest.approx(value * factors.get(name, 0.1)), name
    assert means.mean_queue == pytest.approx(means.throughput * means.mean_response)  # Little
    single = reopen(0.5, constant(0.7), nb_users=1)
    assert single.mean_of_user_throughputs == pytest.approx(single.throughput_per_user)
    assert means.mean_of_user_throughputs > means.throughput_per_user


SPREAD = {0.1: 0.012, 0.3: 0.03, 0.5: 0.05, 0.7: 0.11, 0.9: 0.24}
"""Of R with 60,000 users: four standard deviations, measured over 20 seeds."""


@pytest.mark.parametrize("line", ADAPTIVE.strip().splitlines())
def test_adaptive(line: str) -> None:
    """The table is of 600,000 users; these are a tenth."""
    name, *numbers = line.split()
    open_rate, x, response, jobs, per_user, continued, last = map(float, numbers)
    means = reopen(open_rate, MODELS[name], nb_users=60_000)
    assert means.mean_response == pytest.approx(response, rel=SPREAD[open_rate])
    assert means.throughput_per_user == pytest.approx(per_user, rel=SPREAD[open_rate])
    assert means.throughput == pytest.approx(x, rel=0.02)
    assert means.jobs_per_user == pytest.approx(jobs, rel=0.02)
    assert means.continued_run_time == pytest.approx(continued, rel=0.04)
    assert means.last_run_time == pytest.approx(last, rel=0.02)
    assert means.last_run_time > means.continued_run_time


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: constant(-0.1), "probability=-0.1"),
        (lambda: exponential(0), "unit=0"),
        (lambda: hyperbola(-1), "minutes=-1"),
        (lambda: reopen(1, HYPERBOLA), "open_rate=1"),
        (lambda: reopen(0.5, HYPERBOLA, think_time=-1), "think_time=-1"),
        (lambda: reopen(0.5, HYPERBOLA, nb_users=0), "nb_users=0"),
        (lambda: reopen(0.5, HYPERBOLA, seed=-1), "seed=-1"),
        (lambda: solve_constant(0.5, 0.5), "= 0.5;"),
        (lambda: solve_constant(0.5, 1), "never leave"),
    ],
)
def test_no_sense(call: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()
