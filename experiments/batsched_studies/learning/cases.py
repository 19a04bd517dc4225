"""The runs of the study by policy and week, and comparisons of policies over the same weeks."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report import kit
from batsched_py.report.kit import Interval
from batsched_py.support.statistics import student
from batsched_studies.learning.trainings import LOGS

BASE = "EASY"
"""The policy with which others are compared."""
SJF = "SJF"
"""EASY with the shortest job first: a heuristic that nobody learned."""
LOG, SHARE, PLAIN = "log", "share", "plain"
"""How a quantity is compared: by the change of the geometric mean or of the mean, in per cent, or
by the difference."""
LOOPS = ("rigid", "feedback", "adjusted")
TRAIN, TEST = "train", "test"
HELD = "SJF, held"
"""Begin of the names of the policies that hold long jobs back."""
REWARDS = {
    "slowdown_ended": "mean slowdown of ended jobs",
    "reward_naive": "sum of slowdowns of ended jobs",
    "reward_slowdown": "slowdown",
    "reward_wait": "wait",
    "reward_response": "response",
    "reward_work": "work",
}
"""What an agent may be rewarded by, by its column; more is better."""


def read(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the runs by log, each with its policy, its week and the number of its agent.

    A learned policy is named by what it decides, its users and its reward in training.
    """
    if runs.empty:
        return {}
    frame = runs.assign(log=runs["log"].map(kit.log_name), week=runs["week"].astype(int), agent=0)
    for row in frame.index[frame["policy"] == "learned"]:
        weights = kit.options_of(frame.loc[row], "scheduler_options")["weights"]
        decides, users, reward, seed = Path(weights).stem.split("_")
        frame.loc[row, "policy"] = f"{decides} learned {users}, {reward}"
        frame.loc[row, "agent"] = int(seed)
    trained = {of.log: of.weeks for of in LOGS.values()}
    frame["part"] = np.where(frame["week"] < frame["log"].map(trained), TRAIN, TEST)
    frame["slowdown_ended"] = -frame["slowdown_ended"]
    return {str(name): of_log for name, of_log in frame.groupby("log", sort=False)}


def select(runs: pd.DataFrame, loop: str, policy: str, column: str, part: str = TEST) -> Any:
    """Return a column of the runs of a policy as an array of weeks by agents."""
    own = runs[(runs["loop"] == loop) & (runs["policy"] == policy) & (runs["part"] == part)]
    return own.pivot_table(index="week", columns="agent", values=column).dropna()


def compare(ours: pd.DataFrame, base: pd.DataFrame, kind: str = PLAIN) -> Interval:
    """Return the mean difference over weeks and agents, in pairs of the same weeks.

    ``base`` may have several agents too, whose mean counts. ``kind`` is one of :data:`LOG`,
    :data:`SHARE` and :data:`PLAIN`.
    """
    if ours.empty or base.empty:
        return kit.UNKNOWN
    if kind == LOG:
        ours, base = ours.map(log), base.map(log)
    if kind == SHARE:
        whole = float(base.to_numpy().mean()) / 100
        ours, base = ours / whole, base / whole
    found = cross(ours.sub(base.mean(axis=1), axis=0).dropna().to_numpy())
    if kind != LOG:
        return found
    value, low, high = (100 * (exp(end) - 1) for end in (found.value, found.low, found.high))
    return Interval(value, low, high, found.nb)


def compare_policies(
    runs: pd.DataFrame,
    loop: str,
    pair: tuple[str, str],
    column: str,
    kind: str = PLAIN,
    part: str = TEST,
) -> Interval:
    """Return :func:`compare` of a column of a policy and another one, in this order."""
    ours, base = (select(runs, loop, policy, column, part) for policy in pair)
    return compare(ours, base, kind)


def cross(differences: Any) -> Interval:
    """Return the mean of an array of weeks by agents, and its 95 % interval.

    Weeks and agents are both drawn: the variances of their means add up, with the degrees of
    freedom of Welch and Satterthwaite.
    """
    nb_weeks, nb_agents = differences.shape
    mean = float(differences.mean()) if differences.size else nan
    if nb_weeks < 2:
        return Interval(mean, nan, nan, nb_weeks)
    parts = [(differences.mean(axis=1).var(ddof=1) / nb_weeks, nb_weeks - 1)]
    if nb_agents > 1:
        parts.append((differences.mean(axis=0).var(ddof=1) / nb_agents, nb_agents - 1))
    variance = sum(part for part, _ in parts)
    if not variance:
        return Interval(mean, mean, mean, nb_weeks)
    degrees = variance**2 / sum(part**2 / free for part, free in parts)
    half = student(max(1, int(degrees))) * sqrt(variance)
    return Interval(mean, mean - half, mean + half, nb_weeks)


def list_policies(runs: pd.DataFrame) -> list[str]:
    """Return the policies in order of appearance."""
    return list(runs["policy"].unique())


def find_learned(policies: Iterable[str]) -> list[str]:
    """Return the policies that were learned."""
    return [policy for policy in policies if " learned " in policy]


def is_gated(runs: pd.DataFrame, loop: str, policy: str) -> bool:
    """Return whether a policy does less than EASY in the week: fewer jobs, or less work."""
    pair = (policy, BASE)
    changes = (compare_policies(runs, loop, pair, name, SHARE) for name in ("nb_ended", "work"))
    return any(change.below(0) for change in changes)
