"""The effects of more or fewer users, and of flurries (figures 11 to 16)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.metrics import saturated
from batsched_py.report.kit import Runs, cells, paired, paired_difference, paired_ratio
from batsched_py.support.statistics import finite

HOURS = [f"share_at_{hour:02d}" for hour in range(24)]
DAYS = [f"share_on_{day}" for day in range(7)]
ROUGHNESS, BUSIEST_WEEK = "roughness", "busiest_week"
FLURRY_METRICS = {
    "wait": "mean wait",
    "wait_99": "99 % of the waits",
    "slowdown": "bounded slowdown",
    "throughput": "jobs/h",
    BUSIEST_WEEK: "busiest week",
}
"""The metrics of jobs outside flurries; the busiest week is of all jobs."""


def list_loads(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield a row for each log and load: the share of stable runs, and metrics of all runs.

    ``stable`` is the share of runs whose backlog does not grow by more than a job a week; ``fewer``
    is by how much it is smaller than with the log's users, in pairs of equal seeds. ``utilisation``
    (%) is the mean over all runs, ``most_stable`` the largest of a stable run. ``apart_hours`` and
    ``apart_days`` are the distances of submissions by hour and by day from the log (half the sum of
    the differences of the shares). ``roughness`` is the variation of submissions by hour relative
    to their mean; ``of_log`` is the roughness of the log.
    """
    variants = runs.where(workload="variants")
    if "load" not in variants.frame:
        return
    for log in variants.labels("log"):
        recorded = runs.where(log=log, workload="recorded")
        frame = variants.where(log=log).frame
        if frame["load"].isna().all():
            continue
        filled = frame.assign(load=frame["load"].fillna(1.0))  # as many as in the log
        by_load = Runs(filled, runs.quantities.values()).by("load")
        usual = _stable(by_load[1.0]) if 1.0 in by_load else pd.Series(dtype=bool)
        for load, of_load in by_load.items():
            stable = _stable(of_load)
            fewer = paired_difference(*paired(usual.astype(float), stable.astype(float)))
            utilisation = of_load.values("utilisation")
            yield {
                "log": log,
                "load": load,
                "runs": len(of_load),
                "stable": float(stable.mean()),
                **cells(fewer, "fewer", "fewer_low", "fewer_high", nb="pairs"),
                "utilisation": float(utilisation.mean()),
                "most_stable": float(utilisation[stable].max()) if stable.any() else np.nan,
                "wait": float(of_load.values("wait").mean()),
                ROUGHNESS: float(of_load.values(ROUGHNESS).mean()),
                "of_log": float(recorded.values(ROUGHNESS).mean()),
                "apart_hours": _apart(of_load, recorded, HOURS),
                "apart_days": _apart(of_load, recorded, DAYS),
            }


def _stable(runs: Runs) -> pd.Series[bool]:
    """Return for each seed whether the backlog grows by no more than a job a week."""
    return ~runs.values("backlog_growth").map(saturated).astype(bool)


def _apart(runs: Runs, recorded: Runs, shares: list[str]) -> float:
    """Return how far the mean shares of the runs are from those of the log, 0 to 1."""
    ours, theirs = (
        np.array([finite(side.values(name)).mean() for name in shares])
        if len(side) and set(shares) <= {*side.frame}
        else np.full(len(shares), np.nan)
        for side in (runs, recorded)
    )
    return float(np.abs(ours - theirs).sum() / 2)


def list_flurries(runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield a row for each log, rate of flurries and metric: the effect on the other users' jobs.

    There is a ratio to runs without flurries, and one to the next lower rate (``step``). Pairs have
    equal seeds, and so the same users, except for users that flurries replace.
    """
    of_flurries = runs.where(workload="flurries")
    for log in of_flurries.labels("log"):
        by_rate = of_flurries.where(log=log).by("rare_per_week")
        none = by_rate.get(0.0)
        if none is None:
            continue
        for (_, lower), (rate, of_rate) in pairwise(sorted(by_rate.items())):
            for metric in FLURRY_METRICS:
                ours, base = paired(of_rate.values(metric), none.values(metric))
                if len(ours):
                    ratio = paired_ratio(ours, base)
                    step = paired_ratio(*paired(of_rate.values(metric), lower.values(metric)))
                    place = {"log": log, "rate": rate, "metric": metric}
                    level = {"none": float(base.mean()), "with": float(ours.mean())}
                    above = {"above": int((ours > base).sum())}
                    steps = cells(step, "step", "step_low", "step_high")
                    yield place | level | cells(ratio, "ratio", nb="pairs") | steps | above
