"""What the study measures of each run beyond the metrics: mean jobs, batches, and jobs there."""

from __future__ import annotations

import numpy as np

from batsched_py import Result
from batsched_py.metrics import JobTable
from batsched_py.units import MINUTE


def measure(result: Result) -> dict[str, float]:
    """Return further numbers of a run; nothing for one in which no job ran."""
    table = result.table.only_ran
    return numbers(table) if len(table.submit) else {}


def numbers(table: JobTable) -> dict[str, float]:
    """Return means over the jobs, all of which ran: SI units.

    A batch is the jobs that a user submits at one instant. ``mean_jobs_in_system`` counts those
    that wait or run, in the mean over the time from the first to the last submission.
    """
    submit, run_time = table.submit, table.execution
    begin, end = submit.min(), submit.max()
    there = np.minimum(table.finish, end) - submit
    user = table.user_number
    batches = np.unique(np.column_stack([user, submit]), axis=0)
    return {
        "mean_run_time": float(run_time.mean()),
        "mean_area": float(table.area.mean()),
        "mean_batch_width": len(submit) / len(batches),
        "share_to_1_min": float(np.mean(run_time <= MINUTE)),
        "share_over_10_min": float(np.mean(run_time > 10 * MINUTE)),
        "mean_jobs_in_system": float(there.sum() / (end - begin)) if end > begin else float("nan"),
    }
