"""From which job on users who start from nothing tell no longer the start: MSER-5 over waits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.metrics import mser5
from batsched_py.report import CampaignResults, Table
from batsched_py.units import WEEK
from batsched_studies.dynamic_think_times import TEXTS
from batsched_studies.dynamic_think_times.cases import CASE, DAILY
from batsched_studies.dynamic_think_times.measures import BEGIN, END

Floats = NDArray[np.float64]


def warm_up(results: CampaignResults) -> Table | None:
    """Return where the rule would cut each case; None if the jobs of the runs were not kept."""
    runs = results.runs
    if runs.empty or results.kept_jobs(runs.iloc[0]) is None:
        return None
    runs = runs.assign(reading=runs.get("reading", DAILY))
    rows = []
    for case, replications in runs.groupby(list(CASE), sort=False):
        jobs = [results.kept_jobs(run) for _, run in replications.iterrows()]
        kept = [of_run for of_run in jobs if of_run is not None and len(of_run)]
        if kept:
            rows.append(dict(zip(CASE, case, strict=True)) | cut(kept))
    return TEXTS.table("warm_up", rows)


def cut(jobs: list[pd.DataFrame]) -> dict[str, Any]:
    """Return the cut of a case by the jobs of each replication, and the waits (s) that it changes.

    ``jobs`` are as many as the replication with the fewest has: so far waits are averaged.
    ``week`` is the one in which the first job is submitted that would be measured, in the median.
    """
    ordered = [of_run.sort_values("submission_time", kind="stable") for of_run in jobs]
    waits = [of_run["waiting_time"].to_numpy(dtype=float) for of_run in ordered]
    nb_jobs = min(map(len, waits))
    first = mser5(np.mean([of_run[:nb_jobs] for of_run in waits], axis=0))
    inner = [of_run["finish_time"].between(BEGIN, END, inclusive="left") for of_run in ordered]
    of_inner = [of_run[which.to_numpy()] for of_run, which in zip(waits, inner, strict=True)]
    row = {"runs": len(jobs), "jobs": nb_jobs, "wait": _mean_of_means(waits)}
    row |= {"wait_inner": _mean_of_means(of_inner)}
    if first is None:  # no end of the beginning was found
        return row | dict.fromkeys(("cut", "share", "week", "wait_after"), np.nan)
    submits = [of_run["submission_time"].iloc[first] for of_run in ordered]
    row |= {"cut": first, "share": 100 * first / nb_jobs}
    row |= {"week": 1 + float(np.median(submits)) / WEEK}
    return row | {"wait_after": _mean_of_means([of_run[first:] for of_run in waits])}


def _mean_of_means(waits: list[Floats]) -> float:
    means = [of_run.mean() for of_run in waits if len(of_run)]
    return float(np.mean(means)) if means else np.nan
