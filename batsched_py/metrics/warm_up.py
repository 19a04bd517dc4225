"""The warm-up time of a simulation that begins with an empty machine, by the rule MSER-5.

At first jobs find no queue. The Marginal Standard Error Rule leaves out the first observations so
that the standard error of the mean of the others is least: with fewer left out the beginning biases
the mean, with more the sample is smaller than it could be.

Source: K. White, "An Effective Truncation Heuristic for Bias Reduction in Simulation Output",
Simulation 69(6), 1997; of batches of five: K. White, M. Cobb, S. Spratt, "A Comparison of Five
Steady-State Truncation Heuristics for Simulation", Winter Simulation Conference 2000.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from batsched_py.results.job_table import JobTable

BATCH = 5
"""Number of observations in a batch, whose mean is one value of the rule."""


def mser5(series: ArrayLike, batch: int = BATCH) -> int | None:
    """Return the number of first values of ``series`` to leave out, a multiple of ``batch``.

    None if the rule finds no end of the warm-up: if its minimum is in the second half, as the
    values still drift, if there are fewer than two batches, or values that are not finite. Values
    beyond the last whole batch do not count.
    """
    values = np.asarray(series, dtype=np.float64)
    number = len(values) // batch
    if number < 2:
        return None
    means = values[: number * batch].reshape(number, batch).mean(axis=1)
    if not np.isfinite(means).all():
        return None
    means = means - means.mean()  # sums of squares of small numbers keep their digits
    means /= np.abs(means).max() or 1.0  # and what is equal but for rounding is, in any unit
    left = np.arange(number, 0, -1, dtype=np.float64)
    sums, squares = (np.cumsum(part[::-1])[::-1] for part in (means, means**2))
    # The last value has no error and the rule no meaning: it is for many values.
    errors = ((squares - sums**2 / left) / left**2)[:-1]
    first = int(np.argmin(np.round(errors, 15)))
    return first * batch if first <= number // 2 else None


def warm_up_time(table: JobTable) -> float:
    """Return the seconds from the first submission to the first wait that :func:`mser5` keeps.

    The waits are in order of submission. nan if the rule finds no end of the warm-up.

    Unit: s. Source: White, Cobb, Spratt, WSC 2000.
    """
    ran = table.only_ran
    order = np.lexsort((ran.start, ran.submit))
    left_out = mser5((ran.start - ran.submit)[order])
    if left_out is None:
        return float("nan")
    return float(ran.submit[order[left_out]] - ran.submit[order[0]])
