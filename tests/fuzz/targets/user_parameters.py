"""What user models were told by others: parameters, and distributions learned from a log."""

from __future__ import annotations

from pathlib import Path

from batsched_py.errors import BatschedError, InputError
from batsched_py.run.simulate import simulate
from batsched_users.behaviour.empirical_distributions import read_distribution, write_distribution
from fuzz.contract import Target, refusal, same
from fuzz.forms import JSON, words
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
_WORDS = words(
    """
    source classes name count activity weekdays day_begin day_end sizes size probability mean
    deviation unit description sources remarks observations quantiles probabilities
    """
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


TARGETS = (
    Target("weekly", lambda: [_PARAMETERS], check_parameters, JSON, _WORDS),
    Target("distribution", lambda: _DISTRIBUTIONS, check_distribution, JSON, _WORDS),
)
