"""Percentiles of a column, without what numpy imports for its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def percentile(ascending: NDArray[np.float64], at: int) -> float:
    """Return numpy's percentile, whose import of masked arrays takes longer than a small log."""
    place = at / 100 * (len(ascending) - 1)
    share = place - int(place)
    below, above = float(ascending[int(place)]), float(ascending[int(place) :][:2][-1])
    step = above - below
    return below + step * share if share < 0.5 else above - step * (1 - share)


def median(values: NDArray[np.float64]) -> float:
    """Return the median of values in any order, shape (n,), of which there is at least one."""
    return percentile(np.sort(values), 50)
