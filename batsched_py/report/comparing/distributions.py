"""Two runs whose jobs are not the same: how their distributions differ."""

from __future__ import annotations

import numpy as np
import pandas as pd

from batsched_py.report.comparing.job_means import Sums, sums_of, unpaired
from batsched_py.report.comparing.tables import CHANGES, difference, readable
from batsched_py.report.document import Table
from batsched_py.report.kit.tables import columns
from batsched_py.support.statistics import quantiles as quantiles_of

QUANTITIES = {
    "wait": ("waiting time", "s"),
    "slowdown": ("bounded slowdown", "1"),
    "turnaround": ("turnaround time", "s"),
    "lateness": ("lateness", "s"),
    "execution": ("run time", "s"),
    "size": ("processors", "1"),
}
AT = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def means(a: pd.DataFrame, b: pd.DataFrame) -> Table:
    """Return the means over the jobs of two runs, with intervals of their differences.

    Each run is a sample of jobs, or of users with all their jobs.
    """
    names = _shown(a, b)
    jobs = [sums_of(run[names].to_numpy(np.float64)) for run in (a, b)]
    by_jobs = unpaired(jobs[0], jobs[1])
    by_user = unpaired(_by_user(a, names), _by_user(b, names))
    rows = []
    for at, name in enumerate(names):
        title, unit = QUANTITIES[name]
        mean_a, mean_b = (float(sums.means[at]) for sums in jobs)
        shift, relative = difference(mean_a, mean_b)
        row = {"quantity": title, "a": mean_a, "b": mean_b, "difference": shift, "unit": unit}
        row |= {"relative": relative}
        for drawn, interval in (("jobs", by_jobs[at]), ("users", by_user[at])):
            row |= {f"{drawn}_low": interval.low, f"{drawn}_high": interval.high}
        rows.append(row)
    shown = (
        *columns("quantity", unit_shown="unit", a_shown="mean, A", b_shown="B"),
        *CHANGES,
        *columns(jobs_low_shown="by jobs: from", jobs_high_shown="to"),
        *columns(users_low_shown="by users: from", users_high_shown="to"),
    )
    note = (
        f"{len(a)} jobs of {_users(a)} users in A, {len(b)} of {_users(b)} in B. Intervals of "
        "B - A (95 %) take the jobs of each run for a sample, or its users with all their jobs, "
        "which is wider since a user's jobs are alike. The two runs are independent samples: "
        "nothing pairs their jobs. They are of one run each; campaigns compare seeds."
    )
    ends = [f"{drawn}_{end}" for drawn in ("jobs", "users") for end in ("low", "high")]
    frame = readable(pd.DataFrame(rows), ("a", "b", "difference", *ends), "quantity")
    return Table("means", "Means", frame, shown, note)


def quantiles(a: pd.DataFrame, b: pd.DataFrame) -> Table:
    """Return the quantiles of the distributions over the jobs of two runs."""
    rows = []
    for name in _shown(a, b):
        title, unit = QUANTITIES[name]
        for run, jobs in (("A", a), ("B", b)):
            values = dict(zip(map(_column, AT), quantiles_of(jobs[name], AT), strict=True))
            rows.append({"quantity": title, "unit": unit, "run": run, **values})
    titles = {f"{_column(at)}_shown": f"{at:.0%}" for at in AT}
    shown = columns("quantity", {"unit_shown": "unit"}, "run", titles)
    frame = readable(pd.DataFrame(rows), [_column(at) for at in AT], "quantity")
    return Table("quantiles", "Quantiles over jobs", frame, shown)


def _by_user(jobs: pd.DataFrame, names: list[str]) -> Sums:
    named = jobs[jobs["user"] != ""]
    users = pd.factorize(named["user"])[0].astype(np.int64)
    return sums_of(named[names].to_numpy(np.float64)).by(users)


def _column(at: float) -> str:
    return f"q{round(100 * at):02d}"


def _shown(a: pd.DataFrame, b: pd.DataFrame) -> list[str]:
    late = a["lateness"].any() or b["lateness"].any()
    return [name for name in QUANTITIES if name != "lateness" or late]


def _users(jobs: pd.DataFrame) -> int:
    return int(jobs.loc[jobs["user"] != "", "user"].nunique())
