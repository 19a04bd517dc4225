"""Which job of one run is which of another."""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.report.comparing.job_differences import TOLERANCE

MATCHED = 0.5
"""Share of the smaller run's jobs that must have a counterpart."""
ALIKE = 0.9
"""Share of these that must be the same jobs."""

Rows = NDArray[np.int64]


class Match(msgspec.Struct, frozen=True):
    """Pairs of jobs, as row numbers."""

    rows_a: Rows
    rows_b: Rows
    """Of the counterparts of ``rows_a``, in the same order."""
    only_a: Rows
    only_b: Rows
    same_jobs: bool
    """Whether the pairs are the same jobs, so that they can be compared one by one."""
    note: str
    """How jobs were matched, or why they cannot be."""


def match_jobs(a: pd.DataFrame, b: pd.DataFrame) -> Match:
    """Match jobs by workload and id, and judge whether they are the same jobs.

    Replay of a log names the workload w0 if it is rigid and dyn if users react: if the workloads
    have little in common, jobs are matched by their ids alone, as long as these are unique.

    Populations that are drawn by chance number their jobs 1, 2, ...: with another seed, id 7 is
    another job. A pair is the same job if its recorded submission time is the same, or if user,
    profile (what it computes) and processors are. Where these are not :data:`ALIKE` of the
    pairs, or the pairs not :data:`MATCHED` of the jobs, only distributions can be compared.
    """
    rows_a, rows_b = _joined(a, b, ["workload", "job"])
    fewest = min(len(a), len(b))
    note = "Jobs are matched by workload and id."
    if len(rows_a) < MATCHED * fewest and a["job"].is_unique and b["job"].is_unique:
        by_id = _joined(a, b, ["job"])
        if len(by_id[0]) > len(rows_a):
            rows_a, rows_b = by_id
            workloads = [", ".join(sorted(frame["workload"].unique())[:3]) for frame in (a, b)]
            note = (
                "Jobs are matched by id alone, since their workloads have different names: "
                f"{workloads[0]} in A, {workloads[1]} in B."
            )
    alike = _share_alike(a.iloc[rows_a], b.iloc[rows_b])
    few = len(rows_a) < MATCHED * fewest
    if few:
        note = (
            f"Only {len(rows_a)} ids are in both runs, of {len(a)} jobs in A and {len(b)} in B: "
            "these are not the same jobs, so distributions and metrics are compared."
        )
    elif alike < ALIKE:
        note = (
            f"{len(rows_a)} ids are in both runs, but only {alike:.0%} of them are the same job "
            "(recorded submission, or user, profile and processors): a population that was drawn "
            "anew, or another log. So distributions and metrics are compared."
        )
    only_a, only_b = (
        np.setdiff1d(np.arange(len(run)), rows) for run, rows in ((a, rows_a), (b, rows_b))
    )
    return Match(rows_a, rows_b, only_a, only_b, not few and alike >= ALIKE, note)


def _joined(a: pd.DataFrame, b: pd.DataFrame, keys: list[str]) -> tuple[Rows, Rows]:
    both = (
        a[keys]
        .assign(row_a=np.arange(len(a)))
        .merge(b[keys].assign(row_b=np.arange(len(b))), on=keys, how="inner", validate="1:1")
    )
    return both["row_a"].to_numpy(np.int64), both["row_b"].to_numpy(np.int64)


def _share_alike(a: pd.DataFrame, b: pd.DataFrame) -> float:
    if not len(a):
        return 0.0

    def equal(name: str) -> NDArray[np.bool_]:
        return np.asarray(a[name].to_numpy() == b[name].to_numpy())

    unknown = (a["user"].to_numpy() == "") | (b["user"].to_numpy() == "")
    shift = np.abs(a["original"].to_numpy() - b["original"].to_numpy())
    # A rejected job got no processors, and tells nothing by that.
    size = equal("size") | (a["size"].to_numpy() == 0) | (b["size"].to_numpy() == 0)
    of_user = equal("user") | unknown
    same = of_user & ((shift <= TOLERANCE) | (equal("profile") & size))
    return float(same.mean())
