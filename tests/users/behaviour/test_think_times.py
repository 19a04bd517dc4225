"""How users react to response times: going on, and think times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_users.behaviour.think_times import PUBLISHED, ThinkTime, continuation

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(("minutes", "chance"), [(0, 0.8), (20, 0.4), (60, 0.2), (140, 0.1)])
def test_continuation(minutes: float, chance: float) -> None:
    """Of users who waited 20 minutes, half as many go on as of those who did not wait."""
    assert continuation(minutes) == pytest.approx(chance)


@pytest.mark.parametrize(
    ("text", "response", "think"),
    [
        ("c20", 0, 1_200),
        ("c20", 99_999, 1_200),
        ("c120", 5, 7_200),
        ("c240", 5, 14_400),
        ("c" + 300 * "9", 5, 6e301),
        ("constant:90.5", 5, 90.5),
        ("constant:0", 5, 0),
        ("lin", 0, 1_779),
        ("lin", 10_000, 6_605),
        ("linear:0.5:10", 100, 60),
        ("linear:-1:10", 4, 6),
        ("linear:-1:10", 11, 0),  # nobody thinks for less than nothing
    ],
)
def test_think_time(text: str, response: float, think: float) -> None:
    assert ThinkTime.parse(text)(response) == pytest.approx(think)


def test_published_example() -> None:
    """The mean response of the paper's first case (13,190 s) makes users think for 8,144 s."""
    assert PUBLISHED(13_190) == pytest.approx(8_144, abs=1)


@given(NUMBERS, NUMBERS)
def test_text_is_read_back(slope: float, intercept: float) -> None:
    function = ThinkTime(slope, intercept)
    assert ThinkTime.parse(str(function)) == function


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected lin"),
        ("c", "expected lin"),
        ("c2.5", "expected lin"),
        ("linear", "expected lin"),
        ("linear:1", "expected lin"),
        ("linear:1:2:3", "expected lin"),
        ("constant:1:2", "expected lin"),
        ("constant:x", "'x' is not a number"),
        ("linear:0.5:inf", "'inf' is not a number"),
        ("linear:nan:5", "'nan' is not a number"),
        ("constant:-1", "at least 0 s"),
        ("c" + 400 * "9", "is not a number"),
        ("c9" + 307 * "0", "too long a think time"),
    ],
)
def test_wrong_texts(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^think={text}: .*{message}"):
        ThinkTime.parse(text)
