"""Waiting and turnaround times, plain and weighted.

Turnaround time is what Streit, Schlagkamp, Zakay and Shmueli call response time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from batsched_py.results.job_table import Column, JobTable
from batsched_py.support.quotient import ratio


def mean_waiting_time(table: JobTable) -> float:
    """AWT: mean of ``s - a``.

    Unit: s. Source: Madon et al. 2024, section 4; Streit 2003, eq. 3.1; Schlagkamp 2015.
    """
    return _mean(table.waiting)


def max_waiting_time(table: JobTable) -> float:
    """Maximum of ``s - a``.

    Unit: s. Source: Madon et al. 2024, section 4.
    """
    return float(np.nanmax(table.waiting))


def mean_waking(table: JobTable) -> float:
    """Mean part of ``s - a`` in which processors of the job are switched on.

    Unit: s. Source: this project.
    """
    return _mean(table.only_ran.waking)


def mean_turnaround_time(table: JobTable) -> float:
    """ART: mean of ``r = f - a``.

    Unit: s. Source: Madon et al. 2024, section 4; Streit 2003, eq. 3.2; Schlagkamp 2015.
    """
    return _mean(table.turnaround)


def mean_waiting_time_by_width(table: JobTable) -> float:
    """AWWT: ``sum w (s - a) / sum w``.

    Unit: s. Source: Streit 2003, eq. 7.2.
    """
    ran = table.only_ran
    return ratio((ran.size * ran.waiting).sum(), ran.size.sum())


def mean_turnaround_time_by_width(table: JobTable) -> float:
    """ARTwW, and the AWRT of Streit's eq. 7.1: ``sum w r / sum w``.

    Unit: s. Source: Streit 2003, eq. 3.3 and 7.1.
    """
    ran = table.only_ran
    return ratio((ran.size * ran.turnaround).sum(), ran.size.sum())


def mean_turnaround_time_by_area(table: JobTable) -> float:
    """ARTwA, and the usual AWRT: ``sum w p r / sum w p``.

    Streit names ARTwA without a formula; it is the AWRT of section 7.3.3, and what authors
    other than Schlagkamp call AWRT.

    Unit: s. Source: Streit 2003, sections 5.1.3 and 7.3.3.
    """
    ran = table.only_ran
    return ratio((ran.area * ran.turnaround).sum(), ran.area.sum())


def area_turnaround_per_job(table: JobTable) -> float:
    """AWRT as Streit's section 7.3.1 words it: ``sum w p r / n``, n jobs that ran.

    Its weights do not sum to 1; the formulas 7.1 and 7.3.3 are other metrics.

    Unit: processor s^2. Source: Streit 2003, section 7.3.1 (text).
    """
    ran = table.only_ran
    return ratio((ran.area * ran.turnaround).sum(), len(ran.submit))


def area_turnaround_per_processor(table: JobTable) -> float:
    """AWRT as Schlagkamp prints it: ``sum p w r / sum w``.

    Its unit shows that it is not a mean: :func:`mean_turnaround_time_by_area` is the usual one.

    Unit: s^2. Source: Schlagkamp 2015 (as printed).
    """
    ran = table.only_ran
    return ratio((ran.area * ran.turnaround).sum(), ran.size.sum())


def mean_turnaround_time_to_1_min(table: JobTable) -> float:
    """Mean of ``r`` over the jobs with ``p <= 1 min``.

    Unit: s. Source: Shmueli and Feitelson 2009 (classes of run time).
    """
    return _of_class(table, 0, 60)


def mean_turnaround_time_1_to_10_min(table: JobTable) -> float:
    """Mean of ``r`` over the jobs with ``1 min < p <= 10 min``.

    Unit: s. Source: Shmueli and Feitelson 2009 (classes of run time).
    """
    return _of_class(table, 60, 600)


def mean_turnaround_time_over_10_min(table: JobTable) -> float:
    """Mean of ``r`` over the jobs with ``p > 10 min``.

    Unit: s. Source: Shmueli and Feitelson 2009 (classes of run time).
    """
    return _of_class(table, 600, np.inf)


def max_over_min(values: Sequence[float]) -> float:
    """Return the largest over the smallest value, such as the mean waiting times of many runs.

    Nan without values or if the smallest is 0. Unit: 1. Source: Zakay, PhD thesis, chapter 5.
    """
    return ratio(max(values), min(values)) if values else float("nan")


def _of_class(table: JobTable, above: float, most: float) -> float:
    ran = table.only_ran
    of_class = (ran.execution > above) & (ran.execution <= most)
    return ratio(ran.turnaround[of_class].sum(), int(of_class.sum()))


def _mean(column: Column) -> float:
    """Return the mean without nan; mostly there is none, and then this is four times as fast."""
    return float(np.nanmean(column) if np.isnan(column).any() else np.mean(column))
