"""What the paper's own numbers imply, and whether the logs and the model can give them.

Everything here is arithmetic on ``published.toml`` and on the distributions from which users draw;
nothing is simulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from batsched_py.report import Table
from batsched_py.units import HOUR, MINUTE
from batsched_studies.creasy import PUBLISHED, TEXTS
from batsched_users.behaviour.empirical_distributions import Quantiles
from batsched_users.behaviour.think_times import continuation
from batsched_users.models.site import SiteDistributions

_PIECES = 20


def at_250(published: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Return a number under EASY and under CREASY 6000 with 250 users."""
    printed = published["at_250"][name]
    return float(printed["0"]), float(printed["6000"])


def jobs_in_system(throughput: float, response: float) -> float:
    """Return the mean number of jobs that wait or run, by Little's law.

    ``throughput`` in jobs/h, ``response`` in minutes.
    """
    return throughput * response / 60


def processors(throughput: float, utilisation: float, area: float) -> float:
    """Return the size of the machine; jobs/h, per cent, and processor hours of a mean job."""
    return throughput * area / (utilisation / 100)


def long_jobs_share(published: Mapping[str, Any]) -> tuple[float, float]:
    """Return how many minutes of EASY's mean response can be those of jobs over 10 minutes.

    The mean response is a + b + c, the contributions of the three classes (share times mean).
    Under CREASY it is a (1 + da) + b (1 + db) + c (1 + dc), if the shares stay: the two
    equations leave one unknown, and a, b >= 0 bound c.
    """
    easy, creasy = at_250(published, "response")
    change = {name: value / 100 for name, value in published["response_change"].items()}
    long = change["over_10_min"]
    bounds = [
        (creasy - (1 + change[name]) * easy) / (long - change[name])
        for name in ("to_1_min", "1_to_10_min")
    ]
    return min(bounds), max(bounds)


def mean_of(times: Quantiles, function: Any) -> float:
    """Return the expectation of a function of a time (s), by the midpoints of small pieces."""
    total = 0.0
    for (low, _), (high, _) in pairwise(times.pairs):
        step = (high - low) / _PIECES
        for piece in range(_PIECES):
            total += step * function(times.quantile(low + (piece + 0.5) * step))
    return total


def drawn(distributions: SiteDistributions) -> dict[str, float]:
    """Return what users draw in the mean.

    In minutes ``run_time``, and ``long_run_time``, the part of it that is of jobs over 10 minutes;
    ``area`` in processor hours, size and run time being independent; ``batch_width``; ``inverse``
    of 1 / run time, per minute, where run times are whole seconds, at least one; ``continuation``,
    the chance that a session goes on after a batch if nobody waits in the queue, and how many
    ``batches`` a session has then, if nobody goes home.
    """
    times = distributions.run_times
    goes_on = mean_of(times, lambda t: continuation(max(1, round(t)) / MINUTE))
    return {
        "run_time": times.mean / MINUTE,
        "long_run_time": mean_of(times, lambda t: t if t > 10 * MINUTE else 0.0) / MINUTE,
        "area": distributions.sizes.mean * times.mean / HOUR,
        "batch_width": distributions.batch_widths.mean,
        "inverse": mean_of(times, lambda t: MINUTE / max(1, round(t))),
        "continuation": goes_on,
        "batches": 1 / (1 - goes_on),
    }


def table(model: Mapping[str, float]) -> Table | None:
    """Return what the paper's numbers imply beside what the distributions have."""
    numbers = _implied(PUBLISHED, model)
    names = ("what", "published", "ours", "says")
    rows = [{name: row[name].format(**numbers) for name in names} for row in PUBLISHED["checks"]]
    return TEXTS.table("checks", rows)


def _implied(published: Mapping[str, Any], model: Mapping[str, float]) -> dict[str, Any]:
    """Return the numbers that the rows of the table name; pairs are EASY's and CREASY's."""
    throughput, utilisation, response = (
        at_250(published, name) for name in ("throughput", "utilisation", "response")
    )
    each = [processors(x, u, 1) for x, u in zip(throughput, utilisation, strict=True)]
    areas = [1152 / size for size in each]
    return {
        "model": model,
        "there": [jobs_in_system(x, r) for x, r in zip(throughput, response, strict=True)],
        "each": each,
        "sizes": [size * model["area"] for size in each],
        "areas": areas,
        "run_time": model["run_time"] * areas[0] / model["area"],
        "long": long_jobs_share(published),
        "response": response[0],
        "least": published["at_250"]["session_length"]["0"],
        "most": published["at_50"]["session_length"]["0"],
        "wait": (at_250(published, "slowdown")[0] - 1) / model["inverse"],
    }
