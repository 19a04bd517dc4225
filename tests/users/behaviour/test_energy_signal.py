"""What users are told of the energy: hours, files, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import BatschedError, UsageError
from batsched_py.units import DAY, HOUR
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.energy_signal import (
    GREEN,
    RED,
    STATES,
    YELLOW,
    EnergySignal,
    read_signal,
)

Write = Callable[[str], str]
MONDAY = Calendar()
"""Second 0 is a Monday, 0:00."""


def test_a_window_across_midnight_and_another() -> None:
    signal = read_signal("22:00-2:00, 8:00-9:00", MONDAY)
    hours = [hour for hour in range(24) if signal.state(hour * HOUR) == RED]
    assert hours == [0, 1, 8, 22, 23]
    assert signal.better_from(23 * HOUR) == 26 * HOUR
    assert signal.spans(RED, 20 * HOUR, DAY + 12 * HOUR) == [
        (22 * HOUR, 26 * HOUR),
        (32 * HOUR, 33 * HOUR),
    ]
    later = read_signal("16:00-20:00", Calendar(at_origin=15 * HOUR))  # second 0 is 15:00
    assert later.spans(RED, 0, DAY) == [(HOUR, 5 * HOUR)]


STATES_FILE = "time,state\n100,yellow\n200,red\n300,green\n400,yellow\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def file(text: str) -> str:
        path = tmp_path / "signal.csv"
        path.write_text(text)
        return str(path)

    return file


def test_states_of_a_file(write: Write) -> None:
    """The last row lasts as long as the one before it; before and after all is green."""
    signal = read_signal(write(STATES_FILE), MONDAY)
    times = (0, 100, 250, 300, 499, 500)
    assert [signal.state(t) for t in times] == [GREEN, YELLOW, RED, GREEN, YELLOW, GREEN]
    assert signal.better_from(150) == 300  # red is no better than yellow
    assert signal.better_from(250) == 300
    assert signal.better_from(450) == 500
    assert signal.spans(GREEN, 0, 600) == [(0, 100), (300, 400), (500, 600)]


def test_values_and_thresholds(write: Write) -> None:
    """A threshold is in the worse state; only one of them is enough."""
    file = write("time,gCO2/kWh\n0,100\n10,200\n20,300\n30,299.9\n")
    signal = read_signal(file, MONDAY, yellow_from=200, red_from=300)
    assert list(signal.states) == [GREEN, YELLOW, RED, YELLOW]
    assert list(read_signal(file, MONDAY, red_from=250).states) == [GREEN, GREEN, RED, RED]


PARIS = Calendar.of_clock(1705273200.0, "Europe/Paris")
"""Second 0 is Monday, 2024-01-15, 0:00 in Paris (of winter)."""


@pytest.mark.parametrize(
    "times",
    [
        ("2024-01-16T06:00", "2024-01-16T07:00"),
        ("2024-01-16T06:00+01:00", "2024-01-16T06:00Z"),
        ("1705381200", "1705384800"),
        ("2024-07-16T06:00+02:00", "2024-07-16T05:00Z"),
    ],
)
def test_instants_are_put_on_the_logs_clock(write: Write, times: tuple[str, str]) -> None:
    """A Tuesday, 6:00 in Paris, however a file says it, in winter and in summer."""
    signal = read_signal(write("time,state\n{},red\n{},green\n".format(*times)), PARIS)
    assert signal.spans(RED, 0, 7 * DAY) == [(DAY + 6 * HOUR, DAY + 7 * HOUR)]


def test_a_night_of_25_hours(write: Write) -> None:
    """By Unix time each row is an hour, also when clocks show 2:00 twice; in local time they do."""
    night = "2023-10-29T{}:00+0{}:00,{}\n"
    rows = [("01", 2, GREEN), ("02", 2, GREEN), ("02", 1, RED), ("03", 1, GREEN)]
    text = "time,state\n" + "".join(night.format(*row) for row in rows)
    (red,) = read_signal(write(text), PARIS).spans(RED, 0, 7 * DAY)
    assert red == (6 * DAY + 3 * HOUR, 6 * DAY + 4 * HOUR)  # an hour after 2:00, by summer's clock
    without = text.replace("+02:00", "").replace("+01:00", "")
    with pytest.raises(BatschedError, match=r":4: .*summer time"):
        read_signal(write(without), PARIS)


def test_values_within(write: Write) -> None:
    """Each with the time that it lasts, over a gap too; before and after the file there is none."""
    file = write("time,price\n0,1\n3600,2.5\n10800,4\n")
    signal = read_signal(file, MONDAY, red_from=2)
    assert signal.values_within(-100, 5000) == ([(0, 3600), (3600, 5000)], [1, 2.5])
    assert signal.values_within(9000, 1e6) == ([(9000, 10800), (10800, 18000)], [2.5, 4])
    again = read_signal(file, MONDAY, red_from=2, repeats=True)
    assert again.values_within(17000, 19000) == ([(17000, 18000), (18000, 19000)], [4, 1])
    with pytest.raises(UsageError, match="no values"):
        read_signal("16:00-20:00", MONDAY).values_within(0, 1)


PRICES = "time,price\n0,1\n1,2\n"
FALLING = "time,price\n0,3\n1,2\n"
SHORT = "time,state\n1e6,red\n1000001,green\n"
LATE = "time,price\n1e13,1\n2e13,3\n"


@pytest.mark.parametrize(
    ("signal", "limits", "said"),
    [
        ("16:00-16:00", {}, "two different"),
        ("16:00-24:30", {}, "'24:30'"),
        ("25:00-26:00", {}, "'25:00'"),
        ("16:00-20:00,8-9", {}, "'8'"),
        ("no.csv", {}, "no file"),
        ("16:00-20:00", {"red_from": 3.0}, "from a file"),
        ("hour,state\n", {}, ":1: expected"),
        ("time,state\n0,red\n10,redd\n", {}, ":3: state 'redd'.*'red'"),
        ("time,state\n0,red\nnoon,green\n", {}, ":3: time 'noon'"),
        ("time,state\n10,red\n10,green\n", {}, ":3: the time 10"),
        ("time,state\n10,red,1\n20,green\n", {}, ":2: .*two fields"),
        ("time,state\n0,red\n", {}, "seen 1"),
        ("time,state\n2024-01-16T06:00,red\n2024-01-16T06:00Z,red\n", {}, ":3: .*offset"),
        ("time,state\n1705276800000,red\n1705276900000,red\n", {}, ":2: .*calendar"),
        ("time,state\n2023-10-29T02:45,red\n2023-10-29T02:00,red\n", {}, ":3: .*summer time"),
        ("time,state\n2024-01-15T00:00Z,red\n2024-01-15T01:00Z,red\n", {}, ":2: .*UnixStartTime"),
        (PRICES, {}, "give red_from"),
        (PRICES, {"red_from": 300, "yellow_from": 300}, "red_from=300: never yellow"),
        (PRICES, {"red_from": 300, "yellow_from": -inf}, "yellow_from=-inf"),
        (PRICES + "2,n/e\n", {"red_from": 2}, ":4: 'n/e' .*'price'"),
        # A round of seconds would be gone through for ever, and last digits lose a short state.
        (FALLING, {"red_from": 2, "repeats": True}, "longer time"),
        (SHORT, {"repeats": True}, "longer time"),
        ("time,state\n-1e308,red\n1e308,green\n", {}, "longer time"),
        (LATE, {"red_from": 2, "repeats": True}, "expected"),
    ],
)
def test_wrong_signals_are_told(
    write: Write, signal: str, limits: dict[str, Any], said: str
) -> None:
    """One of them by a log that does not say when it begins."""
    calendar = Calendar.of_clock(None) if "UnixStartTime" in said else MONDAY
    with pytest.raises(BatschedError, match=said):
        read_signal(write(signal) if "\n" in signal else signal, calendar, **limits)


@pytest.mark.parametrize(
    ("rows", "days"),
    [
        ("2024-01-15T00:00,green\n2024-01-15T17:00,red\n2024-01-15T21:00,green\n", 1),
        ("2024-01-15T12:00,green\n2024-01-15T17:00,red\n2024-01-16T11:00,green\n", 1),
        ("2024-01-15,green\n2024-01-16,red\n2024-01-17,green\n", 3),
    ],
)
def test_dates_come_again_at_the_same_times_of_day(write: Write, rows: str, days: int) -> None:
    """A round is of whole days, however long the last change is ago then."""
    signal = read_signal(write("time,state\n" + rows), MONDAY, repeats=True)
    assert signal.times[-1] - signal.times[0] == days * DAY
    reds = signal.spans(RED, 12 * HOUR, 8 * days * DAY)
    assert {begin % DAY for begin, _ in reds} == {reds[0][0] % DAY}


@given(
    steps=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    data=st.data(),
    repeats=st.booleans(),
    first=st.integers(-7, 7),
)
def test_spans_and_better_are_the_states(
    steps: list[int], data: st.DataObject, repeats: bool, first: int
) -> None:
    """Second by second, from the state alone: when it is what, and when it gets better."""
    times = [float(first + sum(steps[:n])) for n in range(len(steps) + 1)]
    states = [data.draw(st.sampled_from(STATES)) for _ in steps]
    signal = EnergySignal(times, states, repeats)
    seconds = range(-10, 60)
    told = [signal.state(second) for second in seconds]
    for state in STATES:
        spans = signal.spans(state, seconds[0], seconds[-1])
        inside = {s for begin, end in spans for s in range(int(begin), int(end))}
        assert inside == {
            s for s, is_told in zip(seconds[:-1], told, strict=False) if is_told == state
        }
        assert all(a[1] < b[0] for a, b in pairwise(spans))
    for place, second in enumerate(seconds[:20]):
        bad = STATES.index(told[place])
        later = (s for s, is_told in zip(seconds, told, strict=True) if s > second)
        better = [s for s in later if STATES.index(told[s - seconds[0]]) < bad]
        assert signal.better_from(second) == (better[0] if better else inf)
        if signal.never_better(told[place]):
            assert not better


@given(
    steps=st.lists(st.floats(0.001, 9000), min_size=1, max_size=6),
    data=st.data(),
    first=st.floats(-1e5, 1e5),
    now=st.floats(-1e6, 1e8),
    part=st.floats(0, 1, exclude_max=True),
)
def test_better_is_better_by_the_last_digit(
    steps: list[float], data: st.DataObject, first: float, now: float, part: float
) -> None:
    """In rounds of seconds with fractions: later, better, and not before."""
    times = [first + sum(steps[:n]) for n in range(len(steps) + 1)]
    states = [data.draw(st.sampled_from(STATES)) for _ in steps]
    signal = EnergySignal([*times, times[-1] + HOUR], [*states, RED], repeats=True)
    bad = STATES.index(signal.state(now))
    better = signal.better_from(now)
    if better < inf:
        assert now < better < now + 2 * (signal.times[-1] - first)
        assert STATES.index(signal.state(better)) < bad
        before = now + part * (better - now)
        assert before > better - 1e-6 or STATES.index(signal.state(before)) >= bad
    else:
        assert signal.never_better(STATES[bad])
