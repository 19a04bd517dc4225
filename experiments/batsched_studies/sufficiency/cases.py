"""The runs of the study, and the savings of each lever with and without reacting users.

A *saving* is the per cent of energy above idling that a run saves compared with a run of the same
users without any lever; watts cancel in it. A *lever* is a way in which users save energy. The
*rebound* is the share of the saving in an open loop that is lost with users who react: 1 - actual
saving / expected saving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from batsched_py.report import kit
from batsched_py.report.kit import SEED, Interval, Quantity, Runs
from batsched_py.support.quotient import ratio
from batsched_py.support.statistics import jackknife
from batsched_py.units import HOUR
from batsched_users.behaviour.levers import LEVERS

OPEN, A60, FLUID = LOOPS = ("open", "a60", "fluid")
REACTING = (A60, FLUID)
NAMES = {
    OPEN: "open users",
    A60: "users whose sessions wait for sessions",
    FLUID: "users with hours and endless work",
}
RIGID, DELAY, MIXED, STATES = "rigid", "delay", "mixed", "states"
ORDER = (*LEVERS, "25", "50", "75", MIXED, STATES)
EFFORTS = {"25": 0.25, "50": 0.5, "75": 0.75, MIXED: 1.0}
"""The probability that users apply a lever to a job, by the variants of ``effort.toml``."""
LESS_WORK = ("space_degradation", "time_degradation", "renounce", MIXED, STATES)
"""The levers that reduce work, so that they save energy in total."""
RED, AFTER, ALL = "red", "after", "all"
WORK = "work_all"
"""The work of all jobs, whenever it is done."""
WATTS = (100.0, 200.0)
"""Assumed idle and computing power of a processor, for totals with the power of idling."""
QUANTITIES = (
    Quantity(RED, "busy_red", "work in red hours (h)", 1 / HOUR),
    Quantity(AFTER, "busy_after", "work in the hours after (h)", 1 / HOUR),
    Quantity(ALL, "busy_all", "work in all (h)", 1 / HOUR),
    Quantity("total", "watts_red", "mean power in red hours (W)"),
    Quantity("jobs", "nb_jobs", "jobs"),
    Quantity("wait", "mean_waiting_time", "mean wait (h)", 1 / HOUR),
    Quantity("from_wish", "wait_from_wish", "from wish to start (h)", 1 / HOUR),
    Quantity("lateness", "mean_lateness", "mean lateness (h)", 1 / HOUR),
    Quantity("slowdown", "mean_bounded_slowdown", "bounded slowdown"),
    Quantity("utilisation", "utilisation_to_last_submission", "utilisation (%)", 100),
)


def read(runs: pd.DataFrame) -> dict[str, Runs]:
    """Return the runs by log; empty for a campaign without runs."""
    if runs.empty:
        return {}
    frame = runs.assign(log=runs["log"].map(kit.log_name))
    idle, computing = WATTS
    busy = frame["busy_red"] / frame["seconds_red"]
    frame["watts_red"] = idle * frame["processors"] + (computing - idle) * busy
    if SEED not in frame:
        frame[SEED] = frame["seed"]
    return {log: Runs(frame[frame["log"] == log], QUANTITIES) for log in frame["log"].unique()}


def describe_scarcity(runs: Runs) -> str:
    """Return as text when energy is scarce: hours of every day, or the name of a file."""
    signal = str(runs.options("user_options").get("signal", ""))
    if ":" not in signal:
        return f"by {Path(signal).name}" if signal else "in unknown hours"
    return f"from {signal.replace('-', ' to ').replace(',', ', ')} every day"


def select_base(runs: Runs, loop: str) -> Runs:
    """Return the runs of a kind of users without any lever."""
    return runs.where(loop=loop, lever=RIGID)


def find_cases(runs: Runs) -> Iterator[tuple[str, str, float, Runs]]:
    """Yield kind of users, lever, share of users and runs, if there are also runs without lever."""
    for loop in LOOPS:
        if not select_base(runs, loop):
            continue
        for lever in ORDER:
            of_lever = runs.where(loop=loop, lever=lever)
            for share, of_share in sorted(of_lever.by("share").items()):
                yield loop, lever, share, of_share


def compute_savings(
    runs: Runs, loop: str, lever: str, share: float, where: str
) -> pd.Series[float]:
    """Return the savings in per cent, by replication; empty without runs."""
    ours = runs.where(loop=loop, lever=lever, share=share).values(where)
    ours, without = kit.paired(ours, select_base(runs, loop).values(where))
    return 100 - 100 * ours / without


def pair_savings(
    runs: Runs, loop: str, lever: str, share: float, where: str
) -> tuple[pd.Series[float], pd.Series[float]]:
    """Return the savings, and those of the same users in an open loop, in per cent."""
    return kit.paired(
        compute_savings(runs, loop, lever, share, where),
        compute_savings(runs, OPEN, lever, share, where),
    )


def compute_loss(runs: Runs, loop: str, lever: str, share: float, where: str) -> Interval:
    """Return how many percentage points of the saving in an open loop are lost if users react."""
    ours, expected = pair_savings(runs, loop, lever, share, where)
    return kit.paired_difference(expected, ours)


def compute_rebound(runs: Runs, loop: str, lever: str, share: float, where: str) -> Interval:
    """Return the rebound in per cent of the saving in an open loop, from mean savings.

    Negative: reacting users save more. Over 100: they use more energy than without the lever.
    Unknown if the saving in an open loop is inconclusive.
    """
    actual, expected = pair_savings(runs, loop, lever, share, where)
    return map_ratio(actual, expected, lambda ratio: 100 * (1 - ratio))


def map_ratio(
    ours: pd.Series[float], of: pd.Series[float], function: Callable[[float], float]
) -> Interval:
    """Return a function of the ratio of two means over pairs, with its interval.

    It is unknown unless the divisor is clearly above 0.
    """
    if not kit.mean_interval(of).above(0):
        return Interval(nan, nan, nan, len(of))

    def statistic(rows: NDArray[np.float64]) -> float:
        return function(ratio(*rows.mean(axis=0)))

    return jackknife(np.column_stack((ours, of)), statistic)


def compute_own_loss(runs: Runs, loop: str, lever: str) -> pd.Series[float]:
    """Return by how many per cent work falls if users submit as many jobs as without a lever.

    It is the work that the lever takes from the jobs submitted in red hours without it, in per cent
    of all work, by replication, if all users use the lever; 0 for levers that keep the work, and
    empty for levers that are also used in yellow hours.
    """
    if lever == STATES:
        return pd.Series(dtype=float)
    without = select_base(runs, loop)
    work, of_red = without.values(WORK), without.values("work_of_red")
    less = {
        "space_degradation": without.values("half_of_red"),
        "time_degradation": of_red / 2,
        "renounce": of_red,
    }
    if lever in less:
        return 100 * less[lever] / work
    # All five levers are equally frequent; two of them keep the work.
    return 100 * EFFORTS.get(lever, 0.0) * sum(less.values()) / len(LEVERS) / work


def compute_regained(runs: Runs, loop: str, lever: str) -> Interval:
    """Return how many points of :func:`compute_own_loss` the users regain by further work.

    Work counts whenever it is done, so work that only moves is not regained. In an open loop it
    is 0.
    """
    return kit.paired_difference(
        *kit.paired(
            compute_own_loss(runs, loop, lever), compute_savings(runs, loop, lever, 1.0, WORK)
        )
    )
