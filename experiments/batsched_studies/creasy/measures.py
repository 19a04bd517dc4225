"""The measures of the study for each run, beyond the metrics.

Mean jobs, batches, jobs that are there, slowdown by class of run time, how often users would go
on, and the main numbers without the first weeks.
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
"""Jobs submitted so long after the first are measured once more by themselves."""


def measure(result: Result) -> dict[str, float]:
    """Return further numbers of a run; nothing for one in which no job ran."""
    table = result.table.only_ran
    return numbers(table) if len(table.submit) else {}


def numbers(table: JobTable) -> dict[str, float]:
    """Return means over the jobs, all of which ran: SI units.

    A batch is the jobs that a user submits at one instant. ``mean_jobs_in_system`` counts those
    that wait or run, in the mean over the time from the first to the last submission.
    ``mean_continuation`` is the mean of the chance that a user goes on after a job, and in classes.
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
    return found | late(table)


def late(table: JobTable) -> dict[str, float]:
    """Return the main numbers of the jobs submitted :data:`LATE` after the first, if there are any.

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
