"""The tables of the report; a table without runs is left out."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from batsched_py.report import CampaignResults, Table
from batsched_py.report.kit import SEED, Interval, Runs, cells, mean_interval
from batsched_py.support.statistics import Floats
from batsched_py.units import HOUR, MINUTE
from batsched_studies.site import TEXTS, fidelity
from batsched_studies.site import cases as c
from batsched_studies.site.interval_texts import with_intervals
from batsched_studies.site.measures import NARROW, USERS, WIDE

if TYPE_CHECKING:
    import pandas as pd

Rows = Iterator[dict[str, Any]]
_MOST_PARTITIONS = 12
"""The number of partitions in the table: those with most jobs."""
_BASE = (
    *("jobs_weekly", c.WORK, "active_users", "jobs_by_user", c.BUSY, c.WAIT, "wait_median"),
    *("wait_p90", c.SLOWDOWN, "at_once", "user_wait_median", "user_wait_p90", "user_wait_gini"),
    *("night", "weekend", "short", "refused", "at_limit"),
)
_SECTIONS = {
    "Changes": ("changes",),
    "Who waits longer": ("sizes", "partitions", "users"),
    "Habits and limits": ("habits", "limits"),
    "As it is": ("bases",),
}
_HABITS = ("night", "weekend", "short", "at_once")


def make_tables(log: str, runs: Runs, results: CampaignResults) -> dict[str, list[Table | None]]:
    """Return the tables of a log by the titles of their sections."""
    narrow, wide = (_bound(runs, share) for share in (NARROW, WIDE))
    made = {
        key: with_intervals(key, list(rows), log, most=_MOST_PARTITIONS, narrow=narrow, wide=wide)
        for key, rows in (
            ("changes", _changes(runs)),
            ("sizes", _sizes(runs)),
            ("partitions", _partitions(runs)),
            ("users", _users(runs, results)),
            ("habits", _habits(runs)),
            ("limits", _limits(runs)),
            ("bases", _bases(runs)),
        )
    }
    return {title: [made[key] for key in keys] for title, keys in _SECTIONS.items()}


def _bound(runs: Runs, share: float) -> str:
    """Return a share of the machine as it is as text, in processors if their number is known."""
    as_it_is = runs.where(change=c.AS_IT_IS).frame
    if "nb_res" not in as_it_is or as_it_is.empty:
        return f"1/{1 / share:g} of the machine"
    return TEXTS["bound_processors"].format(processors=int(share * as_it_is["nb_res"].iloc[0]))


def _labels(case: c.Case) -> dict[str, Any]:
    return {"change": case.change, "users": case.users}


def _changes_of(case: c.Case, *names: str) -> dict[str, float]:
    """Return changes in per cent, with their ends."""
    row: dict[str, float] = {}
    for name in names:
        row |= cells(case.compute_change(name), name, f"{name}_low", f"{name}_high")
    return row


def _differences(case: c.Case, *names: str) -> dict[str, float]:
    """Return by how much quantities are larger, with their ends."""
    row: dict[str, float] = {}
    for name in names:
        row |= cells(case.difference(name), f"{name}_more", f"{name}_more_low", f"{name}_more_high")
    return row


def _changes(runs: Runs) -> Rows:
    for case in c.find_cases(runs):
        row = _labels(case) | {"pairs": case.ratio(c.WAIT).nb}
        for name in (c.WAIT, c.BUSY):
            before, after = (side.mean(name).value for side in (case.base, case.runs))
            row |= {f"{name}_before": before, f"{name}_after": after}
        row |= _differences(case, c.WAIT)
        yield row | _changes_of(case, c.WAIT, c.SLOWDOWN, c.WORK, c.BUSY)


def _sizes(runs: Runs) -> Rows:
    for case in c.find_cases(runs):
        yield _labels(case) | _changes_of(case, *c.SIZES)


def _partitions(runs: Runs) -> Rows:
    """Yield the waits in each partition that has some in all pairs, if there are several."""
    names = c.list_partitions(runs)[:_MOST_PARTITIONS]
    for case in c.find_cases(runs) if len(names) > 1 else ():
        for partition in names:
            name = f"{c.IN}{partition}"
            change = case.compute_change(name)
            if change.nb == case.ratio(c.WAIT).nb:
                before, after = (side.values(name).mean() / HOUR for side in (case.base, case.runs))
                row = _labels(case) | {"partition": partition, "before": before, "after": after}
                yield row | cells(change, "wait", "wait_low", "wait_high", nb="pairs")


def _users(runs: Runs, results: CampaignResults) -> Rows:
    """Yield how many users wait longer, and how unequal their waits are."""
    for case in c.find_cases(runs):
        row = _labels(case)
        for name, share in compute_shares(results, case.runs.frame, case.base.frame).items():
            row |= cells(share, name, f"{name}_low", f"{name}_high")
        for name in ("user_wait_median", "user_wait_p90"):
            row[name] = case.compute_change(name).value
        yield row | _differences(case, "user_wait_gini")


def _habits(runs: Runs) -> Rows:
    """Yield by how many points shares of the jobs differ, and jobs by user in per cent."""
    for case in c.find_cases(runs):
        yield _labels(case) | _changes_of(case, "jobs_by_user") | _differences(case, *_HABITS)


def _limits(runs: Runs) -> Rows:
    """Yield the jobs that limits refuse or cut, for cases with such jobs."""
    for case in c.find_cases(runs):
        row: dict[str, Any] = _labels(case)
        for name in ("refused", "refused_weekly", "at_limit"):
            row[f"{name}_before"] = case.base.mean(name).value
            row[name] = case.runs.mean(name).value
        if any(row[name] > 0 for name in ("refused", "at_limit", "at_limit_before")):
            yield row


def _bases(runs: Runs) -> Rows:
    """Yield the recorded values, and the present site's: the replay of the log, and drawn users."""
    recorded, replay = fidelity.read_side(runs, "recorded"), c.select_recorded(runs)
    if not isnan(recorded[c.WAIT]):
        yield {"users": TEXTS["base_recorded"], **recorded}
    if replay:
        yield _base(TEXTS["base_replay"], replay)
    for kind in c.list_user_kinds(runs):
        base = runs.where(user_kind=kind, change=c.AS_IT_IS)
        if base:
            yield _base(kind, base)


def _base(name: str, runs: Runs) -> dict[str, Any]:
    return {"users": name, "n": len(runs)} | {of: runs.mean(of).value for of in _BASE}


LEAST_SHARE, LEAST_TIME = 0.1, MINUTE
"""By how much a user's mean wait must change to count as changed: a share of it, and seconds."""


def compute_shares(
    results: CampaignResults, changed: pd.DataFrame, base: pd.DataFrame
) -> dict[str, Interval]:
    """Return the shares of users who wait ``longer`` and ``shorter``, in per cent, over the pairs.

    ``changed`` and ``base`` are rows of runs, each pair of the same replication. The ends of the
    intervals are shares, too: from 0 to 100.
    """
    waits = {row[SEED]: read_user_waits(results, row) for _, row in base.iterrows() if SEED in row}
    pairs = [
        _pair(read_user_waits(results, row), waits[row[SEED]])
        for _, row in changed.iterrows()
        if row.get(SEED) in waits
    ]
    longer, shorter = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return {"longer": _as_shares(longer), "shorter": _as_shares(shorter)}


def _as_shares(values: Floats) -> Interval:
    found = mean_interval(values)
    low, high = (float(np.clip(end, 0, 100)) for end in (found.low, found.high))
    return Interval(found.value, low, high, found.nb)


def read_user_waits(results: CampaignResults, run: Any) -> dict[str, float]:
    """Read the stored mean wait of each measured user of a run, in seconds."""
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
