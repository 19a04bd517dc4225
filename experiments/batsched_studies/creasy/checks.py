"""Checks whether the logs and the model can reproduce the paper's numbers.

Everything here is arithmetic on ``published.toml`` and on the distributions from which users draw;
nothing is simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import exp, log
from statistics import NormalDist
from typing import Any

from batsched_py.report import Table
from batsched_py.units import HOUR, MINUTE
from batsched_studies.creasy import PUBLISHED, TEXTS
from batsched_users.behaviour.empirical_distributions import Quantiles
from batsched_users.behaviour.think_times import continuation
from batsched_users.models.site import SiteDistributions

_PIECES = 20
_STEPS = 400
_SHORT, _BETWEEN = 0.6, 2.7
"""In the pooled logs, the mean run time of jobs up to a minute, and how much longer jobs of 1 to 10
minutes run (min)."""
_PLACES = 50


def find_published_pair(published: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Return a published number with 250 users: under EASY, and under CREASY 6000."""
    printed = published["at_250"][name]
    return float(printed["0"]), float(printed["6000"])


def compute_jobs_in_system(throughput: float, response: float) -> float:
    """Return the mean number of jobs that wait or run, by Little's law.

    ``throughput`` in jobs/h, ``response`` in minutes.
    """
    return throughput * response / 60


def compute_machine_size(throughput: float, utilisation: float, area: float) -> float:
    """Return a machine's processors from its jobs/h, utilisation (%) and a mean job's area (h)."""
    return throughput * area / (utilisation / 100)


def bound_long_jobs_share(published: Mapping[str, Any]) -> tuple[float, float]:
    """Return bounds on the part of EASY's mean turnaround by jobs over 10 minutes (minutes).

    The mean turnaround time is a + b + c, the contributions of the classes (share times mean).
    Under CREASY it is a (1 + da) + b (1 + db) + c (1 + dc), if the shares stay: the two
    equations leave one unknown, and a, b >= 0 bound c.
    """
    easy, creasy = find_published_pair(published, "response")
    change = {name: value / 100 for name, value in published["response_change"].items()}
    long = change["over_10_min"]
    bounds = [
        (creasy - (1 + change[name]) * easy) / (long - change[name])
        for name in ("to_1_min", "1_to_10_min")
    ]
    return min(bounds), max(bounds)


def compute_class_means(published: Mapping[str, Any], place: float) -> dict[str, tuple[float, ...]]:
    """Return the mean turnaround times (min) by class of run time, under EASY and CREASY 6000.

    The classes are thirds of the jobs, so the means are three times the contributions to the mean
    turnaround. The printed numbers leave one of them open (:func:`bound_long_jobs_share`): with
    ``place`` = 0 no time is spent on the shortest jobs, with 1 none on the middle ones.
    """
    low, high = bound_long_jobs_share(published)
    long = low + place * (high - low)
    change = {name: 1 + value / 100 for name, value in published["response_change"].items()}
    easy, creasy = find_published_pair(published, "response")
    short_factor, middle_factor, long_factor = change.values()
    rest, rest_after = easy - long, creasy - long_factor * long
    short = (middle_factor * rest - rest_after) / (middle_factor - short_factor)
    means = [3 * part for part in (short, rest - short, long)]
    return {
        "easy": tuple(means),
        "creasy": tuple(x * f for x, f in zip(means, change.values(), strict=True)),
    }


def compute_equal_wait(published: Mapping[str, Any]) -> tuple[float, float]:
    """Return the wait and the mean run time (min) if jobs of all classes wait equally under EASY.

    Short and middle jobs then have nearly the same turnaround. Their mean run times are those of
    the logs. Where long jobs wait longer, as under backfilling, they run for less.
    """
    low, high = 0.0, 1.0
    for _ in range(50):  # the classes' means approach each other from one side
        place = (low + high) / 2
        short, middle, _long = compute_class_means(published, place)["easy"]
        low, high = (place, high) if middle - short > _BETWEEN else (low, place)
    short, middle, long = compute_class_means(published, low)["easy"]
    wait = short - _SHORT
    return wait, (_SHORT + _SHORT + _BETWEEN + long - wait) / 3


SHAPES: dict[str, Callable[[float], float]] = {
    "all of a class alike": lambda _: 1.0,
    "exponential in each class": lambda p: -log(1 - p),
    "log-normal, sigma 1": lambda p: exp(NormalDist().inv_cdf(p) - 0.5),
    "log-normal, sigma 2": lambda p: exp(2 * NormalDist().inv_cdf(p) - 2),
}
"""Assumed quantiles of a class's turnaround times relative to their mean, which the paper omits.
In simulations their logarithms have a standard deviation of 0.8 to 2.4."""


def compute_continuation(means: Sequence[float], quantile: Callable[[float], float]) -> float:
    """Return the chance that users continue a session after a job, with equally large classes.

    ``means`` are the mean turnaround times of the classes, ``quantile`` is the shape of each class.
    The chance falls ever less steeply with the turnaround, so it grows with their spread.
    """
    factors = [quantile((step + 0.5) / _STEPS) for step in range(_STEPS)]
    middle = sum(factors) / _STEPS  # not quite 1: the tail is cut
    chances = [continuation(mean * factor / middle) for mean in means for factor in factors]
    return sum(chances) / len(chances)


def make_sessions_table() -> Table | None:
    """Return a table of how much longer sessions can be under CREASY 6000, by printed numbers."""
    possible = [compute_class_means(PUBLISHED, place / _PLACES) for place in range(_PLACES + 1)]
    possible = [means for means in possible if list(means["easy"]) == sorted(means["easy"])]
    overall = dict(zip(("easy", "creasy"), find_published_pair(PUBLISHED, "response"), strict=True))
    alike = [{name: (mean,) for name, mean in overall.items()}]
    rows = [_sessions("all jobs alike", alike, lambda _: 1.0)]
    rows += [_sessions(name, possible, shape) for name, shape in SHAPES.items()]
    throughput = find_published_pair(PUBLISHED, "throughput")
    needed = 100 * (throughput[1] / throughput[0] - 1)
    rows.append({"what": "what the printed throughput needs", "least": needed, "most": needed})
    return TEXTS.table("sessions", rows)


def _sessions(
    what: str,
    possible: Sequence[Mapping[str, Sequence[float]]],
    shape: Callable[[float], float],
) -> dict[str, Any]:
    """Return the ranges, over possible means, of chances to continue and longer sessions (%)."""
    sides = ("easy", "creasy")
    chances = [[compute_continuation(means[side], shape) for side in sides] for means in possible]
    longer = [100 * ((1 - easy) / (1 - creasy) - 1) for easy, creasy in chances]
    easy, creasy = ([100 * pair[side] for pair in chances] for side in (0, 1))
    row: dict[str, Any] = {"what": what, "least": min(longer), "most": max(longer)}
    for name, values in (("easy", easy), ("creasy", creasy)):
        row |= {f"{name}_low": min(values), f"{name}_high": max(values)}
    return row


def compute_mean(times: Quantiles, function: Any) -> float:
    """Return the expectation of a function of a random time (s), by the midpoint rule."""
    total = 0.0
    for (low, _), (high, _) in pairwise(times.pairs):
        step = (high - low) / _PIECES
        for piece in range(_PIECES):
            total += step * function(times.quantile(low + (piece + 0.5) * step))
    return total


def compute_expectations(distributions: SiteDistributions) -> dict[str, float]:
    """Return the averages of what site-level users draw: run times, sizes, batches, sessions.

    ``run_time`` and its part by jobs over 10 minutes, ``long_run_time``, are in minutes; ``area``
    is in processor hours, with independent sizes and run times; ``inverse`` is the mean of
    1 / run time per minute. ``continuation`` is the chance that a session continues after a batch
    if no job waits, and ``batches`` the length of a session then, if no user goes home.
    """
    times = distributions.run_times
    goes_on = compute_mean(times, lambda t: continuation(max(1, round(t)) / MINUTE))
    return {
        "run_time": times.mean / MINUTE,
        "long_run_time": compute_mean(times, lambda t: t if t > 10 * MINUTE else 0.0) / MINUTE,
        "area": distributions.sizes.mean * times.mean / HOUR,
        "batch_width": distributions.batch_widths.mean,
        "inverse": compute_mean(times, lambda t: MINUTE / max(1, round(t))),
        "continuation": goes_on,
        "batches": 1 / (1 - goes_on),
    }


def make_table(model: Mapping[str, float], thirds: Mapping[str, float]) -> Table | None:
    """Return a table that compares the paper's numbers with the distributions of the user model.

    Both have what :func:`compute_expectations` returns, ``thirds`` with run times in thirds.
    """
    numbers = _implied(PUBLISHED, model) | {"thirds": thirds}
    names = ("what", "published", "ours", "says")
    rows = [{name: row[name].format(**numbers) for name in names} for row in PUBLISHED["checks"]]
    return TEXTS.table("checks", rows)


def _implied(published: Mapping[str, Any], model: Mapping[str, float]) -> dict[str, Any]:
    """Return the numbers that the rows of the table name; pairs are EASY's and CREASY's."""
    throughput, utilisation, response = (
        find_published_pair(published, name) for name in ("throughput", "utilisation", "response")
    )
    each = [compute_machine_size(x, u, 1) for x, u in zip(throughput, utilisation, strict=True)]
    areas = [1152 / size for size in each]
    return {
        "model": model,
        "there": [compute_jobs_in_system(x, r) for x, r in zip(throughput, response, strict=True)],
        "each": each,
        "sizes": [size * model["area"] for size in each],
        "areas": areas,
        "run_time": model["run_time"] * areas[0] / model["area"],
        "long": bound_long_jobs_share(published),
        "response": response[0],
        "least": published["at_250"]["session_length"]["0"],
        "most": published["at_50"]["session_length"]["0"],
        "wait": (find_published_pair(published, "slowdown")[0] - 1) / model["inverse"],
        "sessions": throughput[0] / published["at_250"]["session_length"]["0"],
        "session_length": published["at_250"]["session_length"]["0"]
        * throughput[1]
        / throughput[0],
        "alike": compute_equal_wait(published),
    }
