"""The measures of the runs of ``models.toml``: when users submit, by the clock."""

from __future__ import annotations

import numpy as np

from batsched_py import Result
from batsched_py.workload.logs.clock import local_hours

DAY_BEGINS, DAY_ENDS = 8, 18
_SATURDAY = 5 * 24


def measure(result: Result) -> dict[str, float]:
    """Return the shares of jobs submitted in each hour of the day, at work, and at weekends.

    ``share_at_00`` to ``share_at_23`` by local time; ``share_at_work`` is from Monday to Friday,
    8:00 to 18:00 (50 of 168 hours). Nothing for a log that does not say when it began.
    """
    origin, zone = result.settings["unix_start_time"], result.settings["time_zone"]
    times = result.table.submit
    if origin is None or not len(times):
        return {}
    week = local_hours(times, origin, zone)
    hours = (week % 24).astype(int)
    shares = np.bincount(hours, minlength=24) / len(hours)
    weekend = week >= _SATURDAY
    at_work = ~weekend & (hours >= DAY_BEGINS) & (hours < DAY_ENDS)
    return {
        **{f"share_at_{hour:02d}": float(share) for hour, share in enumerate(shares)},
        "share_at_work": float(at_work.mean()),
        "share_at_weekends": float(weekend.mean()),
    }
