"""Where a log lies among its variants, metric by metric (figures 8 and 9)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report.kit import Quantity, Runs, quantiles
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
"""What the thesis shows; it gives no bound of its slowdown, ours is 10 s."""
EDGE = 0.025
"""Who has fewer of the variants than this share on one side is at the end of their distribution."""
VARIANTS = 40
"""So many are needed for one of them to be that share."""
KINDS = ("variants", "even variants")
"""Long-term users begin while they are active, as the thesis says, or anywhere in their round."""
INSIDE, LOWER, HIGHER = "inside", "lower", "higher"
ABOUT = {INSIDE: "among them", LOWER: "below nearly all", HIGHER: "above nearly all"}
TRACES: dict[str, str] = PUBLISHED["logs"]


def positions(runs: Runs) -> pd.DataFrame:
    """Return a row for each log, kind of variants and metric: the log's value, and its variants.

    ``below`` is the share of variants with less than the log; ``where`` says whether the log is at
    an end of their distribution; ``median_percent``, ``least_percent`` and ``most_percent`` are
    variants relative to the log. Of logs that were run as recorded only.
    """
    return pd.DataFrame(_positions(runs))


def _positions(runs: Runs) -> Iterator[dict[str, Any]]:
    for log in runs.labels("log"):
        recorded = runs.where(log=log, workload="recorded")
        for kind, quantity in product(KINDS, QUANTITIES):
            variants = plain(runs.where(log=log, workload=kind))
            of_log = finite(recorded.values(quantity.name))
            values = finite(variants.values(quantity.name))
            if len(of_log) and len(values):
                place = {"log": log, "kind": kind, "metric": quantity.name}
                yield place | _position(of_log[0], values)


def plain(runs: Runs) -> Runs:
    """Return the runs with the numbers of users of the log, and of its length."""
    frame = runs.frame
    for option in ("load", "weeks", "rare_per_week"):
        if option in frame:
            frame = frame[frame[option].isna() | ((option == "load") & (frame[option] == 1))]
    return Runs(frame, runs.quantities.values())


def _position(of_log: float, variants: Any) -> dict[str, Any]:
    least, low, median, high, most = quantiles(variants, (0, EDGE, 0.5, 1 - EDGE, 1))
    # A variant that is equal counts for both sides.
    below = float(((variants < of_log) + 0.5 * (variants == of_log)).mean())
    where = LOWER if below < EDGE else HIGHER if below > 1 - EDGE else INSIDE
    numbers = {"recorded": of_log, "median": median, "low": low, "high": high}
    percent = {
        f"{name}_percent": 100 * (value / of_log - 1) if of_log else np.nan
        for name, value in (("median", median), ("least", least), ("most", most))
    }
    ends = {"outside": not least <= of_log <= most, "where": where}
    return {"variants": len(variants), **numbers, "below": below, **percent, **ends}
