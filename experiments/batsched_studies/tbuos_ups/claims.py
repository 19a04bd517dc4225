"""The claims of the study, and what the runs of a campaign say about them.

Source: N. Zakay, PhD thesis, chapters 4 and 5. Most compare two systems, seed by seed: the same
seed is the same people on both, so that their difference is not drowned by that of the seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batsched_py.metrics import max_over_min, saturated
from batsched_py.support.statistics import (
    RESAMPLES,
    Interval,
    bootstrap,
    finite,
    paired_ratio,
    quantiles,
)

Floats = NDArray[np.float64]

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
SEEDS = 30
"""So many are needed for the largest over the smallest wait."""


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
TITLES = {
    "i": "Open replay: EASY and FCFS have the same throughput",
    "ii": "Feedback alone: the same jobs, but users take longer or shorter",
    "iii": "TBUOS: EASY has more throughput than FCFS",
    "iv": "The mean wait varies less from seed to seed under TBUOS than under open resampling",
    "v": "UPS has at least the throughput of EASY under TBUOS, more with a_user; no change if open",
    "vi": "A machine twice as large has more throughput under TBUOS, not if open",
    "vii": "Under TBUOS, UPS has more throughput if users are ranked by load than by recency",
    "viii": "With EASY, feedback makes mean waits shorter or longer than open replay as printed",
    "ix": "CTC with 430 instead of 336 processors has more throughput under TBUOS, not if open",
    "x": "Under TBUOS users are active in more weeks than in open resampling, in shorter sessions",
}


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


@dataclass(frozen=True)
class Spread:
    """How the mean wait (s) varies over the seeds."""

    log: str
    replay: str
    system: str
    which: str
    seeds: int
    least: float
    median: float
    most: float
    ratio: float
    """Largest over smallest."""
    ratio_low: float
    """95 % bootstrap interval over the runs; its upper end is the ratio itself at most."""
    ratio_high: float
    quantile_ratio: float
    """97.5 % over 2.5 % quantile: it hangs less on single seeds."""
    quantile_low: float
    quantile_high: float
    thesis: float | None
    difference: float | None
    """Relative to the thesis, 1."""


@dataclass(frozen=True)
class Level:
    """What a system does under a replay, in the mean over the seeds."""

    log: str
    replay: str
    system: str
    seeds: int
    saturated: int
    """Seeds whose backlog grows by more than a job a week."""
    jobs: float
    """Submitted."""
    throughput: float
    """Jobs/h that ended by the last submission, with its 95 % bootstrap interval."""
    throughput_low: float
    throughput_high: float
    of_log: float | None
    """Relative to the jobs/h of the log."""
    wait: float
    """Mean wait, s."""
    queue: float
    """Mean number of waiting jobs."""
    activity: float
    """Mean activity length of the users, s."""
    weeks: float
    """Weeks in which a user is active."""
    session: float
    """Mean session length (60 min by arrival), s."""
    utilisation: float
    """To the last submission."""


Run = Mapping[str, Any]
Place = tuple[str, str, str]
"""Log, replay and system."""
Runs = Mapping[Place, Mapping[int, Run]]
"""The runs by log, replay and system; of each by seed."""


def log_name(log: str) -> str:
    """Return the name of a log without folders and ``.swf.gz``."""
    return Path(log).name.removesuffix(".gz").removesuffix(".swf")


def read(rows: Iterable[Run]) -> Runs:
    """Return the runs of a campaign by log, replay and system, in the order of the study."""
    runs: dict[Place, dict[int, Run]] = {}
    for row in rows:
        key = (log_name(str(row["log"])), row["replay"], _system(row))
        runs.setdefault(key, {})[int(row["seed"])] = row
    logs = list(dict.fromkeys(log for log, _, _ in runs))
    places = [(log, replay, system) for log in logs for replay in REPLAYS for system in SYSTEMS]
    return {place: runs[place] for place in places if place in runs}


def _system(row: Run) -> str:
    a_user = row.get("a_user")
    weighted = a_user is not None and a_user == a_user
    return f"{row['system']} {a_user:g}" if weighted else str(row["system"])


def logs_of(runs: Runs) -> list[str]:
    """Return the logs, in order."""
    return list(dict.fromkeys(log for log, _, _ in runs))


def is_saturated(run: Run) -> bool:
    """Return whether the backlog of a run grows by more than a job a week."""
    return saturated(run["backlog_growth"])


def levels(runs: Runs, recorded: Mapping[str, float]) -> list[Level]:
    """Return what each system does under each replay; ``recorded`` is jobs/h of the logs."""
    return [_level(place, list(own.values()), recorded) for place, own in runs.items()]


def _level(place: Place, own: Sequence[Run], recorded: Mapping[str, float]) -> Level:
    throughput = bootstrap(column(own, THROUGHPUT))
    log = recorded.get(place[0])
    return Level(
        *place,
        seeds=len(own),
        saturated=sum(map(is_saturated, own)),
        jobs=_mean(own, JOBS),
        throughput=throughput.value,
        throughput_low=throughput.low,
        throughput_high=throughput.high,
        of_log=throughput.value / log if log else None,
        wait=_mean(own, WAIT),
        queue=_mean(own, "mean_queue_length"),
        activity=_mean(own, ACTIVITY),
        weeks=_mean(own, WEEKS),
        session=_mean(own, SESSION),
        utilisation=_mean(own, "utilisation_to_last_submission"),
    )


def column(rows: Iterable[Run], metric: str) -> Floats:
    """Return the values of a metric, nan where there is none."""
    return np.array([row.get(metric) for row in rows], dtype=np.float64)


def _mean(rows: Iterable[Run], metric: str) -> float:
    values = finite(column(rows, metric))
    return float(values.mean()) if len(values) else float("nan")


def effects(runs: Runs) -> list[Effect]:
    """Return the comparisons that the runs allow, claim by claim."""
    return [
        effect
        for claim in CLAIMS
        for log in logs_of(runs)
        for replay in claim.replays
        for effect in _effects(claim, runs, log, replay)
    ]


def _effects(claim: Claim, runs: Runs, log: str, replay: str) -> Iterator[Effect]:
    places = ((log, replay, claim.system), (log, claim.base_replay or replay, claim.base))
    ours, base = (runs.get(place, {}) for place in places)
    pairs = [(ours[seed], base[seed]) for seed in sorted(ours.keys() & base.keys())]
    judged_stable = replay in OPEN and not claim.base_replay
    stable = [pair for pair in pairs if not judged_stable or not any(map(is_saturated, pair))]
    saturated_pairs = len(pairs) - len(stable)
    if pairs:
        yield _effect(claim, (log, replay), ("all", saturated_pairs), pairs)
    if saturated_pairs and stable:
        yield _effect(claim, (log, replay), ("stable", 0), stable)


def _effect(
    claim: Claim, place: tuple[str, str], which: tuple[str, int], pairs: Sequence[tuple[Run, Run]]
) -> Effect:
    ours, base = (column(side, claim.metric) for side in zip(*pairs, strict=True))
    ratios = ours / base
    interval = paired_ratio(ours, base)
    across = bool(claim.base_replay)
    return Effect(
        claim=claim.number,
        log=place[0],
        replay=f"{place[1]} / {claim.base_replay}" if across else place[1],
        ratio=claim.system if across else f"{claim.system} / {claim.base}",
        metric=claim.metric,
        which=which[0],
        pairs=len(pairs),
        saturated=which[1],
        above=int((ratios > 1).sum()),
        least=float(ratios.min()),
        value=interval.value,
        low=interval.low,
        high=interval.high,
        most=float(ratios.max()),
        expected=claim.expected,
        holds=_as_expected(claim.expected, interval, bool((ratios == 1).all())),
    )


def _as_expected(expected: str, ratio: Interval, same: bool) -> bool:
    known = ratio.nb > 1
    return {
        SAME: same,
        EQUAL: abs(ratio.value - 1) <= TOLERANCE,
        DIFFERENT: abs(ratio.value - 1) > TOLERANCE,
        GREATER: (ratio.low if known else ratio.value) > 1,
        NOT_LESS: (ratio.high if known else ratio.value) >= 1,
    }[expected]


def spreads(runs: Runs, published: Mapping[str, Any]) -> list[Spread]:
    """Return how the mean wait varies under open resampling and under TBUOS (claim iv)."""
    found = []
    for place, own in runs.items():
        log, replay, system = place
        if replay not in published["ratios"] or system not in ("fcfs", *EASY):
            continue
        rows = list(own.values())
        stable = [row for row in rows if not is_saturated(row)]
        comparable = system in EASY and len(rows) >= SEEDS
        trace = published["logs"].get(log) if comparable else None
        thesis = published["ratios"][replay].get(trace)
        for which, some in (("all", rows), ("stable", stable if len(stable) < len(rows) else [])):
            if len(some) > 1:
                found.append(_spread(place, which, some, thesis))
    return found


def calmer(runs: Runs) -> dict[str, float]:
    """Return for each log how surely the mean wait with EASY varies less under TBUOS than if open.

    It is the share of bootstrap draws, of the runs of both, in which the largest over the smallest
    mean wait is smaller under TBUOS. Only where both have :data:`SEEDS` runs.
    """
    found = {}
    for log in logs_of(runs):
        sides = (runs.get((log, replay, "easy"), {}) for replay in ("tbuos", "resampled"))
        waits = [finite(column(own.values(), WAIT)) for own in sides]
        if min(map(len, waits)) >= SEEDS:
            rng = np.random.default_rng(0)
            tbuos, open_ = (_drawn_ratios(values, rng) for values in waits)
            found[log] = float((tbuos < open_).mean())
    return found


def _drawn_ratios(waits: Floats, rng: np.random.Generator) -> Floats:
    size = (RESAMPLES, len(waits))
    drawn = waits[rng.integers(0, len(waits), size)]
    return np.asarray(drawn.max(axis=1) / drawn.min(axis=1))


def _spread(place: Place, which: str, rows: Sequence[Run], thesis: float | None) -> Spread:
    waits = finite(column(rows, WAIT))
    ratio, inner = bootstrap(waits, _most_over_least), bootstrap(waits, _quantile_ratio)
    low, median, high = quantiles(waits, (0, 0.5, 1))
    return Spread(
        *place,
        which=which,
        seeds=len(waits),
        least=low,
        median=median,
        most=high,
        ratio=ratio.value,
        ratio_low=ratio.low,
        ratio_high=ratio.high,
        quantile_ratio=inner.value,
        quantile_low=inner.low,
        quantile_high=inner.high,
        thesis=thesis,
        difference=ratio.value / thesis - 1 if thesis else None,
    )


def _most_over_least(waits: Floats) -> float:
    return max_over_min(waits.tolist())


def _quantile_ratio(waits: Floats) -> float:
    return max_over_min(quantiles(waits, (0.025, 0.975)))


@dataclass(frozen=True)
class Wait:
    """Average wait (s) of one replay with EASY, beside the thesis."""

    log: str
    replay: str
    system: str
    seeds: int
    ours: float
    thesis: float | None
    difference: float | None
    """Relative to the thesis, 1."""
    ours_to_rigid: float | None
    """Relative to open replay of the log."""
    thesis_to_rigid: float | None


FLUID = {"fluid 5": "fluid"}
"""As chapter 5 describes the model; the thesis's table of waits is in chapter 4."""


def waits(runs: Runs, published: Mapping[str, Any]) -> list[Wait]:
    """Return the average waits of the replays of a log with EASY; none without open replay."""
    printed = published["waits"]
    found = []
    for (log, replay, system), own in runs.items():
        name = FLUID.get(replay, replay)
        rigid = runs.get((log, "rigid", system))
        if system not in EASY or name not in printed or not rigid:
            continue
        trace = published["logs"].get(log)
        ours, reference = _mean(own.values(), WAIT), _mean(rigid.values(), WAIT)
        thesis, conventional = printed[name].get(trace), printed["rigid"].get(trace)
        difference = ours / thesis - 1 if thesis else None
        relative = _relative(ours, reference), _relative(thesis, conventional)
        found.append(Wait(log, replay, system, len(own), ours, thesis, difference, *relative))
    return found


def _relative(value: float | None, reference: float | None) -> float | None:
    return value / reference if value and reference else None
