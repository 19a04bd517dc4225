"""The claims of the study, and what the runs of a campaign say about them.

Source: N. Zakay, PhD thesis, chapters 4 and 5. All but one compare two systems, seed by seed: the
same seed is the same people on both, so that their difference is not drowned by that of the seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import nan, sqrt
from statistics import fmean, stdev
from typing import Any

from batsched_py.metrics import max_over_min, saturated

OPEN = ("rigid", "resampled")
FEEDBACK = ("adjusted", "distribution", "fluid", "fluid 5")
TBUOS = ("tbuos",)
REPLAYS = (*OPEN, *FEEDBACK, *TBUOS)
SYSTEMS = ("fcfs", "easy", "easy strict", "ups 0", "ups 0.5", "ups 1", "easy twice")
UPS = ("ups 0", "ups 0.5", "ups 1")

EASY = ("easy", "easy strict")
"""Of EASY there are two readings: where they differ, the thesis does not say which is its own."""

FLUID = {"fluid 5": "fluid"}
"""As chapter 5 describes the model; the thesis's table of waits is in chapter 4."""

THROUGHPUT = "throughput_to_last_submission"
ACTIVITY = "mean_activity_length"
JOBS = "nb_jobs"
WAIT = "mean_waiting_time"

SAME, EQUAL, DIFFERENT, GREATER, NOT_LESS = "same", "equal", "different", "greater", "not less"
TOLERANCE = 0.02
"""Up to this relative difference things are called equal. What waits or runs at the last submission
is not done by then, on one system a little more than on the other."""
ERRORS = 2.0
"""A mean is greater than 1 if it is by that many standard errors."""
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


CLAIMS = (
    Claim("i", OPEN, "easy", "fcfs", JOBS, SAME),
    Claim("i", OPEN, "easy", "fcfs", THROUGHPUT, EQUAL),
    Claim("ii", FEEDBACK, "easy", "fcfs", JOBS, SAME),
    Claim("ii", FEEDBACK, "easy", "fcfs", ACTIVITY, DIFFERENT),
    Claim("iii", TBUOS, "easy", "fcfs", THROUGHPUT, GREATER),
    Claim("iii", TBUOS, "easy", "fcfs", JOBS, GREATER),
    *(Claim("v", TBUOS, system, "easy", THROUGHPUT, NOT_LESS) for system in UPS),
    *(Claim("v", TBUOS, more, less, THROUGHPUT, NOT_LESS) for less, more in pairwise(UPS)),
    Claim("v", TBUOS, UPS[-1], "easy", THROUGHPUT, GREATER),
    *(Claim("v", OPEN, system, "easy", THROUGHPUT, EQUAL) for system in UPS),
    Claim("vi", TBUOS, "easy twice", "easy", THROUGHPUT, GREATER),
    Claim("vi", OPEN, "easy twice", "easy", THROUGHPUT, EQUAL),
)
TITLES = {
    "i": "Open replay: EASY and FCFS have the same throughput",
    "ii": "Feedback alone: the same jobs, but users take longer or shorter",
    "iii": "TBUOS: EASY has more throughput than FCFS",
    "iv": "The mean wait varies less from seed to seed under TBUOS than under open resampling",
    "v": "UPS has at least the throughput of EASY under TBUOS, more with a_user; no change if open",
    "vi": "A machine twice as large has more throughput under TBUOS, not if open",
}


@dataclass(frozen=True)
class Effect:
    """Ratios of a metric on two systems over the seeds, and whether they are as claimed."""

    claim: str
    log: str
    replay: str
    ratio: str
    metric: str
    which: str
    """``all`` seeds, or the ``stable`` ones, where neither run is saturated."""
    seeds: int
    saturated: int
    """Seeds with a saturated run; of open replays only, since users who react wait for jobs."""
    least: float
    mean: float
    most: float
    error: float
    """Standard error of the mean, nan for one seed."""
    above: int
    """Seeds with a ratio above 1."""
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
    mean: float
    most: float
    ratio: float
    thesis: float | None


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
    """Jobs/h that ended by the last submission."""
    throughput_least: float
    throughput_most: float
    wait: float
    """Mean wait, s."""
    activity: float
    """Mean activity length of the users, s."""
    utilisation: float
    """To the last submission."""


Run = Mapping[str, Any]
Runs = Mapping[tuple[str, str, str], Mapping[int, Run]]
"""The runs by log, replay and system; of each by seed."""


def read(rows: Iterable[Run], log_name: Any = str) -> Runs:
    """Return the runs of a campaign by log, replay and system, in the order of the study."""
    runs: dict[tuple[str, str, str], dict[int, Run]] = {}
    for row in rows:
        key = (log_name(row["log"]), row["replay"], row["system"])
        runs.setdefault(key, {})[int(row["seed"])] = row
    logs = list(dict.fromkeys(log for log, _, _ in runs))
    places = [(log, replay, system) for log in logs for replay in REPLAYS for system in SYSTEMS]
    return {place: runs[place] for place in places if place in runs}


def logs_of(runs: Runs) -> list[str]:
    """Return the logs, in order."""
    return list(dict.fromkeys(log for log, _, _ in runs))


def is_saturated(run: Run) -> bool:
    """Return whether the backlog of a run grows by more than a job a week."""
    return saturated(run["backlog_growth"])


def levels(runs: Runs) -> list[Level]:
    """Return what each system does under each replay."""
    return [_level(place, list(own.values())) for place, own in runs.items()]


def _level(place: tuple[str, str, str], own: Sequence[Run]) -> Level:
    throughputs = [run[THROUGHPUT] for run in own]
    return Level(
        *place,
        seeds=len(own),
        saturated=sum(map(is_saturated, own)),
        jobs=fmean(run[JOBS] for run in own),
        throughput=fmean(throughputs),
        throughput_least=min(throughputs),
        throughput_most=max(throughputs),
        wait=fmean(run[WAIT] for run in own),
        activity=fmean(run[ACTIVITY] for run in own),
        utilisation=fmean(run["utilisation_to_last_submission"] for run in own),
    )


def effects(runs: Runs) -> list[Effect]:
    """Return the comparisons that the runs allow, claim by claim."""
    return [
        effect
        for claim in CLAIMS
        for log in logs_of(runs)
        for replay in claim.replays
        for effect in _effects(claim, runs, log, replay)
    ]


def _effects(claim: Claim, runs: Runs, log: str, replay: str) -> Iterable[Effect]:
    ours, base = (runs.get((log, replay, system), {}) for system in (claim.system, claim.base))
    pairs = [(ours[seed], base[seed]) for seed in sorted(ours.keys() & base.keys())]
    stable = [pair for pair in pairs if replay not in OPEN or not any(map(is_saturated, pair))]
    saturated = len(pairs) - len(stable)
    if pairs:
        yield _effect(claim, (log, replay), ("all", saturated), pairs)
    if saturated and stable:
        yield _effect(claim, (log, replay), ("stable", 0), stable)


def _effect(
    claim: Claim,
    place: tuple[str, str],
    which: tuple[str, int],
    pairs: Sequence[tuple[Run, Run]],
) -> Effect:
    ratios = [run[claim.metric] / base[claim.metric] for run, base in pairs]
    mean = fmean(ratios)
    error = stdev(ratios) / sqrt(len(ratios)) if len(ratios) > 1 else nan
    margin = ERRORS * error if len(ratios) > 1 else 0.0
    holds = {
        SAME: all(ratio == 1 for ratio in ratios),
        EQUAL: abs(mean - 1) <= TOLERANCE,
        DIFFERENT: abs(mean - 1) > TOLERANCE,
        GREATER: mean - margin > 1,
        NOT_LESS: mean + margin >= 1,
    }[claim.expected]
    return Effect(
        claim.number,
        *place,
        f"{claim.system} / {claim.base}",
        claim.metric,
        which[0],
        len(ratios),
        which[1],
        min(ratios),
        mean,
        max(ratios),
        error,
        sum(ratio > 1 for ratio in ratios),
        claim.expected,
        holds,
    )


def spreads(runs: Runs, published: Mapping[str, Any]) -> list[Spread]:
    """Return how the mean wait varies under open resampling and under TBUOS (claim iv)."""
    found = []
    for (log, replay, system), own in runs.items():
        if replay not in published["ratios"]:
            continue
        waits = [run[WAIT] for run in own.values()]
        stable = [run[WAIT] for run in own.values() if not is_saturated(run)]
        trace = published["logs"].get(log)
        comparable = system in EASY and len(own) >= SEEDS
        thesis = published["ratios"][replay].get(trace) if comparable else None
        for which, some in (("all", waits), ("stable", stable if len(stable) < len(waits) else [])):
            if len(some) > 1:
                numbers = (len(some), min(some), fmean(some), max(some), max_over_min(some))
                found.append(Spread(log, replay, system, which, *numbers, thesis))
    return found


def verdicts(effects: Iterable[Effect], spreads: Iterable[Spread]) -> dict[tuple[str, str], bool]:
    """Return whether each claim holds on each log: in all comparisons that were made for it.

    Saturated open runs do not count; where all are, nothing is said, nor where only those things
    were compared that are to stay as they are. Claim iv needs :data:`SEEDS` seeds of EASY under
    both replays, and is about all of them, as in the thesis.
    """
    effects = list(effects)
    change = (GREATER, DIFFERENT)
    needed = {claim.number for claim in CLAIMS if claim.expected in change}
    shown = {(effect.claim, effect.log) for effect in effects if effect.expected in change}
    result: dict[tuple[str, str], bool] = {}
    for effect in effects:
        key = effect.claim, effect.log
        if not effect.saturated and (key in shown or effect.claim not in needed):
            result[key] = result.get(key, True) and effect.holds
    ratios = {
        (s.log, s.replay): s.ratio
        for s in spreads
        if s.system == "easy" and s.which == "all" and s.seeds >= SEEDS
    }
    for log in dict.fromkeys(log for log, _ in ratios):
        if {(log, "resampled"), (log, "tbuos")} <= ratios.keys():
            result["iv", log] = ratios[log, "tbuos"] < ratios[log, "resampled"]
    return result


@dataclass(frozen=True)
class Wait:
    """Average wait (s) of one replay with EASY, beside the thesis."""

    log: str
    replay: str
    system: str
    ours: float
    thesis: float | None
    ours_to_rigid: float | None
    """Relative to open replay of the log."""
    thesis_to_rigid: float | None


def waits(runs: Runs, published: Mapping[str, Any]) -> list[Wait]:
    """Return the average waits of the replays of a log with EASY."""
    printed = published["waits"]
    found = []
    for (log, replay, system), own in runs.items():
        name = FLUID.get(replay, replay)
        if system not in EASY or name not in printed:
            continue
        trace = published["logs"].get(log)
        ours = fmean(run[WAIT] for run in own.values())
        rigid = runs.get((log, "rigid", system))
        reference = fmean(run[WAIT] for run in rigid.values()) if rigid else None
        thesis, conventional = printed[name].get(trace), printed["rigid"].get(trace)
        relative = _relative(ours, reference), _relative(thesis, conventional)
        found.append(Wait(log, replay, system, ours, thesis, *relative))
    return found


def _relative(value: float | None, reference: float | None) -> float | None:
    return value / reference if value and reference else None
