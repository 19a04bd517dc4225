"""Compares the users in each part of a lengthened log with the users of the log (figure 10)."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from batsched_py.report import CampaignResults
from batsched_py.report.kit import Runs
from batsched_studies.resampling.positions import select_plain_runs
from batsched_users.measures.job_columns import JobColumns, columns_of_frame
from batsched_users.measures.marginals import Marginals, measure_marginals
from batsched_users.studies.thresholds import ks_distance_of_samples

PARTS = (1, 3, 5)
"""The numbers of the parts, of five, that the thesis shows."""
MARGINALS = {
    "jobs": "jobs of a user",
    "sessions": "sessions of a user",
    "session_length": "session length of a user",
    "work": "work of a user",
    "arrival": "first submission",
    "departure": "last submission",
    "activity": "activity of a user",
}


def compare_parts(results: CampaignResults, runs: Runs) -> Iterator[dict[str, Any]]:
    """Yield how far the users of variants and of parts are from the users of the log.

    ``distance`` is the largest difference of the cumulative distributions over the users
    (Kolmogorov and Smirnov), with the jobs of the part only. Part 0 is a variant of the log's own
    length. Only for runs whose jobs were stored.
    """
    for log in runs.labels("log"):
        of_log = runs.where(log=log)
        longer = of_log.where(workload="five times")
        recorded = next(_jobs(results, of_log.where(workload="recorded")), None)
        if recorded is None or not len(longer):
            continue
        theirs = measure_marginals(recorded)
        length = float(np.ptp(recorded.submit))
        variants = _jobs(results, select_plain_runs(of_log.where(workload="variants")))
        for number, jobs in enumerate(variants):
            yield from _distances(log, 0, number, measure_marginals(jobs), theirs)
        for number, jobs in enumerate(_jobs(results, longer)):
            since = jobs.submit - jobs.submit.min()
            for part in PARTS:
                inside = (since >= (part - 1) * length) & (since < part * length)
                if inside.any():
                    ours = measure_marginals(_begun(jobs, inside))
                    yield from _distances(log, part, number, ours, theirs)


def _jobs(results: CampaignResults, runs: Runs) -> Iterator[JobColumns]:
    """Yield the jobs of each run, by submission from second 0 on."""
    for _, run in runs.frame.iterrows():
        kept = results.kept_jobs(run)
        if kept is not None and len(kept):
            jobs = columns_of_frame(kept)
            yield _begun(jobs, np.ones(len(jobs), dtype=np.bool_))


def _begun(jobs: JobColumns, inside: Any) -> JobColumns:
    chosen = jobs.select(inside)
    first = chosen.submit.min()
    return msgspec.structs.replace(chosen, submit=chosen.submit - first, end=chosen.end - first)


def _distances(
    log: str, part: int, run: int, ours: Marginals, theirs: Marginals
) -> Iterator[dict[str, Any]]:
    for name in MARGINALS:
        apart = ks_distance_of_samples(getattr(ours, name), getattr(theirs, name))
        yield {"log": log, "part": part, "run": run, "of": name, "distance": apart}


def compare_with_variants(of_log: pd.DataFrame) -> pd.DataFrame:
    """Return a test for each part of a log: are its users farther from the log than variants'?

    A distance is a multiple of the variants' median for the same marginal. The largest one over all
    marginals counts, so that there is one test for a part: ``times`` are the distances of the runs,
    ``p`` is that of their rank sum among the variants (Mann and Whitney, one-sided: farther), and
    ``least`` the smallest possible ``p`` with these numbers.
    """
    from scipy.stats import mannwhitneyu  # which takes seconds to import

    usual = of_log[of_log["part"] == 0].groupby("of")["distance"].median()
    multiples = (of_log["distance"] / of_log["of"].map(usual)).fillna(0.0)  # 0 of 0
    farthest = multiples.groupby([of_log["part"], of_log["run"]]).max()
    variants = farthest[0]
    rows = []
    for part in [part for part in PARTS if part in farthest]:
        times = farthest[part].sort_values()
        p = float(mannwhitneyu(times, variants, alternative="greater").pvalue)
        least = 1 / comb(len(times) + len(variants), len(times))
        row = {"part": part, "times": tuple(times), "p": p, "least": least}
        rows.append(row | {"variants": len(variants)})
    return pd.DataFrame(rows)
