"""Metrics of jobs that their users withdraw before they start, and of deadlines.

A withdrawn job waited from its submission to its withdrawal, ``d``. Waits are short where users
leave, so no mean wait says much without the share of withdrawn jobs and the work that was done,
:func:`~batsched_py.metrics.machine.utilisation`.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from batsched_py.results.job_table import Column, JobTable, Mask
from batsched_py.support.quotient import ratio
from batsched_py.units import DAY

if TYPE_CHECKING:
    import pandas as pd

RESTRICTION = 7 * DAY
"""The time (seconds) to which :func:`restricted_mean_wait` counts waits."""
_OF_NO_WITHDRAWAL = (
    *("nb_withdrawn", "withdrawn_share", "withdrawn_work_share", "withdrawn_wait_share"),
)


def nb_withdrawn(table: JobTable) -> float:
    """Jobs that their users withdrew before the start.

    Unit: jobs. Source: this project.
    """
    return float(table.withdrawn.sum())


def withdrawn_share(table: JobTable) -> float:
    """Withdrawn jobs / submitted jobs.

    Unit: 1. Source: Garnett et al. 2002 (fraction of customers who abandon).
    """
    return ratio(nb_withdrawn(table), len(table.submit))


def withdrawn_work_share(table: JobTable) -> float:
    """Requested work of withdrawn jobs / requested work of all submitted jobs.

    Work is requested processors times walltime, else estimate. Not defined if a job has neither.

    Unit: 1. Source: this project.
    """
    if not len(table.requested):
        return 0.0
    return ratio(float(table.requested[table.withdrawn].sum()), float(table.requested.sum()))


def withdrawn_wait_share(table: JobTable) -> float:
    """Time lost: ``sum (d - a) / (sum (d - a) + sum (s - a))``.

    Unit: 1. Source: this project.
    """
    lost = float(table.waited[table.withdrawn].sum())
    return ratio(lost, float(np.nansum(table.waited)))


def mean_waiting_time_of_withdrawn(table: JobTable) -> float:
    """Mean of ``d - a`` over the withdrawn jobs.

    Unit: s. Source: Garnett et al. 2002 (wait of those who abandon).
    """
    return ratio(float(table.waited[table.withdrawn].sum()), nb_withdrawn(table))


def mean_waiting_time_of_all(table: JobTable) -> float:
    """Mean of ``s - a`` of the jobs that ran and ``d - a`` of the withdrawn ones.

    Unit: s. Source: Garnett et al. 2002 (mean wait).
    """
    there = table.waited[np.isfinite(table.waited)]
    return ratio(float(there.sum()), len(there))


def restricted_mean_wait(table: JobTable) -> float:
    """Area under the Kaplan-Meier curve of waits for the start, from 0 to 7 days.

    It estimates the mean of the lesser of 7 days and the time that a job waits for its start if it
    is not withdrawn. A withdrawal censors the wait of its job, as if withdrawals did not depend on
    the wait that was left. From the last start on, the curve stays at its value: if the longest
    waits end in withdrawals, it is an upper bound.

    Unit: s. Source: Kaplan and Meier 1958; restricted as by Royston and Parmar 2013.
    """
    there = np.isfinite(table.waited)
    return _area_under_curve(table.waited[there], table.ran[there])


def deadline_met_share(table: JobTable) -> float:
    """Jobs that ended well by their deadlines / jobs that have deadlines.

    Unit: 1. Source: this project.
    """
    there = table.on_time[np.isfinite(table.on_time)]
    return ratio(float(there.sum()), len(there))


def fill_withdrawals(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a table of runs in which the runs without a withdrawn job have shares of 0.

    Runs store these metrics only if any job was withdrawn, so they are nan in the rows of other
    runs. Their mean waits count all jobs, so they are known too, the restricted one unless a job
    waited longer than 7 days. The columns are added where they are missing.
    """
    import pandas as pd

    unknown = pd.Series(nan, runs.index)
    none = runs.get("nb_withdrawn", unknown).isna()
    known: dict[str, Any] = dict.fromkeys(_OF_NO_WITHDRAWAL, 0.0)
    known["mean_waiting_time_of_all"] = waits = runs.get("mean_waiting_time", unknown)
    is_short = runs.get("max_waiting_time", unknown) <= RESTRICTION
    known["restricted_mean_wait"] = waits.where(is_short)
    columns = {name: runs.get(name, unknown).mask(none, value) for name, value in known.items()}
    return runs.assign(**columns)


def _area_under_curve(waits: Column, started: Mask) -> float:
    """Return the integral of the product-limit estimator from 0 to 7 days; nan of no waits.

    At the same wait, starts come before withdrawals, as usual.
    """
    if not len(waits):
        return nan
    times, place = np.unique(waits, return_inverse=True)
    left = np.bincount(place)
    starts = np.bincount(place, weights=started)
    at_risk = left[::-1].cumsum()[::-1]
    survival = np.cumprod(1 - starts / at_risk)
    inside = times < RESTRICTION
    edges = np.concatenate([[0.0], times[inside], [RESTRICTION]])
    return float((np.concatenate([[1.0], survival[inside]]) * np.diff(edges)).sum())
