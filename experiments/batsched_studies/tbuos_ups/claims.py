"""The claims of the study, and what the runs of a campaign say about them.

Source: N. Zakay, PhD thesis, chapters 4 and 5. Most compare two systems, seed by seed: the same
seed is the same people on both, so that their difference is not drowned by that of the seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.metrics import saturated
from batsched_py.report.kit.pairing import paired
from batsched_py.report.kit.selection import log_name
from batsched_py.support.statistics import Interval, finite, paired_ratio
from batsched_studies.tbuos_ups import PUBLISHED

OPEN = ("rigid", "resampled")
FEEDBACK = ("adjusted", "distribution", "fluid", "fluid 5")
TBUOS = ("tbuos",)
REPLAYS = (*OPEN, *FEEDBACK, *TBUOS)
LOAD, RECENCY = (
    tuple(f"ups {rank} {a_user}" for a_user in ("0", "0.2", "0.5", "0.8", "1"))
    for rank in ("load", "recency")
)
EASY = ("easy", "easy strict")
"""Of EASY there are two readings: where they differ, the thesis does not say which is its own."""
SYSTEMS = ("fcfs", *EASY, *LOAD, *RECENCY, "easy twice", "easy 336", "easy 430")

THROUGHPUT = "throughput_to_last_submission"
ACTIVITY = "mean_activity_length"
JOBS = "nb_jobs"
WAIT = "mean_waiting_time"
WEEKS = "active_weeks_per_user"
SESSION = "mean_session_length_arrival_60"

SAME, EQUAL, DIFFERENT, GREATER, NOT_LESS = "same", "equal", "different", "greater", "not less"
TOLERANCE = 0.02
"""Up to this relative difference things are called equal. What waits or runs at the last submission
is not done by then, on one system a little more than on the other."""
NAMES = {
    THROUGHPUT: "throughput",
    ACTIVITY: "activity length",
    JOBS: "jobs submitted",
    WEEKS: "active weeks per user",
    SESSION: "session length",
}


@dataclass(frozen=True)
class Claim:
    """What is said of ``metric`` on one system in relation to another, under some replays."""

    number: str
    replays: tuple[str, ...]
    system: str
    base: str
    metric: str
    expected: str
    base_replay: str = ""
    """Replay of the base, if it is another one."""


CLAIMS = (
    Claim("i", OPEN, "easy", "fcfs", JOBS, SAME),
    Claim("i", OPEN, "easy", "fcfs", THROUGHPUT, EQUAL),
    Claim("ii", FEEDBACK, "easy", "fcfs", JOBS, SAME),
    Claim("ii", FEEDBACK, "easy", "fcfs", ACTIVITY, DIFFERENT),
    Claim("iii", TBUOS, "easy", "fcfs", THROUGHPUT, GREATER),
    Claim("iii", TBUOS, "easy", "fcfs", JOBS, GREATER),
    *(Claim("v", TBUOS, system, "easy", THROUGHPUT, NOT_LESS) for system in LOAD),
    *(Claim("v", TBUOS, more, less, THROUGHPUT, NOT_LESS) for less, more in pairwise(LOAD)),
    *(Claim("v", TBUOS, more, less, THROUGHPUT, NOT_LESS) for less, more in pairwise(LOAD[::2])),
    Claim("v", TBUOS, LOAD[-1], "easy", THROUGHPUT, GREATER),
    *(Claim("v", OPEN, system, "easy", THROUGHPUT, EQUAL) for system in (*LOAD, *RECENCY)),
    Claim("vi", TBUOS, "easy twice", "easy", THROUGHPUT, GREATER),
    Claim("vi", OPEN, "easy twice", "easy", THROUGHPUT, EQUAL),
    # Without weight the rank only orders what is backfilled: there the claim says little.
    *(
        Claim("vii", TBUOS, load, recency, THROUGHPUT, GREATER)
        for load, recency in zip(LOAD[1:], RECENCY[1:], strict=True)
    ),
    Claim("ix", TBUOS, "easy 430", "easy 336", THROUGHPUT, GREATER),
    Claim("ix", OPEN, "easy 430", "easy 336", THROUGHPUT, EQUAL),
    Claim("x", TBUOS, "easy", "easy", WEEKS, GREATER, base_replay="resampled"),
    Claim("x", ("resampled",), "easy", "easy", SESSION, GREATER, base_replay="tbuos"),
)
TITLES: dict[str, str] = PUBLISHED["claims"]


@dataclass(frozen=True)
class Effect:
    """Ratio of the means of a metric on two systems over pairs of seeds, and whether as claimed."""

    claim: str
    log: str
    replay: str
    ratio: str
    metric: str
    which: str
    """``all`` pairs, or the ``stable`` ones, where neither run is saturated."""
    pairs: int
    saturated: int
    """Pairs with a saturated run; of open replays only, since users who react wait for jobs."""
    above: int
    """Pairs with a ratio above 1."""
    least: float
    value: float
    low: float
    """95 % bootstrap interval over the pairs, as :attr:`high`; nan for one pair."""
    high: float
    most: float
    expected: str
    holds: bool


Place = tuple[str, str, str]
"""Log, replay and system."""
Runs = Mapping[Place, pd.DataFrame]
"""The runs by log, replay and system; of each a row by seed."""


def read(rows: pd.DataFrame) -> Runs:
    """Return the runs of a campaign by log, replay and system, in the order of the study."""
    if rows.empty:
        return {}
    rows = rows.assign(
        log=rows["log"].map(log_name), system=[_system(row) for _, row in rows.iterrows()]
    )
    groups = rows.groupby(["log", "replay", "system"])
    runs = {place: by_seed.set_index("seed") for place, by_seed in groups}
    places = product(rows["log"].unique(), REPLAYS, SYSTEMS)
    return {place: runs[place] for place in places if place in runs}


def _system(row: Any) -> str:
    a_user = row.get("a_user")
    weighted = a_user is not None and a_user == a_user
    return f"{row['system']} {a_user:g}" if weighted else str(row["system"])


def logs_of(runs: Runs) -> list[str]:
    """Return the logs, in order."""
    return list(dict.fromkeys(log for log, _, _ in runs))


def is_saturated(runs: pd.DataFrame) -> NDArray[np.bool_]:
    """Return of each run whether its backlog grows by more than a job a week."""
    return np.array([saturated(growth) for growth in runs["backlog_growth"]], dtype=bool)


def column(runs: pd.DataFrame, metric: str) -> NDArray[np.float64]:
    """Return the values of a metric that are defined, run by run."""
    return finite(runs[metric]) if metric in runs else np.empty(0)


def effects(runs: Runs) -> list[Effect]:
    """Return the comparisons that the runs allow, claim by claim."""
    return [
        effect
        for claim, log in product(CLAIMS, logs_of(runs))
        for replay in claim.replays
        for effect in _effects(claim, runs, log, replay)
    ]


def _effects(claim: Claim, runs: Runs, log: str, replay: str) -> Iterator[Effect]:
    places = ((log, replay, claim.system), (log, claim.base_replay or replay, claim.base))
    if not all(place in runs for place in places):
        return
    ours, base = paired(*(runs[place].sort_index() for place in places))
    if claim.base_replay:
        compared = (log, f"{replay} / {claim.base_replay}", claim.system)
    else:
        compared = (log, replay, f"{claim.system} / {claim.base}")
    judged_stable = replay in OPEN and not claim.base_replay
    unstable = (is_saturated(ours) | is_saturated(base)) & judged_stable
    if len(ours):
        yield _effect(claim, compared, "all", int(unstable.sum()), ours, base)
    if unstable.any() and not unstable.all():
        yield _effect(claim, compared, "stable", 0, ours[~unstable], base[~unstable])


def _effect(
    claim: Claim,
    compared: tuple[str, str, str],
    which: str,
    nb_saturated: int,
    ours: pd.DataFrame,
    base: pd.DataFrame,
) -> Effect:
    mine, theirs = (side[claim.metric].to_numpy(dtype=float) for side in (ours, base))
    ratios = mine / theirs
    mean = paired_ratio(mine, theirs)
    counts = (len(ratios), nb_saturated, int((ratios > 1).sum()))
    spread = (float(ratios.min()), mean.value, mean.low, mean.high, float(ratios.max()))
    holds = _as_expected(claim.expected, mean, bool((ratios == 1).all()))
    told = (claim.number, *compared, claim.metric, which)
    return Effect(*told, *counts, *spread, claim.expected, holds)


def _as_expected(expected: str, ratio: Interval, same: bool) -> bool:
    several = ratio.nb > 1
    return {
        SAME: same,
        EQUAL: abs(ratio.value - 1) <= TOLERANCE,
        DIFFERENT: abs(ratio.value - 1) > TOLERANCE,
        GREATER: (ratio.low if several else ratio.value) > 1,
        NOT_LESS: (ratio.high if several else ratio.value) >= 1,
    }[expected]
