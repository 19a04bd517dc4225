"""The claims of the study, and the comparisons of runs that decide about them.

Source: N. Zakay, PhD thesis, chapters 4 and 5. Most claims compare two systems seed by seed: a seed
has the same users on both systems, so that differences between seeds cancel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise, product
from math import nan
from typing import Any

import pandas as pd

from batsched_py.metrics import saturated
from batsched_py.report.kit import SEED, Interval, Runs, cells, log_name, paired, paired_ratio
from batsched_studies.choices import Choice
from batsched_studies.tbuos_ups import PUBLISHED

BEGINS = {"active": "resampled", "anywhere": "resampled anywhere"}
"""Where long-term users of open resampling begin: while active, or anywhere in their round."""
REGENERATIONS = {"gap": "tbuos", "none": "tbuos none"}
"""When long-term users of TBUOS begin anew: after a gap as in open resampling, or at once."""
OPEN = ("rigid", *BEGINS.values())
DRAW_NOTHING = {"rigid", "adjusted"}
"""These users have no randomness: their only run is certain."""
FEEDBACK = ("adjusted", "distribution", "fluid", "fluid 5")
TBUOS = tuple(REGENERATIONS.values())
REPLAYS = (*OPEN, *FEEDBACK, *TBUOS)
LOAD, RECENCY = (
    tuple(f"ups {rank} {a_user}" for a_user in ("0", "0.2", "0.5", "0.8", "1"))
    for rank in ("load", "recency")
)
EASY = ("easy", "easy strict")
"""Both interpretations of EASY; the thesis does not say which one it uses."""
SYSTEMS = ("fcfs", *EASY, *LOAD, *RECENCY, "easy twice", "easy 336", "easy 430")

THROUGHPUT = "throughput_to_last_submission"
ACTIVITY = "mean_activity_length"
JOBS = "nb_jobs"
WAIT = "mean_waiting_time"
WEEKS = "active_weeks_per_user"
SESSION = "mean_session_length_arrival_60"
QUEUE = "mean_queue_length"
LONGEST = "longest_wait"
CYCLE, APART, SLOTS = "week_cycle", "week_apart", "share_in_slots"

SAME, EQUAL, DIFFERENT, GREATER, NOT_LESS = "same", "equal", "different", "greater", "not less"
TOLERANCE = 0.02
"""Up to this relative difference values are called equal: jobs that are unfinished at the last
submission differ a little between systems."""
NAMES = {
    THROUGHPUT: "throughput",
    ACTIVITY: "activity length",
    JOBS: "jobs submitted",
    WEEKS: "active weeks per user",
    SESSION: "session length",
    WAIT: "mean wait",
    QUEUE: "waiting jobs",
    LONGEST: "longest wait",
    CYCLE: "weekly cycle",
    APART: "distance from the log's week",
    SLOTS: "submissions in the slots",
}


@dataclass(frozen=True)
class Claim:
    """A claim that compares ``metric`` on two systems under some replays."""

    number: str
    replays: tuple[str, ...]
    system: str
    base: str
    metric: str
    expected: str
    base_replay: str = ""
    """The replay of the base, if it differs."""


CLAIMS = (
    Claim("i", OPEN, "easy", "fcfs", THROUGHPUT, EQUAL),
    Claim("i", OPEN, "easy", "fcfs", JOBS, SAME),
    Claim("ii", FEEDBACK, "easy", "fcfs", JOBS, SAME),
    Claim("ii", FEEDBACK, "easy", "fcfs", ACTIVITY, DIFFERENT),
    Claim("iii", TBUOS, "easy", "fcfs", THROUGHPUT, GREATER),
    Claim("iii", TBUOS, "easy", "fcfs", JOBS, GREATER),
    *(Claim("v", TBUOS, system, "easy", THROUGHPUT, NOT_LESS) for system in LOAD),
    *(Claim("v", TBUOS, more, less, THROUGHPUT, NOT_LESS) for less, more in pairwise(LOAD)),
    *(Claim("v", TBUOS, more, less, THROUGHPUT, NOT_LESS) for less, more in pairwise(LOAD[::2])),
    Claim("v", TBUOS, LOAD[-1], "easy", THROUGHPUT, GREATER),
    *(
        Claim("v, open", OPEN[1:], system, "easy", THROUGHPUT, EQUAL)
        for system in (*LOAD, *RECENCY)
    ),
    Claim("vi", TBUOS, "easy twice", "easy", THROUGHPUT, GREATER),
    Claim("vi", OPEN, "easy twice", "easy", THROUGHPUT, EQUAL),
    # Without weight the rank only orders backfilled jobs, and the claim says little.
    *(
        Claim("vii", TBUOS, load, recency, THROUGHPUT, GREATER)
        for load, recency in zip(LOAD[1:], RECENCY[1:], strict=True)
    ),
    Claim("ix", TBUOS, "easy 430", "easy 336", THROUGHPUT, GREATER),
    Claim("ix", OPEN, "easy 430", "easy 336", THROUGHPUT, EQUAL),
    Claim("x", TBUOS, "easy", "easy", WEEKS, GREATER, base_replay="resampled"),
    Claim("x", ("resampled",), "easy", "easy", SESSION, GREATER, base_replay="tbuos"),
    Claim("xii", TBUOS, "easy", "easy", THROUGHPUT, GREATER, base_replay="rigid"),
    Claim("xiii", TBUOS, LOAD[-1], "easy", WAIT, GREATER),
    Claim("xiv", TBUOS, LOAD[-1], LOAD[2], LONGEST, GREATER),
    Claim("xiv", TBUOS, LOAD[-1], "easy", LONGEST, GREATER),
    Claim("xv", ("rigid",), "easy", "easy", QUEUE, GREATER, base_replay="fluid"),
    Claim("xviii", ("rigid",), "easy", "easy", CYCLE, GREATER, base_replay="adjusted"),
    Claim("xviii", ("adjusted",), "easy", "easy", APART, GREATER, base_replay="fluid"),
    Claim("xviii", ("distribution",), "easy", "easy", APART, GREATER, base_replay="fluid"),
    Claim("xviii", ("distribution",), "easy", "easy", SLOTS, GREATER, base_replay="rigid"),
)
TITLES: dict[str, str] = PUBLISHED["claims"]


CASE = ("log", "replay", "system")
EFFECT = (
    *("claim", "log", "replay", "ratio", "metric", "which", "pairs", "saturated", "above"),
    *("least", "value", "low", "high", "most", "expected", "holds", "nodes"),
)
"""The columns of :func:`compare_systems`."""


def read(frame: pd.DataFrame) -> Runs:
    """Return the runs of a campaign with :data:`CASE`, in the order of the study."""
    if frame.empty:
        return Runs(frame)
    logs = frame["log"].map(log_name)
    named = frame.assign(log=logs, system=_systems(frame), **{SEED: frame["seed"]})
    order = {"log": logs.unique().tolist(), "replay": REPLAYS, "system": SYSTEMS}
    known = named[named["replay"].isin(REPLAYS) & named["system"].isin(SYSTEMS)]
    return Runs(
        known.sort_values(
            list(order), key=lambda column: column.map(order[str(column.name)].index), kind="stable"
        )
    )


def list_choices(runs: Runs) -> Iterator[tuple[Choice, Runs]]:
    """Yield the interpretations of open resampling and of TBUOS that were run, each with its runs.

    In these, the replays are named ``resampled`` and ``tbuos`` whatever the interpretation.
    """
    there = runs.labels("replay") if runs else []
    begins, regenerations = (
        [value for value, name in names.items() if name in there] or list(names)[:1]
        for names in (BEGINS, REGENERATIONS)
    )
    for begin, regeneration in product(begins, regenerations):
        chosen = {BEGINS[begin]: "resampled", REGENERATIONS[regeneration]: "tbuos"}
        others = {*BEGINS.values(), *REGENERATIONS.values()} - {*chosen}
        named = runs.frame
        if runs:
            named = named[~named["replay"].isin(others)].replace({"replay": chosen})
        yield {"begin": begin, "regeneration": regeneration}, Runs(named)


def _systems(frame: pd.DataFrame) -> list[str]:
    """Return the names of the systems, with the weight of the users' rank if that is an axis."""
    if "a_user" not in frame:
        return frame["system"].astype(str).to_list()
    pairs = zip(frame["system"], frame["a_user"], strict=True)
    return [system if pd.isna(a_user) else f"{system} {a_user:g}" for system, a_user in pairs]


def is_saturated(runs: Runs) -> pd.Series[bool]:
    """Return for each seed whether the backlog grows by more than a job a week."""
    return runs.values("backlog_growth").map(saturated).astype(bool)


def find_size(*sizes: Iterable[float]) -> float:
    """Return the number of processors if it is the same on all machines, else nan."""
    found = set(chain(*sizes))
    return float(*found) if len(found) == 1 else nan


def compare_systems(runs: Runs) -> pd.DataFrame:
    """Return the comparisons of systems that the runs allow, claim by claim, a row each.

    ``value`` is the ratio of a metric's means on two systems over pairs of seeds, with its 95 %
    interval from ``low`` to ``high``, nan for fewer than five pairs. ``holds`` is None if that is
    inconclusive. ``which`` is ``all`` pairs, or the ``stable`` ones without saturated runs.
    ``saturated`` counts pairs with a saturated run, in open replays only, since users who react
    wait for jobs; ``above`` counts pairs with a ratio above 1. ``nodes`` is the machine's size, nan
    if both have different ones.
    """
    rows = [
        effect
        for claim, log in product(CLAIMS, runs.labels("log"))
        for replay in claim.replays
        for effect in _effects(claim, runs.where(log=log), replay)
    ]
    return pd.DataFrame(rows, columns=EFFECT)


def _effects(claim: Claim, runs: Runs, replay: str) -> Iterator[dict[str, Any]]:
    ours = runs.where(replay=replay, system=claim.system)
    base = runs.where(replay=claim.base_replay or replay, system=claim.base)
    values, of_base = _pair(ours.values(claim.metric), base.values(claim.metric), claim, replay)
    if not len(values):
        return
    place = {"log": runs.labels("log")[0], "replay": replay}
    place["ratio"] = f"{claim.system} / {claim.base}"
    if claim.base_replay:
        place |= {"replay": f"{replay} / {claim.base_replay}", "ratio": claim.system}
    common = {"claim": claim.number, **place, "metric": claim.metric, "expected": claim.expected}
    common["nodes"] = find_size(ours.labels("nb_res"), base.labels("nb_res"))
    unstable = pd.Series(False, values.index)
    if replay in OPEN and not claim.base_replay:
        unstable = (is_saturated(ours) | is_saturated(base))[values.index]
    is_certain = {replay, claim.base_replay or replay} <= DRAW_NOTHING
    every = _effect(claim.expected, is_certain, values, of_base)
    yield common | {"which": "all", "saturated": int(unstable.sum())} | every
    if unstable.any() and not unstable.all():
        stable = _effect(claim.expected, is_certain, values[~unstable], of_base[~unstable])
        yield common | {"which": "stable", "saturated": 0} | stable


def _pair(
    ours: pd.Series[float], base: pd.Series[float], claim: Claim, replay: str
) -> tuple[pd.Series[float], pd.Series[float]]:
    """Return pairs of equal seeds; the only run of users who draw nothing is in each pair."""
    base_replay = claim.base_replay or replay
    if len(ours) == 1 and replay in DRAW_NOTHING and base_replay not in DRAW_NOTHING:
        ours = pd.Series(ours.iloc[0], base.index)
    elif len(base) == 1 and base_replay in DRAW_NOTHING and replay not in DRAW_NOTHING:
        base = pd.Series(base.iloc[0], ours.index)
    return paired(ours, base)


def _effect(
    expected: str, is_certain: bool, ours: pd.Series[float], base: pd.Series[float]
) -> dict[str, Any]:
    ratios = ours / base
    mean = paired_ratio(ours, base)
    known = drop_uncertainty(mean) if is_certain else mean
    holds = bool((ratios == 1).all()) if expected == SAME else _as_expected(expected, known)
    spread = {"least": ratios.min(), "most": ratios.max(), **cells(mean, "value", nb="pairs")}
    return {**spread, "above": int((ratios > 1).sum()), "holds": holds}


def drop_uncertainty(mean: Interval) -> Interval:
    """Return a mean without randomness as an interval that has no width."""
    return Interval(mean.value, mean.value, mean.value, mean.nb)


def _as_expected(expected: str, ratio: Interval) -> bool | None:
    """Return whether a ratio is as expected; None if its interval is inconclusive or not known."""
    near = ratio.within(1 - TOLERANCE, 1 + TOLERANCE)
    if expected == EQUAL:
        return near
    if expected == DIFFERENT:
        return None if near is None else not near
    if expected == GREATER:
        return ratio.above(1)
    return ratio.above(1 - TOLERANCE)
