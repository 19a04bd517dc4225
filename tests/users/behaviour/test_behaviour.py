"""How users think, when they work, how long their jobs run, and what is drawn for them."""

from __future__ import annotations

import json
from itertools import islice, pairwise
from math import nan
from pathlib import Path
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
from batsched_users.behaviour.empirical_distributions import (
    About,
    Probabilities,
    Quantiles,
    ks_distance,
    learn_quantiles,
    learn_shares,
    read_distribution,
    write_distribution,
)
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


# Empirical distributions -------------------------------------------------------------------------


ABOUT = About(name="waits", unit="seconds", description="made up", sources=("a", "b"), remarks="r")


def test_quantiles_lie_on_straight_lines() -> None:
    """Half of the values are from 0 to 10, half from 10 to 40; the mean is 0.5 * 5 + 0.5 * 25."""
    waits = Quantiles(ABOUT, ((0, 0), (0.5, 10), (1, 40)))
    assert [waits.quantile(p) for p in (0, 0.25, 0.5, 0.75, 1)] == [0, 5, 10, 25, 40]
    shares = [waits.share_below(v) for v in (-1, 0, 5, 10, 25, 40, 41)]
    assert shares == [0, 0, 0.25, 0.5, 0.75, 1, 1]
    assert waits.mean == 15


def test_sampling_at_least_a_value() -> None:
    """Of a uniform time from 0 to 100, those from 80 on are uniform from 80 to 100."""
    waits = Quantiles(ABOUT, ((0, 0), (1, 100)))
    random = Random(3)
    drawn = [waits.sample(random, least=80) for _ in range(20_000)]
    assert min(drawn) >= 80
    assert np.mean(drawn) == pytest.approx(90, abs=0.2)
    assert np.std(drawn) == pytest.approx(20 / 12**0.5, abs=0.1)
    assert waits.sample(random, least=120) == 120  # there is none: the bound itself
    lateness = Quantiles(ABOUT, ((0, -10), (1, 10)))
    assert np.mean([lateness.sample(random) for _ in drawn]) == pytest.approx(0, abs=0.2)
    assert np.mean([lateness.sample(random, least=0) for _ in drawn]) == pytest.approx(5, abs=0.1)


def test_a_table_by_hand() -> None:
    """1 with 50 %, 4 with 30 %, 8 with 20 %."""
    widths = Probabilities(ABOUT, ((1, 0.5), (4, 0.3), (8, 0.2)))
    assert [widths.quantile(p) for p in (0, 0.5, 0.51, 0.8, 0.81, 1)] == [1, 1, 4, 4, 8, 8]
    assert widths.mean == pytest.approx(3.3)
    assert widths.truncate(7).pairs == ((1, 0.625), (4, pytest.approx(0.375)))
    with pytest.raises(UsageError, match="up to 0"):
        widths.truncate(0)
    random = Random(1)
    drawn = [widths.sample(random) for _ in range(20_000)]
    assert [drawn.count(v) / 20_000 for v in (1, 4, 8)] == pytest.approx([0.5, 0.3, 0.2], abs=0.01)


def test_times_up_to_a_value() -> None:
    """Half of the values are up to 10; of those, half are up to 5."""
    waits = Quantiles(ABOUT, ((0, 2), (0.5, 10), (1, 40)))
    assert waits.truncate(10).pairs == ((0, 2), (1, 10))
    assert waits.truncate(25).pairs == ((0, 2), (pytest.approx(2 / 3), 10), (1, 25))
    assert waits.truncate(2).quantile(1) == 2
    assert waits.truncate(99) is waits
    with pytest.raises(UsageError, match="up to 1"):
        waits.truncate(1)


@given(
    st.lists(st.integers(0, 1000), min_size=5, max_size=40, unique=True),
    st.lists(st.integers(1, 999), min_size=1, max_size=3, unique=True),
    st.integers(0, 100),
)
def test_equal_parts_keep_proportions(values: list[int], borders: list[int], at: int) -> None:
    """Each part has its share, and the quantiles of a part are those that it had."""
    waits = learn_quantiles([0, *values, 1000], ABOUT)
    ends = sorted(borders)
    shares = [0.0, *map(waits.share_below, ends), 1.0]
    if not all(low < high for low, high in pairwise(shares)):
        with pytest.raises(UsageError):
            waits.balance_parts(*ends)
        return
    alike = waits.balance_parts(*ends)
    n = len(ends) + 1
    assert [alike.share_below(end) for end in ends] == pytest.approx([k / n for k in range(1, n)])
    for part, (low, high) in enumerate(pairwise(shares)):
        inside = 0.01 + 0.98 * at / 100
        own = waits.quantile(low + inside * (high - low))
        assert alike.quantile((part + inside) / n) == pytest.approx(own, rel=1e-6, abs=1e-6)


def test_distances_by_hand() -> None:
    """Half of the values are 10, where a uniform time from 0 to 40 has a quarter below.

    In a table, one of four is missing; and where all times are the same, so must the values be.
    """
    uniform = Quantiles(ABOUT, ((0, 0), (1, 40)))
    assert ks_distance([10, 10, 30, 40], uniform) == pytest.approx(0.25)
    widths = Probabilities(ABOUT, ((1, 0.5), (4, 0.25), (8, 0.25)))
    assert ks_distance([1, 1, 4, 8], widths) == 0
    assert ks_distance([1, 1, 1, 8], widths) == pytest.approx(0.25)
    assert ks_distance([2], widths) == pytest.approx(0.5)
    constant = Quantiles(ABOUT, ((0, 7), (1, 7)))
    assert ks_distance([7, 7], constant) == 0
    assert ks_distance([7, 8], constant) == pytest.approx(0.5)
    with pytest.raises(UsageError, match="no values"):
        ks_distance([], constant)


def test_weights_count() -> None:
    """A value with weight 3 is as good as three values."""
    assert learn_shares([5, 2], ABOUT, [3, 1]).pairs == ((2, 0.25), (5, 0.75))
    weighted = learn_quantiles([5, 2], ABOUT, [3, 1])
    assert weighted.pairs == learn_quantiles([5, 5, 5, 2], ABOUT).pairs
    assert weighted.about.observations == 2


LOGNORMAL = np.random.default_rng(5).lognormal(4.0, 2.5, 100_000)  # mean 1200, median 55


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60), st.floats(0, 1))
def test_below_undoes_quantile(values: list[int], probability: float) -> None:
    """On a rising line exactly; on a flat one it is where that begins."""
    learnt = learn_quantiles(values, ABOUT)
    value = learnt.quantile(probability)
    assert learnt.share_below(value) <= probability + 1e-9
    assert learnt.quantile(learnt.share_below(value)) == pytest.approx(value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "distribution", [learn_quantiles(LOGNORMAL, ABOUT), learn_shares([1, 1, 3, 2.5], ABOUT)]
)
def test_files_keep_everything(tmp_path: Path, distribution: Quantiles | Probabilities) -> None:
    """What is read is what was written; the file is a JSON object that others can read."""
    path = tmp_path / "new" / "waits.json"
    write_distribution(path, distribution)
    read = read_distribution(path)
    assert type(read) is type(distribution)
    assert read.about == distribution.about
    assert read.pairs == distribution.pairs
    assert json.loads(path.read_text())["sources"] == ["a", "b"]


HEAD = '{"name": "n", "unit": "s"'
DESCRIBED = ', "description": ""'


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("}", "`description`"),
        (DESCRIBED + "}", "quantiles or probabilities"),
        (DESCRIBED + ', "quantiles": [[0, 1]]}', "from 0 to 0"),
        (DESCRIBED + ', "quantiles": [[0, 1], [0, 2], [1, 2]]}', r"\[0.0, 2.0\] follows"),
        (DESCRIBED + ', "quantiles": [[0, 2], [1, 1]]}', "do not ascend"),
        (DESCRIBED + ', "probabilities": [[1, 0.5]]}', "sum 0.5"),
        (DESCRIBED + ', "probabilities": [[1, 1.5], [2, -0.5]]}', "numbers >= 0"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, rest: str, message: str) -> None:
    path = tmp_path / "waits.json"
    path.write_text(HEAD + rest)
    with pytest.raises(InputError, match=message) as caught:
        read_distribution(path)
    assert str(path) in str(caught.value)


def test_no_file_and_no_values() -> None:
    with pytest.raises(UsageError, match=r"nowhere\.json"):
        read_distribution("nowhere.json")
    for learn in (learn_quantiles, learn_shares):
        with pytest.raises(UsageError, match="no values"):
            learn([], ABOUT)
