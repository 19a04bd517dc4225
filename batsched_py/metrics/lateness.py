"""Lateness: how much later than recorded the jobs were submitted."""

from __future__ import annotations

from math import nan

import numpy as np

from batsched_py.results.job_table import Column, JobTable


def mean_lateness(table: JobTable) -> float:
    """Mean of ``l``, rejected jobs included.

    Unit: s. Source: Madon et al. 2024, section 4.
    """
    kept: float | None = table.__dict__.get("_mean_lateness")  # the others need it too
    if kept is None:
        lateness = _known(table.lateness)
        kept = table.__dict__["_mean_lateness"] = float(lateness.mean()) if len(lateness) else nan
    return kept


def relative_lateness(table: JobTable) -> float:
    """``1 + mean l / (last - first recorded submission)``; none if all came at one instant.

    Unit: 1. Source: Madon et al. 2024, section 4.
    """
    recorded = _known(table.original_submit)
    span = float(np.ptp(recorded)) if len(recorded) else 0.0
    return 1 + mean_lateness(table) / span if span else nan


def additional_lateness(table: JobTable) -> float:
    """``2 mean l / (n - 1)``, the lateness that each job adds; none for fewer than two jobs.

    Unit: s. Source: Madon et al. 2024, section 4.
    """
    n = len(_known(table.original_submit))
    return 2 * mean_lateness(table) / (n - 1) if n > 1 else nan


def _known(column: Column) -> Column:
    return column[~np.isnan(column)]
