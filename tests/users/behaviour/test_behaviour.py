"""How users think, when they work, how long their jobs run, and users on an ideal machine."""

from __future__ import annotations

from itertools import islice
from math import nan
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from batsched_py.errors import BudgetError, InputError, InvariantError, UsageError
from batsched_py.model.endless_work import SubmissionWatch
from batsched_py.options.budgets import Budgets
from batsched_py.units import DAY, HOUR, WEEK
from batsched_py.workload import WorkloadJob
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.job_profiles import RunTimeProfiles, name_profile, run_time_of
from batsched_users.behaviour.think_times import ThinkTime, continuation
from batsched_users.behaviour.weekly_activity import (
    EVENING,
    MORNING,
    WEEKDAYS,
    WEEKEND,
    ActivityCycle,
)
from batsched_users.learning.ideal_machine import play_model
from helpers import endless
from helpers.drawn_sessions import log_of

LOG = log_of([])
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("text", "response", "think"),
    [
        ("c20", 0, 1_200),
        ("c120", 5, 7_200),
        ("c" + 300 * "9", 5, 6e301),
        ("constant:0", 5, 0),
        ("lin", 10_000, 6_605),
        ("lin", 13_190, 8_144),  # the mean response of the paper's first case
        ("linear:0.5:10", 100, 60),
        ("linear:-1:10", 11, 0),  # nobody thinks for less than nothing
    ],
)
def test_think_time(text: str, response: float, think: float) -> None:
    assert ThinkTime.parse(text)(response) == pytest.approx(think, abs=0.5)


@given(NUMBERS, NUMBERS)
def test_text_is_read_back(slope: float, intercept: float) -> None:
    function = ThinkTime(slope, intercept)
    assert ThinkTime.parse(str(function)) == function


def test_continuation() -> None:
    """Of users who waited 20 minutes, half as many go on as of those who did not wait."""
    assert [continuation(m) for m in (0, 20, 60, 140)] == pytest.approx([0.8, 0.4, 0.2, 0.1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected lin"),
        ("constant:x", "'x'"),
        ("constant:-1", "0 s"),
        ("c" + 400 * "9", "not a number"),
        ("c9" + 307 * "0", "too long"),
    ],
)
def test_wrong_texts(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=f"^think={text}: .*{message}"):
        ThinkTime.parse(text)


MINUTE = 60.0
MONDAY = Calendar()
DAY_USER = ActivityCycle(MORNING, EVENING, WEEKDAYS)
NIGHT_USER = ActivityCycle(EVENING, MORNING, WEEKDAYS)


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
@example(ActivityCycle(EVENING, EVENING, WEEKEND), MONDAY, 6 * DAY + EVENING)  # no gap on Sunday
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
    below = [np.mean(np.array(shifts) < bound) for bound in (-HOUR / 2, 0)]
    assert below == pytest.approx([0.25, 0.5], abs=0.02)
    for cycle in drawn:  # one shift moves both ends
        length = 10 * HOUR if cycle.opens < cycle.closes else 14 * HOUR
        assert (cycle.closes - cycle.opens) % DAY == length
        assert cycle.days in (WEEKDAYS, WEEKEND)


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ((-1.0, 5.0, WEEKDAYS), "opens=-1.0"),
        ((0.0, DAY, WEEKDAYS), "closes=86400.0"),
        ((0.0, 5.0, frozenset()), r"days=\[\]"),
        ((0.0, 5.0, frozenset((7,))), r"days=\[7\]"),
    ],
)
def test_wrong_windows_are_refused(window: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ActivityCycle(*window)


@pytest.mark.parametrize(
    ("profile", "seconds"),
    [
        ({"type": "delay", "delay": 7}, 7),
        ({"type": "parallel_homogeneous", "cpu": 5e9, "com": 0}, 5),
        ({"type": "parallel_homogeneous", "cpu": 5e9}, 5),
        ({"type": "parallel_homogeneous", "cpu": 5e9, "com": 1e6}, np.nan),  # and the network
        ({"type": "parallel_homogeneous_total", "cpu": 5e9}, np.nan),  # by the number of processors
        ({"type": "parallel", "cpu": [5e9]}, np.nan),
        ({"type": "delay"}, np.nan),
        ({}, np.nan),
    ],
)
def test_run_times(profile: dict[str, Any], seconds: float) -> None:
    np.testing.assert_equal(run_time_of(profile), seconds)


def test_calendars_of_clocks() -> None:
    """1970 began on a Thursday; unknown clocks are taken as Monday 0:00."""
    assert Calendar.of_clock(0.0, "+01:00") == Calendar((3 * 24 + 1) * HOUR, zone="+01:00")
    assert Calendar.of_clock(None, "+01:00") == Calendar(0.0, known=False, zone="+01:00")
    with pytest.raises(InputError, match="time zone 'Mars'"):
        Calendar.of_clock(0.0, "Mars")


def test_jobs_start_at_once_and_their_users_learn_of_the_end() -> None:
    """Each job takes 5 s, and the next one comes a second after it."""
    played = islice(play_model(endless.Users(LOG)), 3)
    assert [(p.job.id, p.submit, p.end) for p in played] == [
        ("1", 0, 5),
        ("2", 6, 11),
        ("3", 12, 17),
    ]


def test_what_would_never_end_is_refused() -> None:
    class Stuck(endless.Users):
        def jobs_to_submit(self, now: float) -> list[WorkloadJob]:
            return []

    watch = SubmissionWatch(Budgets(jobs_at_once=1000))
    undecided = endless.Users(LOG)
    undecided.due = nan
    for users, message in (
        (Stuck(LOG), "still due"),
        (endless.NoEndOfJobs(LOG), "1001 jobs"),
        (undecided, "nan"),
    ):
        with pytest.raises((InvariantError, BudgetError), match=message):
            list(play_model(users, lambda _, now: now + 1, watch))


@pytest.mark.parametrize("run_time", [0, 0.5, 1234567.25])
def test_a_run_time_is_computed_on_the_machine_of_the_log(run_time: float) -> None:
    profile = RunTimeProfiles()[name_profile(run_time)]
    assert profile == {"type": "parallel_homogeneous", "cpu": run_time * 1e9, "com": 0}
    for name in ("", "r", "rx", "r-1", "rnan", "rinf", "delay"):
        assert name not in RunTimeProfiles()
