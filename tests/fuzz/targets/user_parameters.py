"""What user models were told by others: parameters, distributions learned from a log, signals."""

from __future__ import annotations

from pathlib import Path

from batsched_py.errors import BatschedError, InputError
from batsched_py.run.simulate import simulate
from batsched_users.behaviour.calendar import Calendar
from batsched_users.behaviour.empirical_distributions import read_distribution, write_distribution
from batsched_users.behaviour.energy_signal import STATES, read_signal
from fuzz.contract import Target, refusal, same
from fuzz.targets.small_inputs import BUDGETS, jobs

PARAMETERS = Path("weekly.json")
DISTRIBUTION = Path("sizes.json")
_PARAMETERS = b"""{"source": "made up", "classes": [
{"name": "early", "count": 2, "activity": 1, "weekdays": [0.2, 0.2, 0.2, 0.2, 0.2, 0, 0],
 "day_begin": 32400, "day_end": 61200, "sizes": [
 {"size": 1, "probability": 0.25, "mean": 3800, "deviation": 20},
 {"size": 8, "probability": 0.75, "mean": 3600.5, "deviation": 0}]},
{"name": "late", "count": 1, "activity": 1, "weekdays": [1, 0, 0, 0, 0, 0, 0],
 "day_begin": 0, "day_end": 86399, "sizes": [
 {"size": 2, "probability": 1, "mean": 900, "deviation": 5}]}]}"""
_DISTRIBUTIONS = (
    b"""{"name": "sizes", "unit": "processors", "description": "made up", "sources": ["x"],
 "observations": 3,
 "probabilities": [[1, 0.5], [2, 0.25], [64, 0.25]]}""",
    b"""{"name": "run times", "unit": "s", "description": "made up", "remarks": "none",
 "quantiles": [[0, 1], [0.5, 60.5], [1, 3600]]}""",
)


def check_parameters(data: bytes) -> str:
    """Users of parameters that are read can be simulated."""
    PARAMETERS.write_bytes(data)
    try:
        result = simulate(
            jobs(),
            users="weekly",
            user_options={"parameters": str(PARAMETERS), "weeks": 0.2},
            budgets=BUDGETS,
            progress=False,
        )
    except InputError as error:
        return refusal(error, *([] if "there were no jobs" in str(error) else [str(PARAMETERS)]))
    except BatschedError as error:
        return refusal(error)
    assert result.measured["overall"], "no metrics"
    return ""


def check_distribution(data: bytes) -> str:
    """A distribution that is read is the same when it is written."""
    DISTRIBUTION.write_bytes(data)
    try:
        distribution = read_distribution(DISTRIBUTION)
    except InputError as error:
        return refusal(error, str(DISTRIBUTION))
    write_distribution("again.json", distribution)
    again = read_distribution("again.json")
    same(distribution.about, again.about, "what it is of")
    same(distribution.pairs, again.pairs, "pairs")
    return ""


SIGNAL = Path("signal.csv")
CLOCK = Calendar(zone="Europe/Paris")
_SIGNALS = (
    b"time,state\n0,green\n3600,yellow\n7200.5,red\n",
    b"time,gCO2eq/kWh\n2024-01-15T00:00,310\n2024-01-15T01:00,290.5\n",
    b"time,price\n2024-01-15T00:00Z,310\n2024-01-15T02:00+01:00,290\n",
)
_SIGNAL_WORDS = (
    *("2024-02-29T23:59", "0001-01-01T00:00Z", "9999-12-31T23:59-12:00", "1705276800", "1e300"),
)


def check_signal(data: bytes) -> str:
    """A signal that is read says at each time how it is, and its times add up."""
    SIGNAL.write_bytes(data)
    limits = (
        {} if b"state" in data.partition(b"\n")[0] else {"yellow_from": 200.0, "red_from": 300.0}
    )
    for repeats in (False, True):
        try:
            signal = read_signal(str(SIGNAL), CLOCK, repeats=repeats, **limits)
        except BatschedError as error:
            return refusal(error, str(SIGNAL))
        spans = [span for state in STATES for span in signal.spans(state, 0, 86400)]
        assert abs(sum(end - begin for begin, end in spans) - 86400) < 1, "times that do not add up"
        for now in (-1e9, 0.0, 3600.0, 1e9):
            assert signal.state(now) in STATES, "a state that is none"
            assert signal.better_from(now) > now, "better before it is worse"
    return ""


TARGETS = (
    Target("signal", lambda: _SIGNALS, check_signal, _SIGNAL_WORDS),
    Target("weekly", lambda: [_PARAMETERS], check_parameters, ()),
    Target("distribution", lambda: _DISTRIBUTIONS, check_distribution, ()),
)
