"""Compares the jobs of a run with the distributions of its users, and finds the warm-up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py import Result
from batsched_py.metrics.warm_up import mser5
from batsched_py.units import DAY, HOUR
from batsched_users.behaviour.empirical_distributions import ks_distance
from batsched_users.learning.learn_site import collect_values
from batsched_users.measures.job_columns import JobColumns, columns_of_frame
from batsched_users.models.site import SETS, SiteDistributions

LIMITS = ("too_wide", "run_times", "longest_run_time", "largest_size")
"""Options of site-level users that change what they draw from."""


def measure(result: Result) -> dict[str, float]:
    """Return the distances of the jobs from their distributions, and the warm-up by MSER-5.

    ``distance_sizes``, ...: Kolmogorov-Smirnov. ``mser5_jobs`` and ``mser5_response`` are days,
    ``whole_...`` and ``cut_...`` are jobs/h and seconds over all days and without the warm-up.
    """
    jobs = result.jobs
    run = result.settings["run"]
    drawn = read_distributions(run["user_options"] or {}, result.settings["nb_processors"])
    found = {
        f"distance_{name}": ks_distance(values, getattr(drawn, name))
        for name, values in collect_values(select_columns(jobs)).items()
    }
    submit, response = (jobs[name].to_numpy() for name in ("submission_time", "turnaround_time"))
    return found | find_warm_up(submit, response)


def read_distributions(options: Mapping[str, Any], nb_res: int) -> SiteDistributions:
    """Read the distributions of site-level users with these options on ``nb_res`` processors."""
    name = options.get("distributions") or "pooled"
    limits = {key: options[key] for key in LIMITS if key in options}
    return SiteDistributions.read(SETS.get(name, name)).limit(nb_res, **limits)


def select_columns(jobs: pd.DataFrame) -> JobColumns:
    """Return the jobs of a table like ``_jobs.csv`` user by user, without requested times."""
    return columns_of_frame(jobs.drop(columns="requested_time", errors="ignore")).by_user()


def find_warm_up(submit: NDArray[np.float64], response: NDArray[np.float64]) -> dict[str, float]:
    """Return the warm-up by MSER-5 in days, and the means with and without the warm-up.

    Nan where the rule finds no end of the beginning.
    """
    day = (submit // DAY).astype(int)
    count = np.bincount(day)
    total = np.bincount(day, weights=response)
    series = {"jobs": count / (DAY / HOUR), "response": total[count > 0] / count[count > 0]}
    found: dict[str, float] = {}
    for name, values in series.items():
        cut = mser5(values)
        found[f"mser5_{name}"] = np.nan if cut is None else cut
        found[f"whole_{name}"] = values.mean()
        found[f"cut_{name}"] = np.nan if cut is None else values[cut:].mean()
    return {name: float(value) for name, value in found.items()}
