"""The measures of the study: the distribution of the queue length over time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from batsched_py import Result

LENGTHS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


def measure(result: Result) -> dict[str, float]:
    """Return the share of time with more than each of :data:`LENGTHS` jobs waiting.

    It is from the first to the last submission, since then the machine only empties. Empty without
    such a time. Source: Zakay, PhD thesis, chapter 4 (distribution of the queue length).
    """
    ran = result.table.only_ran
    if len(ran.submit) < 2 or np.ptp(ran.submit) == 0:
        return {}
    shares = compute_time_above(ran.submit, ran.start, LENGTHS)
    return {f"queue_above_{length}": share for length, share in zip(LENGTHS, shares, strict=True)}


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
