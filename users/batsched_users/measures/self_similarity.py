"""Measures the self-similarity of arrivals: the Hurst parameter by the rescaled range.

Sources: N. Zakay, PhD thesis, chapter 3; Hurst (1951); Mandelbrot and Wallis (1969) for pox plots.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError
from batsched_py.options.option_values import number
from batsched_py.units import HOUR

SPACING = 1.2
"""Ratio of one length of subsets to the one before."""
Column = NDArray[np.float64]


class PoxPlot(msgspec.Struct, frozen=True):
    """The points of a pox plot: rescaled ranges by length of the subset, shape (k,) each."""

    length: Column
    """Length n of the subset of the series, in its time units."""
    range: Column
    """Rescaled range R/S of the subset."""

    @property
    def hurst(self) -> float:
        """The Hurst parameter: slope of log R/S over log n by least squares, nan without two n."""
        if len(np.unique(self.length)) < 2:
            return float("nan")
        return float(np.polyfit(np.log(self.length), np.log(self.range), 1)[0])


def count_jobs_per_unit(submit: Column, unit: float) -> Column:
    """Count the submissions in each ``unit`` seconds from the first submission to the last.

    Shape (units,). Raises :class:`UsageError` for a unit that is not positive, and without
    submissions.
    """
    number("unit", unit, 1e-6)
    if not len(submit):
        raise UsageError("a series of jobs per time unit of no jobs: expected at least one")
    places = np.floor((submit - submit.min()) / unit).astype(np.int64)
    return np.bincount(places).astype(np.float64)


def rescaled_ranges(subsets: Column) -> Column:
    """Return the rescaled range R/S of each row of ``subsets``, shape (k, n) -> (k,).

    R is the range of the running sums of deviations from the row's mean, S the standard deviation
    of the row, divided by n (population). The result is nan if S is 0.
    """
    excess = subsets - subsets.mean(axis=1, keepdims=True)
    sums = excess.cumsum(axis=1)
    spread = np.sqrt((excess**2).sum(axis=1) / max(1, subsets.shape[1]))
    spread[(subsets == subsets[:, :1]).all(axis=1)] = 0.0  # whatever rounding of the mean leaves
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = (sums.max(axis=1) - sums.min(axis=1)) / spread
    return np.where(spread > 0, ratio, np.nan)


def make_pox_plot(series: Column, *, subsets: int = 10, first: int | None = None) -> PoxPlot:
    """Make the pox plot of a series of counts: rescaled ranges of its subsets by their length.

    Lengths n grow by a fifth from ``first`` to the whole series, by default from
    :func:`find_first_length`. Each n has ``subsets`` subsets at even distances from the beginning
    to the end of the series; they overlap if n is large. A subset without variance gives no point.
    Raises :class:`UsageError` for wrong options.
    """
    number("subsets", subsets, 1)
    lengths, ranges = [], []
    length = float(first if first is not None else find_first_length(series))
    while round(length) <= len(series):
        n = max(2, round(length))
        starts = np.unique(np.linspace(0, len(series) - n, subsets).round().astype(np.int64))
        rows = np.stack([series[start : start + n] for start in starts])
        ratios = rescaled_ranges(rows)
        ratios = ratios[~np.isnan(ratios)]
        lengths.append(np.full(len(ratios), float(n)))
        ranges.append(ratios)
        length = max(length * SPACING, n + 1)
    if not lengths:
        return PoxPlot(np.empty(0), np.empty(0))
    return PoxPlot(np.concatenate(lengths), np.concatenate(ranges))


def find_first_length(series: Column) -> int:
    """Return the shortest length n at which more than half of the intervals are not empty."""
    length = 2.0
    while True:
        n = round(length)
        intervals = series[: len(series) // n * n].reshape(-1, n)
        if len(intervals) < 2 or (intervals.any(axis=1)).mean() > 0.5:
            return n
        length = max(length * SPACING, n + 1)


def hurst(submit: Column, *, unit: float = HOUR) -> float:
    """Return the Hurst parameter of submissions per ``unit`` seconds, see :func:`make_pox_plot`.

    Between 0.5 and 1 a workload is self-similar. The source does not give the unit and the number
    of subsets. On archive logs, a unit of a minute gives up to 0.07 more than an hour, as it
    includes the bursts of single sessions; three hours or a day differ from an hour by up to 0.06.
    So compare only workloads that are measured in the same way.
    """
    return make_pox_plot(count_jobs_per_unit(submit, unit)).hurst
