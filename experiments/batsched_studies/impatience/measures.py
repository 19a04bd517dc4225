"""The measures of the study: work done in the recorded period, and waits from first submissions."""

from __future__ import annotations

import msgspec
import numpy as np

from batsched_py import Result
from batsched_py.metrics import METRICS, JobTable, busy_within

OF_FIRST_SUBMISSIONS = {
    "given_up_share": "withdrawn_share",
    "given_up_work_share": "withdrawn_work_share",
    "km_wait": "restricted_mean_wait",
    "wait_of_served": "mean_waiting_time",
    "wait_of_given_up": "mean_waiting_time_of_withdrawn",
    "wait_of_all": "mean_waiting_time_of_all",
}
"""The measures that are metrics of the table in which each job has its first submission."""


def measure(result: Result) -> dict[str, float]:
    """Return shares given up, waits (s), and work done as a share of the capacity.

    A job that was submitted again is one job: it waits from its first submission, and is given up
    if its last submission was withdrawn. ``work_in_period`` is the work done between the first and
    the last recorded submission, ``work_of_all`` the work of all jobs that ran, whenever it was
    done, both over processors times that period. Values that are not defined are nan.
    """
    jobs = from_first_submissions(result.table, list(map(str, result.jobs["job_id"])))
    values = {
        name: _number(METRICS[metric].compute(jobs) if len(jobs.submit) else None)
        for name, metric in OF_FIRST_SUBMISSIONS.items()
    }
    return values | _measure_work(result.table)


def from_first_submissions(table: JobTable, ids: list[str]) -> JobTable:
    """Return the last submission of each job as if it had waited from the first one on.

    ``ids`` are of the rows; submissions of a job that was withdrawn have ``+1``, ``+2``, ... after
    its id.
    """
    of_job = [job_id.partition("+")[0] for job_id in ids]
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for row in np.argsort(table.submit, kind="stable").tolist():
        first.setdefault(of_job[row], row)
        last[of_job[row]] = row
    kept = np.array([last[job] for job in first], dtype=np.intp)
    begin = table.submit[np.array(list(first.values()), dtype=np.intp)]
    return msgspec.structs.replace(table.select(kept), submit=begin)


def _measure_work(table: JobTable) -> dict[str, float]:
    recorded = table.original_submit[np.isfinite(table.original_submit)]
    if not len(recorded):
        return {"work_in_period": float("nan"), "work_of_all": float("nan")}
    begin, end = float(recorded.min()), float(recorded.max())
    capacity = float(table.nb_processors or "nan") * (end - begin)
    with np.errstate(divide="ignore", invalid="ignore"):
        done = np.array([busy_within(table, [(begin, end)]), np.nansum(table.area)]) / capacity
    return {"work_in_period": float(done[0]), "work_of_all": float(done[1])}


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
