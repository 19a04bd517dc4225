from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.schedulers.shutdown.settings import parse_power
from batsched_py.workload.processor_power import ProcessorPower

TAURUS = (
    "idle_watts=95,computing_watts=190.738,asleep_watts=9.75,"
    "off_seconds=6.1,off_joules=620,on_seconds=152,on_joules=19030"
)


def test_a_text_gives_every_value():
    power = parse_power(TAURUS)
    assert power == ProcessorPower(
        idle_watts=95,
        computing_watts=190.738,
        asleep_watts=9.75,
        off_seconds=6.1,
        on_seconds=152,
        off_joules=620,
        on_joules=19030,
    )
    assert power.can_sleep
    assert parse_power(str(power)) == power == parse_power(power)


def test_units_of_time():
    expected = ProcessorPower(off_seconds=60, on_seconds=5)
    assert parse_power("off_seconds=1 min,on_seconds=5") == expected


@pytest.mark.parametrize(
    ("text", "can_sleep"),
    [
        ("idle_watts=95,computing_watts=200,asleep_watts=9", False),
        ("off_seconds=6,on_seconds=3", True),
        (TAURUS, True),
        ("idle_watts=95", False),
    ],
)
def test_what_can_sleep(text, can_sleep):
    assert parse_power(text).can_sleep is can_sleep


@pytest.mark.parametrize(
    ("power", "words"),
    [
        ("idle_wats=95", "no 'idle_wats' .did you mean 'idle_watts'"),
        ("", "nothing is given"),
        ("idle_watts", "expected NAME=NUMBER"),
        ("idle_watts=hot", "idle_watts = 'hot': expected a number"),
        ("idle_watts=-1", "idle_watts = -1: expected a number from 0"),
        ("idle_watts=nan", "idle_watts = nan"),
        ("idle_watts=inf", "idle_watts = inf"),
        ("on_joules=1e300", "on_joules = 1e.300: expected a number from 0 to 1e.15"),
        ("off_seconds=0,on_seconds=3", "off_seconds = 0: expected a number above 0"),
        ("off_seconds=3,on_seconds=1e-320", "on_seconds = 1e-320"),
        ("off_seconds=3,on_seconds=1e11", "up to 1e.10"),
        ("off_seconds=3", "off_seconds without on_seconds: expected both or none"),
        ("on_seconds=3,on_joules=5", "on_seconds without off_seconds"),
        ("idle_watts=1,idle_watts=2", "was given twice"),
    ],
)
def test_nonsense_is_refused(power, words):
    with pytest.raises(UsageError, match=words):
        parse_power(power)


@given(st.floats(1e-9, 1e10), st.floats(1e-9, 1e10))
def test_seconds_survive_being_a_speed(off, on):
    power = ProcessorPower(off_seconds=off, on_seconds=on)
    assert power.off_seconds == pytest.approx(off, rel=1e-15)
    for seconds in (power.off_seconds, power.on_seconds):
        assert 1 / (1 / seconds) == seconds
    assert parse_power(str(power)) == power
