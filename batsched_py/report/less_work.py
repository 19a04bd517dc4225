"""Finds runs that do less work than others: jobs are rejected or withdrawn, or less work is done.

The jobs that remain then wait less, which is no improvement.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from batsched_py.report.metric_words import find_reaction

NO_GAIN = "Shorter waits are no improvement if runs do less work."
LEAST = 0.01
"""Share of the work; smaller losses are not reported."""
_NOT_MEASURED = ("warm_up", "cool_down")


def describe_less_work(ours: pd.DataFrame, base: pd.DataFrame) -> str:
    """Return why runs do less work than others, as text: "refuses 3 % of the jobs", or "".

    The clause is empty if they do not. They may refuse a larger share of their jobs, or their users
    may withdraw one. They may also do less work for users who do not react, on processors of the
    same speed. The rows are runs of a campaign. Work is not compared where some jobs are not
    measured.
    """
    if not len(ours) or not len(base):
        return ""
    reasons = []
    refused, before = compute_refused_share(ours), compute_refused_share(base)
    if refused > before:
        reasons.append(f"refuses {_per_cent(refused)} of the jobs")
    withdrawn, before = (_compute_share(runs, "nb_withdrawn") for runs in (ours, base))
    if withdrawn > before + LEAST:
        reasons.append(f"loses {_per_cent(withdrawn)} of the jobs to withdrawals")
    lost = 1 - _work(ours) / _work(base) if _is_comparable(ours, base) else 0.0
    if lost > LEAST:
        reasons.append(f"does {_per_cent(lost)} less work")
    return " and ".join(reasons)


def compare_work(two: Mapping[str, pd.DataFrame]) -> str:
    """Return a text on the one of two groups of runs that does less work; "" if neither does."""
    (a, ours), (b, others) = two.items()
    found = {a: describe_less_work(ours, others), b: describe_less_work(others, ours)}
    return "; ".join(f"{name} {words}" for name, words in found.items() if words)


def compute_refused_share(runs: pd.DataFrame) -> float:
    """Return the share of rejected jobs, 0 if it is unknown."""
    return _compute_share(runs, "nb_rejected")


def _compute_share(runs: pd.DataFrame, count: str) -> float:
    if not {"nb_jobs", count} <= set(runs):
        return 0.0
    jobs, counted = (float(runs[name].astype(float).sum()) for name in ("nb_jobs", count))
    return counted / jobs if jobs else 0.0


def _is_comparable(ours: pd.DataFrame, base: pd.DataFrame) -> bool:
    both = pd.concat([ours, base])
    one_speed = "speed_factor" not in both or both["speed_factor"].nunique(dropna=False) == 1
    all_measured = not any(both[name].any() for name in _NOT_MEASURED if name in both)
    is_same = one_speed and all_measured and find_reaction(both) is False
    return is_same and _work(ours) > 0 and _work(base) > 0


def _work(runs: pd.DataFrame) -> float:
    """Return the work of a run (processors times seconds), mean over runs; nan if not known."""
    names = ("utilisation", "makespan", "nb_res")
    if not set(names) <= set(runs):
        return float("nan")
    used, seconds, processors = (runs[name].astype(float) for name in names)
    return float((used * seconds * processors).mean())


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= LEAST else f"{100 * share:.1g} %"
