"""The position of a log among its resampled variants, metric by metric (figures 8 and 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from batsched_py.report import kit
from batsched_py.report.kit import Interval, Quantity, Runs
from batsched_py.support.statistics import finite
from batsched_studies.resampling import PUBLISHED

QUANTITIES = tuple(
    Quantity(name, column, title, scale)
    for name, column, title, scale in (
        ("throughput", "throughput_to_last_submission", "throughput (jobs/h)", 1.0),
        ("utilisation", "utilisation_to_last_submission", "utilisation (%)", 100.0),
        ("slowdown", "mean_bounded_slowdown", "bounded slowdown", 1.0),
        ("wait", "mean_waiting_time", "mean wait (h)", 1 / 3600),
    )
)
"""The metrics that the thesis shows; it gives no bound of its slowdown; here it is 10 s."""
EDGE = 0.025
"""A log with less than this share of the variants on one side is at the end of their range."""
KINDS = {"variants": "active", "even variants": "anywhere"}
"""Where long-term users begin: while they are active, or anywhere in their round."""
INSIDE, LOWER, HIGHER, LARGER, OPEN = "inside", "lower", "higher", "larger", "open"
AMONG: dict[str, Callable[[Interval], bool | None]] = {
    INSIDE: lambda below: below.within(EDGE, 1 - EDGE),
    LOWER: lambda below: below.below(EDGE),
    HIGHER: lambda below: below.above(1 - EDGE),
    LARGER: lambda below: below.below(0.5),
}
"""Whether a log has a position, from the share of variants below it."""
ABOUT = {
    INSIDE: "among them",
    LOWER: "below nearly all",
    HIGHER: "above nearly all",
    OPEN: "inconclusive",
}
TRACES: dict[str, str] = PUBLISHED["logs"]


def place_logs(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield for each log, kind of variants and metric the log's value, and those of its variants.

    ``below`` is the share of variants below the log, with its interval; ``where`` is the log's
    position in their distribution, ``open`` if inconclusive. ``median_percent``, with its interval,
    ``least_percent`` and ``most_percent`` are variants relative to the log. Logs that were not run
    as recorded are left out.
    """
    for log in runs.labels("log"):
        recorded = runs.where(log=log, workload="recorded")
        for kind, quantity in product(KINDS, QUANTITIES):
            variants = select_plain_runs(runs.where(log=log, workload=kind))
            of_log = finite(recorded.values(quantity.name))
            values = finite(variants.values(quantity.name))
            if len(of_log) and len(values):
                place = {"log": log, "kind": kind, "metric": quantity.name}
                yield place | _position(of_log[0], values)


def select_plain_runs(runs: Runs) -> Runs:
    """Return the runs with as many users and as many weeks as the log, and without flurries."""
    frame = runs.frame
    for option in ("load", "weeks", "rare_per_week"):
        if option in frame:
            frame = frame[frame[option].isna() | ((option == "load") & (frame[option] == 1))]
    return Runs(frame, runs.quantities.values())


def _position(of_log: float, variants: Any) -> dict[str, Any]:
    low, median, high = kit.quantiles(variants, (EDGE, 0.5, 1 - EDGE))
    # An equal variant counts half for each side.
    nb_below = float(((variants < of_log) + 0.5 * (variants == of_log)).sum())
    below = kit.share_interval(nb_below, len(variants))
    percent = 100 * (variants / of_log - 1) if of_log else np.full(len(variants), np.nan)
    numbers = {"recorded": of_log, "median": median, "low": low, "high": high}
    ends = {"least_percent": percent.min(), "most_percent": percent.max()}
    return {
        **numbers,
        **kit.cells(below, "below", "below_low", "below_high", nb="variants"),
        **kit.cells(kit.median_interval(percent), "median_percent", "median_low", "median_high"),
        **ends,
        "outside": not variants.min() <= of_log <= variants.max(),
        "where": next((name for name in (INSIDE, LOWER, HIGHER) if AMONG[name](below)), OPEN),
    }
