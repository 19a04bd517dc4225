"""How much later than recorded the jobs were submitted."""

from __future__ import annotations

import numpy as np

from batsched_py.results.job_table import JobTable


def mean_lateness(table: JobTable) -> float:
    """Mean of ``l``, rejected jobs included.

    Unit: s. Source: Madon et al. 2024, section 4.
    """
    return float(table.lateness.mean())


def relative_lateness(table: JobTable) -> float:
    """``1 + mean l / (last - first recorded submission)``; none if all came at one instant.

    Unit: 1. Source: Madon et al. 2024, section 4.
    """
    span = float(np.ptp(table.original_submit))
    return 1 + mean_lateness(table) / span if span else float("nan")


def additional_lateness(table: JobTable) -> float:
    """``2 mean l / (n - 1)``, the lateness that each job adds; none for fewer than two jobs.

    Unit: s. Source: Madon et al. 2024, section 4.
    """
    n = len(table.submit)
    return 2 * mean_lateness(table) / (n - 1) if n > 1 else float("nan")
