"""The measures of the study: tails of waiting times, and submission times."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from batsched_py import Result
from batsched_py.units import HOUR, WEEK
from batsched_py.workload.logs.clock import local_hours

TAILS = (50, 90, 99)
"""The percentiles of the waits that are measured."""


def measure(result: Result) -> dict[str, float]:
    """Return quantiles of the waiting times of measured jobs, and the submissions by time.

    ``wait_50``, ``wait_90``, ``wait_99`` are seconds. Other measures are about all jobs, with
    flurries: ``share_at_00`` to ``share_at_23`` by the hour of the day and ``share_on_0`` (Monday)
    to ``share_on_6`` by the day, in local time if the log has a date; ``roughness``, the standard
    deviation over the mean of submissions by hour; and ``busiest_week`` over the mean week.
    """
    table = result.table
    waits = table.only_measured.only_ran.waiting
    if len(waits) < 2 or np.ptp(table.submit) < WEEK:
        return {}
    tails = {f"wait_{tail}": float(np.percentile(waits, tail)) for tail in TAILS}
    hours, weeks = (count_by_span(table.submit, span) for span in (HOUR, WEEK))
    return {
        **tails,
        **_by_the_clock(result),
        "roughness": float(hours.std() / hours.mean()),
        "busiest_week": float(weeks.max() / weeks.mean()),
    }


def count_by_span(times: NDArray[np.float64], span: float) -> NDArray[np.int64]:
    """Return how many times (s) are in each whole ``span`` (s) from the first time on."""
    since = times - times.min()
    whole = int(since.max() // span)
    return np.bincount((since[since < whole * span] // span).astype(int), minlength=whole)


def _by_the_clock(result: Result) -> dict[str, float]:
    origin, zone = result.settings["unix_start_time"], result.settings["time_zone"]
    if origin is None:
        return {}
    week = local_hours(result.table.submit, origin, zone).astype(int)
    hours, days = (
        np.bincount(places, minlength=number) / len(week)
        for places, number in ((week % 24, 24), (week // 24, 7))
    )
    return {
        **{f"share_at_{hour:02d}": float(share) for hour, share in enumerate(hours)},
        **{f"share_on_{day}": float(share) for day, share in enumerate(days)},
    }
