from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_py.schedulers.shutdown.settings import parse_power
from batsched_py.workload.processor_power import ProcessorPower
from helpers.powers import TAURUS

TEXT = (
    "idle_watts=95,computing_watts=190.738,asleep_watts=9.75,"
    "off_seconds=6.1,off_joules=620,on_seconds=152,on_joules=19030"
)


@pytest.mark.parametrize(
    ("text", "power"),
    [
        (TEXT, TAURUS),
        ("off_seconds=1 min,on_seconds=5", ProcessorPower(off_seconds=60, on_seconds=5)),
    ],
)
def test_texts(text, power):
    assert parse_power(text) == power == parse_power(str(power)) == parse_power(power)


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
