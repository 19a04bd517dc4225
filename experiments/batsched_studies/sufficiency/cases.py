"""The runs of the study, the savings of each lever, and the rest if users react.

A *saving* is by how many per cent a run has less energy above idling than the run of the same
people under the same kind of users in which nobody does anything. Watts cancel in it. The *rebound*
is the share of the saving with open users that is not there with users who react, as the rebound
effect is defined: one less actual by expected saving.
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
"""The probabilities that a user does anything with a job, by the variants of ``effort.toml``."""
LESS_WORK = ("space_degradation", "time_degradation", "renounce", MIXED, STATES)
"""What does less work, so that energy is saved in all."""
RED, AFTER, ALL = "red", "after", "all"
WORK = "work_all"
"""The work of all jobs, whenever it is done."""
WATTS = (100.0, 200.0)
"""Idle and computing power of a processor: made up, for totals with the power of idling."""
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
    """Return the runs by log; none of a campaign without runs."""
    if runs.empty:
        return {}
    frame = runs.assign(log=runs["log"].map(kit.log_name))
    idle, computing = WATTS
    busy = frame["busy_red"] / frame["seconds_red"]
    frame["watts_red"] = idle * frame["processors"] + (computing - idle) * busy
    if SEED not in frame:
        frame[SEED] = frame["seed"]
    return {log: Runs(frame[frame["log"] == log], QUANTITIES) for log in frame["log"].unique()}


def scarce(runs: Runs) -> str:
    """Return when energy is scarce: hours of every day, or the name of a file."""
    signal = str(runs.options("user_options").get("signal", ""))
    if ":" not in signal:
        return f"as {Path(signal).name} has it" if signal else "in hours that are not told"
    return f"from {signal.replace('-', ' to ').replace(',', ', ')} every day"


def base(runs: Runs, loop: str) -> Runs:
    """Return the runs of a kind of users in which nobody does anything."""
    return runs.where(loop=loop, lever=RIGID)


def cases(runs: Runs) -> Iterator[tuple[str, str, float, Runs]]:
    """Yield kind of users, lever, share of users and runs of all that is beside its base."""
    for loop in LOOPS:
        if not base(runs, loop):
            continue
        for lever in ORDER:
            of_lever = runs.where(loop=loop, lever=lever)
            for share, of_share in sorted(of_lever.by("share").items()):
                yield loop, lever, share, of_share


def compute_savings(
    runs: Runs, loop: str, lever: str, share: float, where: str
) -> pd.Series[float]:
    """Return the savings by replication in per cent; empty without runs."""
    ours = runs.where(loop=loop, lever=lever, share=share).values(where)
    ours, without = kit.paired(ours, base(runs, loop).values(where))
    return 100 - 100 * ours / without


def pairs(
    runs: Runs, loop: str, lever: str, share: float, where: str
) -> tuple[pd.Series[float], pd.Series[float]]:
    """Return the savings, and those of the same users in an open loop, per cent."""
    return kit.paired(
        compute_savings(runs, loop, lever, share, where),
        compute_savings(runs, OPEN, lever, share, where),
    )


def compute_loss(runs: Runs, loop: str, lever: str, share: float, where: str) -> Interval:
    """Return by how many points less is saved than with open users, the same people."""
    ours, expected = pairs(runs, loop, lever, share, where)
    return kit.paired_difference(expected, ours)


def rebound(runs: Runs, loop: str, lever: str, share: float, where: str) -> Interval:
    """Return the rebound in per cent of the saving with open users, of mean savings.

    Negative: more is saved than with open users. Over 100: less than nothing is. Unknown where it
    cannot be told that open users save anything.
    """
    actual, expected = pairs(runs, loop, lever, share, where)
    return quotient(actual, expected, lambda ratio: 100 * (1 - ratio))


def quotient(
    ours: pd.Series[float], of: pd.Series[float], told: Callable[[float], float]
) -> Interval:
    """Return ``told`` of the ratio of two means over pairs.

    It is unknown unless the divisor is clearly above 0: of what may be 0 there is no share.
    """
    if not kit.mean_interval(of).above(0):
        return Interval(nan, nan, nan, len(of))

    def statistic(rows: NDArray[np.float64]) -> float:
        return told(ratio(*rows.mean(axis=0)))

    return jackknife(np.column_stack((ours, of)), statistic)


def compute_own_loss(runs: Runs, loop: str, lever: str) -> pd.Series[float]:
    """Return by how much work would fall if users did all else as if nobody did anything.

    It is the work that a lever of all users takes from the jobs that they submit in red hours
    without it, per cent of all work, by replication; 0 for levers that do the same work, and empty
    where something is done in yellow hours too.
    """
    if lever == STATES:
        return pd.Series(dtype=float)
    without = base(runs, loop)
    work, of_red = without.values(WORK), without.values("work_of_red")
    less = {
        "space_degradation": without.values("half_of_red"),
        "time_degradation": of_red / 2,
        "renounce": of_red,
    }
    if lever in less:
        return 100 * less[lever] / work
    # The five alike: two of them do the same work.
    return 100 * EFFORTS.get(lever, 0.0) * sum(less.values()) / len(LEVERS) / work


def lost_of_own(runs: Runs, loop: str, lever: str) -> Interval:
    """Return by how many points less the work of all jobs falls than :func:`compute_own_loss`.

    It is what these users take back. Work counts whenever it is done: what moves into the weeks
    since there is room for it is no more work. Of open users it is 0.
    """
    return kit.paired_difference(
        *kit.paired(
            compute_own_loss(runs, loop, lever), compute_savings(runs, loop, lever, 1.0, WORK)
        )
    )
