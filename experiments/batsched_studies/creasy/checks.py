"""What the paper's own numbers imply, and whether the logs and the model can give them.

Everything here is arithmetic on ``published.toml`` and on the distributions from which users draw;
nothing is simulated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pandas as pd

from batsched_py.report import Column, Table
from batsched_py.units import HOUR, MINUTE
from batsched_studies.creasy.texts import TEXTS
from batsched_users.behaviour.empirical_distributions import Quantiles
from batsched_users.behaviour.think_times import continuation
from batsched_users.models.site import SiteDistributions

_PIECES = 20


def at_250(published: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Return a number under EASY and under CREASY 6000 with 250 users."""
    own = published["at_250"][name]
    return float(own["0"]), float(own["6000"])


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


@dataclass(frozen=True)
class Drawn:
    """What users draw from, in the mean."""

    run_time: float
    """Minutes."""
    long_run_time: float
    """Minutes of the mean run time that are those of jobs over 10 minutes."""
    area: float
    """Processor hours, size and run time being independent."""
    batch_width: float
    inverse: float
    """Mean of 1 / run time, per minute; run times are whole seconds, at least one."""
    continuation: float
    """Mean chance that a session goes on after a batch if nobody waits in the queue."""

    @property
    def batches(self) -> float:
        """Batches of a session if nobody waits and nobody goes home."""
        return 1 / (1 - self.continuation)


def drawn(distributions: SiteDistributions) -> Drawn:
    """Return the means of a set of distributions."""
    times = distributions.run_times
    return Drawn(
        run_time=times.mean / MINUTE,
        long_run_time=mean_of(times, lambda t: t if t > 10 * MINUTE else 0.0) / MINUTE,
        area=distributions.sizes.mean * times.mean / HOUR,
        batch_width=distributions.batch_widths.mean,
        inverse=mean_of(times, lambda t: MINUTE / max(1, round(t))),
        continuation=mean_of(times, lambda t: continuation(max(1, round(t)) / MINUTE)),
    )


def table(published: Mapping[str, Any], model: Drawn) -> Table:
    """Return what the paper's numbers imply beside what the distributions have."""
    low, high = long_jobs_share(published)
    frame = pd.DataFrame(
        [*_flow(published, model), *_jobs(published, model, low, high)],
        columns=["what", "published", "ours", "says"],
    )
    return Table(
        "checks",
        "What the paper's numbers imply",
        frame,
        (
            Column("what"),
            Column("published", "from the paper", kind="published"),
            Column("ours", "distributions here", kind="ours"),
            Column("says", "which says"),
        ),
        TEXTS["checks"],
    )


def _flow(published: Mapping[str, Any], model: Drawn) -> list[tuple[str, str, str, str]]:
    throughput, utilisation, response = (
        at_250(published, name) for name in ("throughput", "utilisation", "response")
    )
    there = [jobs_in_system(x, r) for x, r in zip(throughput, response, strict=True)]
    each = [processors(x, u, 1) for x, u in zip(throughput, utilisation, strict=True)]
    sizes = [size * model.area for size in each]
    return [
        (
            "jobs waiting or running, EASY and CREASY (Little: throughput x response)",
            f"{there[0]:.0f}, {there[1]:.0f}",
            "",
            "fewer jobs than users: possible",
        ),
        (
            "processors by processor hours of a mean job (throughput / utilisation)",
            f"{each[0]:.1f}, {each[1]:.1f}",
            "",
            "both policies ran jobs of the same mean area on the same machine",
        ),
        (
            "processors, if jobs have the mean area of ours",
            f"{sizes[0]:,.0f}, {sizes[1]:,.0f}",
            f"area {model.area:.1f} h",
            "larger than any of the five machines (1,152 at most)",
        ),
        (
            "mean area of a job, were the machine SDSC-BLUE's 1,152 processors (h)",
            f"{1152 / each[0]:.1f}, {1152 / each[1]:.1f}",
            f"{model.area:.1f}",
            "with our sizes: a mean run time of "
            f"{model.run_time * 1152 / each[0] / model.area:.0f} min instead of "
            f"{model.run_time:.0f}",
        ),
    ]


def _jobs(
    published: Mapping[str, Any], model: Drawn, low: float, high: float
) -> list[tuple[str, str, str, str]]:
    least, most = (float(published[f"at_{users}"]["session_length"]["0"]) for users in (250, 50))
    slowdown = at_250(published, "slowdown")[0]
    response = at_250(published, "response")[0]
    wait = (slowdown - 1) / model.inverse
    return [
        (
            "minutes of the mean response that are those of jobs over 10 min, EASY",
            f"{low:.0f} to {high:.0f}",
            f"{model.long_run_time:.0f}, without any wait",
            "long jobs ran for less than half as long as those of the logs",
        ),
        (
            "mean run time (min): at most the mean response",
            f"< {response:.0f}",
            f"{model.run_time:.0f}",
            "the same, without the classes",
        ),
        (
            "jobs per session at 250 users, EASY; jobs per batch",
            f"{least:.2f}",
            f"{model.batch_width:.2f}",
            "a session has one batch at least: batches were narrower, or they were counted",
        ),
        (
            "jobs per session at 50 users, EASY; batches per session if nobody waits",
            f"{most:.2f}",
            f"{model.batches:.2f}",
            "if batches were counted: responses were shorter than our run times alone",
        ),
        (
            "mean wait that gives EASY's slowdown, were it the same for all jobs (min)",
            f"{wait:.0f}",
            f"mean of 1/p {model.inverse:.2f} per min",
            f"more than the mean response ({response:.0f} min) unless far more jobs were very "
            "short",
        ),
    ]
