"""Throughput and busy processors in windows of time.

Source: Madon et al. 2024, section 4 and Fig. 9.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from batsched_py.metrics.machine import busy_time, makespan
from batsched_py.results.job_table import JobTable
from batsched_py.units import DAY, MONTH


def window(table: JobTable, start: float, length: float) -> dict[str, float]:
    """Return throughput (jobs ended per day) and mean busy processors in a window of time.

    The window is ``[start, start + length)``, in seconds from the first submission; its length
    is the denominator of both. Jobs of rare behaviour keep processors busy, but do not count as
    ended; the first submission may be one of theirs.
    """
    begin = float(np.min(table.submit)) + start
    end = begin + length
    finished = table.only_measured.finish  # nan of rejected jobs is in no window
    ended = int(((finished >= begin) & (finished < end)).sum())
    return {
        "start": start,
        "length": length,
        "throughput_per_day": ended / (length / DAY),
        "mean_busy_processors": busy_time(table, begin, end) / length,
    }


def windows(
    table: JobTable, start: float = 14 * DAY, months: Sequence[float] = (4, 6, 8)
) -> list[dict[str, float]]:
    """Return :func:`window` for windows of some ``months`` of 30 days (paper, Fig. 9).

    They begin two weeks after the first submission; windows that end after the last job are left
    out.
    """
    if not table.ran.any():
        return []
    span = makespan(table)
    return [window(table, start, n * MONTH) for n in months if start + n * MONTH <= span]
