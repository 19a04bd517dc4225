"""The measures of the study: a week behind some days in which the machine fills."""

from __future__ import annotations

import numpy as np

from batsched_py import Result
from batsched_py.environments import REWARDS
from batsched_py.environments.rewards import Life
from batsched_py.metrics import BOUND, busy_within
from batsched_py.units import DAY, HOUR, WEEK

WARM_UP = 3 * DAY


def measure(result: Result) -> dict[str, float]:
    """Return what users and the site get in the week, by name.

    Jobs are measured that were recorded as submitted in the week. ``slowdown`` is their mean
    bounded slowdown when all have ended, ``slowdown_ended`` that of those that have ended by the
    end of the week. Each ``reward_`` is as that of an environment that ends then; ``reward_naive``
    sums the slowdowns of ended jobs. ``nb_ended`` and
    ``work`` (processor-hours) are what was done in the week, by all jobs. ``lateness``,
    ``response`` (recorded submission to end) and ``longest_wait`` are in hours, ``worst_user`` is
    the largest of the mean slowdowns of users.
    """
    table = result.table.only_ran
    begin = float(np.nanmin(table.original_submit)) + WARM_UP
    end = begin + WEEK
    measured = table.select(table.original_submit >= begin)
    slowdown = np.maximum(1.0, measured.turnaround / np.maximum(measured.execution, BOUND))
    in_time = measured.finish <= end
    _, user_of = np.unique(measured.user, return_inverse=True)
    life = Life(
        recorded=measured.original_submit,
        submit=measured.submit,
        start=np.minimum(measured.start, end),
        end=np.minimum(measured.finish, end),
        run_time=measured.execution,
        size=measured.size,
        has_started=measured.start < end,
        has_ended=in_time,
    )
    # Jobs that are submitted later count only by the time since they were recorded.
    counts = {name: (measured.submit <= end) | (name == "response") for name in REWARDS}
    found = {
        "slowdown": slowdown.mean(),
        "slowdown_ended": slowdown[in_time].mean() if in_time.any() else np.nan,
        "reward_naive": (REWARDS["slowdown"](life) * in_time).sum() / len(slowdown),
        "nb_ended": ((table.finish > begin) & (table.finish <= end)).sum(),
        "work": busy_within(table, [(begin, end)]) / HOUR,
        "lateness": measured.lateness.mean() / HOUR,
        "response": (measured.finish - measured.original_submit).mean() / HOUR,
        "longest_wait": measured.waiting.max() / HOUR,
        "worst_user": (np.bincount(user_of, slowdown) / np.bincount(user_of)).max(),
        **{
            f"reward_{name}": (reward(life) * counts[name]).sum() / len(slowdown)
            for name, reward in REWARDS.items()
        },
    }
    return {name: float(value) for name, value in found.items()}
