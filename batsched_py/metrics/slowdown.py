"""Slowdowns: plain, weighted and bounded."""

from __future__ import annotations

from math import nan

import numpy as np

from batsched_py.results.job_table import Column, JobTable
from batsched_py.support.quotient import ratio
from batsched_py.units import MINUTE

BOUND = 10.0
"""Threshold tau of Feitelson's bounded slowdown, seconds."""


def mean_slowdown(table: JobTable) -> float:
    """SLD, ASD: mean of ``r / p`` (Batsim's stretch), without zero-length jobs.

    Batsim gives a zero-length job 1e-5 s: if it waits, its stretch outweighs all others.

    Unit: 1. Source: Madon et al. 2024, section 4; Streit 2003, section 3.4 (per job);
    Schlagkamp 2015.
    """
    took_time = table.took_time
    if not took_time.any():
        return nan
    return float(np.nanmean(np.where(took_time, table.stretch, nan)))


def mean_bounded_slowdown(table: JobTable) -> float:
    """BSLD: mean of ``max(1, r / max(p, 10 s))``.

    Unit: 1. Source: Feitelson, "Metrics for parallel job scheduling and their convergence",
    JSSPP 2001.
    """
    return float(np.nanmean(_feitelson(table, BOUND)))


def mean_slowdown_by_width(table: JobTable) -> float:
    """SLDwW: ``sum w (r / p) / sum w``, without zero-length jobs.

    Unit: 1. Source: Streit 2003 (formula by analogy).
    """
    ran = table.select(table.took_time)
    return ratio((ran.size * ran.stretch).sum(), ran.size.sum())


def mean_slowdown_by_area(table: JobTable) -> float:
    """SLDwA: ``sum w p (r / p) / sum w p = sum w r / sum w p``.

    SLDwA / ARTwW is ``sum w / sum w p``, the same for all schedules of the same jobs.

    Unit: 1. Source: Streit 2003, eq. 3.4.
    """
    ran = table.only_ran
    return ratio((ran.size * ran.turnaround).sum(), ran.area.sum())


def mean_bounded_slowdown_60(table: JobTable) -> float:
    """Mean of ``max(r, 60 s) / max(p, 60 s)``.

    Unit: 1. Source: Streit 2003, section 3.4 (per job).
    """
    ran = table.only_ran
    bounded = np.maximum(ran.turnaround, MINUTE) / np.maximum(ran.execution, MINUTE)
    return float(bounded.mean())


def mean_bounded_slowdown_60_feitelson(table: JobTable) -> float:
    """Mean of ``max(1, r / max(p, 60 s))``.

    Equal to :func:`mean_bounded_slowdown_60` as long as ``r >= p``, which always holds.

    Unit: 1. Source: Feitelson, quoted in Streit 2003, section 3.4 (per job).
    """
    return float(_feitelson(table.only_ran, MINUTE).mean())


def mean_bounded_slowdown_60_keleher(table: JobTable) -> float:
    """Mean of ``1 + (s - a) / max(p, 60 s)``.

    Unit: 1. Source: Keleher and Perkovic, quoted in Streit 2003, section 3.4 (per job).
    """
    ran = table.only_ran
    return float((1 + ran.waiting / np.maximum(ran.execution, MINUTE)).mean())


def mean_per_processor_slowdown_60(table: JobTable) -> float:
    """ppSLD_60: mean of ``max(1, r / (w max(p, 60 s)))``.

    Unit: 1. Source: Streit 2003, section 3.4 (per job).
    """
    ran = table.only_ran
    bounded = ran.turnaround / (ran.size * np.maximum(ran.execution, MINUTE))
    return float(np.maximum(1.0, bounded).mean())


def _feitelson(table: JobTable, bound: float) -> Column:
    return np.maximum(1.0, table.turnaround / np.maximum(table.execution, bound))
