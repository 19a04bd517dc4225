"""The measures of the study: metrics of the jobs in the inner weeks."""

from __future__ import annotations

from batsched_py import Result
from batsched_py.metrics import METRICS
from batsched_py.units import WEEK

NAMES = (
    "squashed_area",
    "mean_turnaround_time_by_area",
    "mean_turnaround_time",
    "mean_waiting_time",
    "mean_slowdown",
    "area_turnaround_per_processor",
    "mean_bounded_slowdown",
)
BEGIN, END = 1 * WEEK, 9 * WEEK
"""Second 0 is the Monday with which the first week begins."""


def measure(result: Result) -> dict[str, float]:
    """Return the metrics of the jobs that end in weeks 2 to 9, as ``NAME_weeks_2_to_9``.

    ``warm_up`` and ``cool_down`` of a campaign cannot select them: they go by submission times, and
    do not reduce the work of the machine. Empty for runs without such a job.
    """
    table = result.table.only_ran
    inner = table.select((table.finish >= BEGIN) & (table.finish < END))
    if not len(inner.submit):
        return {}
    values = {name: METRICS[name].value(inner) for name in NAMES}
    values["nb_ran"] = len(inner.submit)
    return {f"{name}_weeks_2_to_9": float(v) for name, v in values.items() if v is not None}
