"""What one would expect of a job without any simulation: the usual wait by its size and its hour.

It gives the other measures a scale: a simulation that explains less knows less than a table of 24
hours and some sizes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from batsched_py.calibration.agreement import on_log_scale
from batsched_py.calibration.week_bootstrap import Weeks
from batsched_py.results.job_table import Column
from batsched_py.units import MINUTE


def usual_waits(
    recorded: Column, weeks: Weeks, size: NDArray[np.intp], hour: NDArray[np.intp]
) -> Column | None:
    """Return the usual recorded wait of jobs of the size and hour of each job, in other weeks.

    It is the mean on the scale of ``log(1 min + wait)``, on which it is judged (a geometric mean,
    below the arithmetic one): over all jobs of the other weeks where these have none of its size
    and hour. None if there is but one week. Columns have shape (n,).
    """
    if weeks.nb < 2:
        return None
    y = on_log_scale(recorded)
    kind = np.unique(size * 24 + hour, return_inverse=True)[1]
    of_kind, of_kind_here = _means_elsewhere(y, kind, weeks)
    of_all, _ = _means_elsewhere(y, np.zeros_like(kind), weeks)
    result: Column = MINUTE * np.expm1(np.where(of_kind_here, of_kind, of_all))
    return result


def _means_elsewhere(
    y: Column, kind: NDArray[np.intp], weeks: Weeks
) -> tuple[Column, NDArray[np.bool_]]:
    """Return the mean over jobs of the same kind in other weeks, and whether there are any."""
    nb = int(kind.max()) + 1
    both = weeks.number * nb + kind
    number = np.bincount(kind, minlength=nb)[kind]
    number = number - np.bincount(both, minlength=weeks.nb * nb)[both]
    sums = np.bincount(kind, weights=y, minlength=nb)[kind]
    sums = sums - np.bincount(both, weights=y, minlength=weeks.nb * nb)[both]
    return np.maximum(sums, 0) / np.maximum(number, 1), number > 0
