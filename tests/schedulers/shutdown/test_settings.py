from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.schedulers.shutdown.settings import Shutdown, count_processors, parse_shutdown


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("idle_time=600,keep=10", Shutdown(idle_time=600, keep=10)),
        ("idle_time=10 min,keep=10%", Shutdown(idle_time=600, keep="10%")),
        ("idle_time=1 h,keep=2.5%", Shutdown(idle_time=3600, keep="2.5%")),
        (
            "idle_time=0,rule=inertial,period=5 min",
            Shutdown(idle_time=0, rule="inertial", period=300),
        ),
        (
            "rule=proportional,period=60,awake=34%",
            Shutdown(rule="proportional", period=60, awake="34%"),
        ),
        (
            "rule=inertial,period=60,growth=one,load_bound=1 h",
            Shutdown(rule="inertial", period=60, growth="one", load_bound=3600),
        ),
        ("idle_time=inf", Shutdown()),
        ("", Shutdown()),
        (None, None),
    ],
)
def test_texts(given, expected):
    assert parse_shutdown(given) == expected
    if expected is not None:
        assert parse_shutdown(str(expected)) == expected == parse_shutdown(expected)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("idle_tme=3", "did you mean 'idle_time'"),
        ("idle_time=nan", "idle_time = nan: expected a number, at least 0"),
        ("idle_time=-3", "idle_time = -3"),
        ("idle_time=soon", "expected a time"),
        ("rule=propotional", "did you mean 'proportional'"),
        ("keep=101%", "a whole number of processors or a share such as 10%"),
        ("keep=-1", "keep = -1"),
        ("keep=1.5", "keep = 1.5"),
        ("keep=nan", "keep = nan"),
        ("keep=1e30", "keep = 1e.30"),
        ("keep", "expected NAME=NUMBER"),
        ("rule=inertial", "rule = inertial: expected a period above 0"),
        ("awake=3", "awake: only the rule proportional has it, not idle"),
        ("rule=proportional,period=9,growth=one", "growth: only the rule inertial has it"),
        ("rule=inertial,period=60,growth=two", "growth = 'two'"),
    ],
)
def test_nonsense_is_refused(given, words):
    with pytest.raises(UsageError, match=words):
        parse_shutdown(given)


@given(st.integers(0, 10_000), st.integers(1, 10**6))
def test_a_share_keeps_at_least_that_share(thousandths, size):
    kept = count_processors(f"{thousandths / 100:.2f}%", size)
    assert 0 <= kept - Fraction(thousandths, 10_000) * size < 1


def test_a_number_is_at_most_the_machine():
    assert [count_processors(10, size) for size in (4, 40)] == [4, 10]
