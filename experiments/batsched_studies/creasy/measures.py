"""The measures of the study for each run, beyond the metrics.

Mean jobs, batches, jobs in the system, slowdown by class of run time, chances that users continue,
and the main numbers without the first weeks.
"""

from __future__ import annotations

import numpy as np

from batsched_py import Result
from batsched_py.metrics import JobTable, mean_bounded_slowdown
from batsched_py.units import HOUR, MINUTE, WEEK
from batsched_users.behaviour.think_times import continuation

CLASSES = {
    "to_1_min": (0, MINUTE),
    "1_to_10_min": (MINUTE, 10 * MINUTE),
    "over_10_min": (10 * MINUTE, np.inf),
}
"""The paper's classes of run times: above the first number of seconds, up to the second."""
LATE = 4 * WEEK
"""Seconds after the first submission from which on jobs are also measured separately."""


def measure(result: Result) -> dict[str, float]:
    """Return the measures of the study for a run; empty if no job ran."""
    table = result.table.only_ran
    return compute_numbers(table) if len(table.submit) else {}


def compute_numbers(table: JobTable) -> dict[str, float]:
    """Return means over the jobs of a table in which all jobs ran, in SI units.

    A batch is the jobs that a user submits at one instant. ``mean_jobs_in_system`` counts waiting
    and running jobs, on average from the first to the last submission. ``mean_continuation`` is
    the mean chance that a user continues after a job, also by class of run time.
    """
    submit, run_time = table.submit, table.execution
    begin, end = submit.min(), submit.max()
    there = np.minimum(table.finish, end) - submit
    user = table.user_number
    batches = np.unique(np.column_stack([user, submit]), axis=0)
    found = {
        "mean_run_time": float(run_time.mean()),
        "mean_area": float(table.area.mean()),
        "mean_batch_width": len(submit) / len(batches),
        "share_to_1_min": float(np.mean(run_time <= MINUTE)),
        "share_over_10_min": float(np.mean(run_time > 10 * MINUTE)),
        "mean_jobs_in_system": float(there.sum() / (end - begin)) if end > begin else float("nan"),
        "mean_continuation": float(continuation(table.turnaround / MINUTE).mean()),
    }
    for name, (above, most) in CLASSES.items():
        rows = (run_time > above) & (run_time <= most)
        if rows.any():
            of_class = table.select(rows)
            found |= {
                f"mean_slowdown_{name}": float(of_class.stretch.mean()),
                f"mean_bounded_slowdown_{name}": mean_bounded_slowdown(of_class),
                f"mean_continuation_{name}": float(
                    continuation(of_class.turnaround / MINUTE).mean()
                ),
                f"spread_of_response_{name}": float(np.log(of_class.turnaround).std()),
            }
    return found | measure_late_jobs(table)


def measure_late_jobs(table: JobTable) -> dict[str, float]:
    """Return the main numbers of the jobs submitted :data:`LATE` or more after the first job.

    Throughput (per hour) is of the jobs that end from then on up to the last submission.
    """
    begin, end = table.submit.min() + LATE, table.submit.max()
    if end <= begin:
        return {}
    there = table.select(table.submit >= begin)
    ended = (table.finish > begin) & (table.finish <= end)
    return {
        "late_throughput": float(ended.sum() / ((end - begin) / HOUR)),
        "late_turnaround_time": float(there.turnaround.mean()),
        "late_slowdown": float(there.stretch.mean()),
    }
