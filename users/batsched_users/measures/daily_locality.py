"""Daily locality by bins: how much of a day's work is alike.

Source: N. Zakay, PhD thesis, chapter 3 (validation of resampled workloads).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError
from batsched_py.units import DAY
from batsched_users.behaviour.calendar import Calendar

NB_BINS = 16


def bin_edges(values: NDArray[np.float64], nb_bins: int = NB_BINS) -> NDArray[np.float64]:
    """Return the inner edges of bins of equal weight, shape (nb_bins - 1,): quantiles.

    Where one value has more weight than a bin (small sizes, round requests), edges coincide and
    the bins between them stay empty. Unknown values (nan) are left out. Raises
    :class:`UsageError` if nothing is left, or for less than one bin.
    """
    numbers = values[~np.isnan(values)]
    if nb_bins < 1 or not len(numbers):
        raise UsageError(f"{nb_bins} bins of {len(numbers)} known values: expected at least 1 each")
    return np.quantile(numbers, np.arange(1, nb_bins) / nb_bins, method="inverted_cdf")


def daily_largest_shares(
    submit: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    calendar: Calendar | None = None,
    edges: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return, for each day with jobs, the share of its jobs in its fullest bin; shape (days,).

    ``submit`` (seconds) and ``values`` have shape (n,). A value on an edge is in the bin below it.
    Days begin at midnight of ``calendar``, default: at multiples of 24 h. The default ``edges``
    are :func:`bin_edges` of the values; give those of a log to measure another one by them. Each
    share is in [1 / bins, 1]; without locality it comes near the lower end on busy days.
    """
    edges = bin_edges(values) if edges is None else edges
    is_known = ~np.isnan(values)
    origin = (calendar or Calendar()).at_origin
    day = np.floor((submit[is_known] + origin) / DAY).astype(np.int64)
    if not len(day):
        return np.empty(0)
    day -= day.min()
    nb_bins = len(edges) + 1
    place = np.searchsorted(edges, values[is_known], side="left")
    counts = np.bincount(day * nb_bins + place, minlength=(int(day.max()) + 1) * nb_bins)
    counts = counts.reshape(-1, nb_bins)
    jobs = counts.sum(axis=1)
    shares: NDArray[np.float64] = counts.max(axis=1)[jobs > 0] / jobs[jobs > 0]
    return shares
