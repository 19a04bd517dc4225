"""The measures of the study: queue lengths over time, waits by user, and the weekly cycle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from batsched_py import Result
from batsched_py.results.job_table import JobTable
from batsched_py.workload.logs.clock import local_hours

LENGTHS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


SLOTS = ((6.5, 8.5), (16.5, 18.5))
"""The hours of the day at which users of the model ``distribution`` begin to work."""


def measure(result: Result) -> dict[str, float]:
    """Return the measures of the queue, of the users' waits, and of the week.

    ``queue_above_LENGTH`` is the share of time with more than each of :data:`LENGTHS` jobs waiting,
    from the first to the last submission, since then the machine only empties. Empty without such a
    time. Source: Zakay, PhD thesis, chapter 4 (distribution of the queue length).
    """
    ran = result.table.only_ran
    if len(ran.submit) < 2 or np.ptp(ran.submit) == 0:
        return {}
    shares = compute_time_above(ran.submit, ran.start, LENGTHS)
    queue = {f"queue_above_{length}": share for length, share in zip(LENGTHS, shares, strict=True)}
    return queue | measure_waits_by_user(ran) | _measure_week(result)


def measure_waits_by_user(ran: JobTable) -> dict[str, float]:
    """Return the longest wait of a job, and quantiles over the users of their mean waits (s).

    ``user_wait_50`` and ``user_wait_90`` are the median and the 90 % quantile.
    """
    _, user = np.unique(ran.user, return_inverse=True)
    means = np.bincount(user, ran.waiting) / np.bincount(user)
    middle, high = np.percentile(means, (50, 90)).tolist()
    return {"longest_wait": ran.waiting.max(), "user_wait_50": middle, "user_wait_90": high}


def _measure_week(result: Result) -> dict[str, float]:
    """Return the weekly cycle of submissions; empty if the log has no date or no recorded times.

    ``week_cycle`` is how far the shares of the 168 hours of a week are from equal ones, and
    ``week_apart`` how far from those of the recorded times (both 0 to 1). ``share_in_slots`` is the
    share of submissions in :data:`SLOTS`.
    """
    origin, zone = result.settings["unix_start_time"], result.settings["time_zone"]
    recorded = result.table.original_submit
    if origin is None or np.isnan(recorded).any():
        return {}
    hours = local_hours(result.table.submit, origin, zone)
    ours, theirs = (
        np.bincount(times.astype(int), minlength=168) / len(times)
        for times in (hours, local_hours(recorded, origin, zone))
    )
    inside = [(hours % 24 >= begin) & (hours % 24 < end) for begin, end in SLOTS]
    return {
        "week_cycle": float(np.abs(ours - 1 / 168).sum() / 2),
        "week_apart": float(np.abs(ours - theirs).sum() / 2),
        "share_in_slots": float(np.any(inside, axis=0).mean()),
    }


def compute_time_above(
    submit: NDArray[np.float64], start: NDArray[np.float64], lengths: tuple[int, ...]
) -> list[float]:
    """Return the share of the time of submissions with more than ``lengths`` jobs waiting.

    ``submit`` and ``start`` have shape (n,), seconds; a job waits between both times.
    """
    times = np.concatenate([submit, start])
    changes = np.concatenate([np.ones(len(submit)), -np.ones(len(start))])
    order = np.argsort(times, kind="stable")
    times = np.minimum(times[order], submit.max())
    waiting, spans = np.cumsum(changes[order])[:-1], np.diff(times)
    return [float(spans[waiting > length].sum() / np.ptp(submit)) for length in lengths]
