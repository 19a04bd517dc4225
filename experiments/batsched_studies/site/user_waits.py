"""Who waits longer than as it is: users of the same name in the same replication, side by side."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from batsched_py.report import CampaignResults
from batsched_py.report.kit import SEED, Interval, mean_interval
from batsched_py.support.statistics import Floats
from batsched_py.units import MINUTE
from batsched_studies.site.measures import USERS

if TYPE_CHECKING:
    import pandas as pd

LEAST_SHARE, LEAST_TIME = 0.1, MINUTE
"""By how much a user's mean wait must differ to be another: a share of it, and seconds."""


def shares(
    results: CampaignResults, changed: pd.DataFrame, base: pd.DataFrame
) -> dict[str, Interval]:
    """Return the shares of users who wait ``longer`` and ``shorter``, per cent, over the pairs.

    ``changed`` and ``base`` are rows of runs, each pair of the same replication. The ends of the
    intervals are shares, too: from 0 to 100.
    """
    waits = {row[SEED]: waits_of(results, row) for _, row in base.iterrows() if SEED in row}
    pairs = [
        _pair(waits_of(results, row), waits[row[SEED]])
        for _, row in changed.iterrows()
        if row.get(SEED) in waits
    ]
    longer, shorter = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return {"longer": _as_shares(longer), "shorter": _as_shares(shorter)}


def _as_shares(values: Floats) -> Interval:
    found = mean_interval(values)
    low, high = (float(np.clip(end, 0, 100)) for end in (found.low, found.high))
    return Interval(found.value, low, high, found.nb)


def waits_of(results: CampaignResults, run: Any) -> dict[str, float]:
    """Return the mean wait of each user whose jobs were measured, seconds, as the run stored it."""
    waits: dict[str, float] = results.settings(run)["metrics"].get(USERS, {})
    return waits


def _pair(ours: dict[str, float], base: dict[str, float]) -> tuple[float, float]:
    both = [user for user in ours if user in base]
    if not both:
        return nan, nan
    after, before = (np.array([side[user] for user in both]) for side in (ours, base))
    return _share_longer(after, before), _share_longer(before, after)


def _share_longer(ours: Floats, other: Floats) -> float:
    longer = ours > other + np.maximum(LEAST_SHARE * other, LEAST_TIME)
    return float(100 * longer.mean())
