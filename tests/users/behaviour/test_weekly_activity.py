"""Activity cycles: windows by hand, a twin that steps by minutes, and the shares drawn."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.units import DAY, HOUR, WEEK
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.weekly_activity import (
    EVENING,
    MORNING,
    WEEKDAYS,
    WEEKEND,
    ActivityCycle,
)

MINUTE = 60.0
MONDAY = Calendar()
DAY_USER = ActivityCycle(MORNING, EVENING, WEEKDAYS)
NIGHT_USER = ActivityCycle(EVENING, MORNING, WEEKDAYS)


def test_equal_times_are_a_window_of_a_whole_day() -> None:
    """From Saturday noon until Monday noon, without a gap at noon on Sunday."""
    cycle = ActivityCycle(12 * HOUR, 12 * HOUR, WEEKEND)
    hours = [hour for hour in range(8 * 24) if cycle.is_open(MONDAY, hour * HOUR)]
    # Monday morning at the beginning belongs to the Sunday before.
    assert hours == [*range(12), *range(5 * 24 + 12, 7 * 24 + 12)]


def stepped(cycle: ActivityCycle, calendar: Calendar, time: float) -> float:
    """The next opening by steps of a minute: written from the words, slowly."""
    while True:
        week_minute = round((time + calendar.at_origin) / MINUTE)
        for opening_day in cycle.days:
            opening = round((opening_day * DAY + cycle.opens) / MINUTE)
            length = round((cycle.closes - cycle.opens) / MINUTE) % 1440 or 1440
            if (week_minute - opening) % (7 * 1440) < length:
                return time
        time += MINUTE


minutes_of_day = st.integers(0, 1439).map(lambda minute: minute * MINUTE)
cycles = st.builds(
    ActivityCycle,
    minutes_of_day,
    minutes_of_day,
    st.frozensets(st.integers(0, 6), min_size=1),
)


@given(
    cycles,
    st.integers(0, 7 * 1440 - 1).map(lambda m: Calendar(m * MINUTE)),
    st.integers(-20_000, 60_000).map(lambda minute: minute * MINUTE),
)
@example(DAY_USER, MONDAY, MORNING)  # open at the very opening
@example(DAY_USER, MONDAY, 4 * DAY + EVENING)  # closed at the very closing: Monday
@example(NIGHT_USER, MONDAY, 3 * HOUR)  # Monday at 3: that night began on Sunday
@example(NIGHT_USER, MONDAY, 5 * DAY + MORNING)  # closed at the closing, on Saturday
@example(NIGHT_USER, MONDAY, EVENING)
def test_same_as_stepping_by_minutes(cycle: ActivityCycle, calendar: Calendar, time: float) -> None:
    expected = stepped(cycle, calendar, time)
    assert cycle.next_opening(calendar, time) == expected
    assert cycle.is_open(calendar, time) == (expected == time)


@given(
    cycles,
    st.floats(0, WEEK, exclude_max=True).map(Calendar),
    st.floats(0, 520 * WEEK),
)
def test_the_window_is_open_at_its_opening(
    cycle: ActivityCycle, calendar: Calendar, time: float
) -> None:
    """Fractions of seconds, in the calendar and in time, do not miss the opening."""
    opening = cycle.next_opening(calendar, time)
    assert cycle.is_open(calendar, opening)
    assert time <= opening <= time + WEEK + 1e-5
    assert cycle.next_opening(calendar, opening) == opening


def test_shares_of_users_drawn() -> None:
    """20,000 users: 70 % by day, 80 % on weekdays, independent; shifts uniform within an hour."""
    random = Random(1)
    drawn = [ActivityCycle.draw(random) for _ in range(20_000)]
    by_day = [cycle for cycle in drawn if cycle.opens < cycle.closes]
    assert len(by_day) / len(drawn) == pytest.approx(0.7, abs=0.01)
    weekdays = sum(cycle.days == WEEKDAYS for cycle in drawn) / len(drawn)
    assert weekdays == pytest.approx(0.8, abs=0.01)
    both = sum(cycle.days == WEEKDAYS for cycle in by_day) / len(drawn)
    assert both == pytest.approx(0.56, abs=0.012)
    shifts = [cycle.opens - MORNING for cycle in by_day]
    assert min(shifts) >= -HOUR
    assert max(shifts) <= HOUR
    assert sum(shift < -HOUR / 2 for shift in shifts) / len(shifts) == pytest.approx(0.25, abs=0.02)
    assert sum(shift < 0 for shift in shifts) / len(shifts) == pytest.approx(0.5, abs=0.02)
    for cycle in drawn:  # one shift moves both ends
        length = 10 * HOUR if cycle.opens < cycle.closes else 14 * HOUR
        assert (cycle.closes - cycle.opens) % DAY == length
        assert cycle.days in (WEEKDAYS, WEEKEND)


@pytest.mark.parametrize(
    ("opens", "closes", "days", "message"),
    [
        (-1.0, 5.0, WEEKDAYS, "opens=-1.0"),
        (0.0, DAY, WEEKDAYS, "closes=86400.0: expected seconds below 86400"),
        (float("nan"), 5.0, WEEKDAYS, "opens=nan"),
        (0.0, 5.0, frozenset(), r"days=\[\]"),
        (0.0, 5.0, frozenset((7,)), r"days=\[7\]: expected some of 0 \(Monday\)"),
    ],
)
def test_wrong_windows_are_refused(
    opens: float, closes: float, days: frozenset[int], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        ActivityCycle(opens, closes, days)
