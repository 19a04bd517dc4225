"""Paired ratios of a campaign's metrics: is one policy better than another, with the same seeds?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import nan
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from batsched_py.report.document import Column, Table
from batsched_py.report.formatting import spoken
from batsched_py.report.kit.estimates import cells
from batsched_py.report.kit.pairing import paired
from batsched_py.report.kit.selection import Runs
from batsched_py.report.kit.tables import columns
from batsched_py.support.statistics import paired_ratio

REPEATED = ("replication", "seed", "shake")
"""Axes over whose values means are taken: they repeat a run and do not change the question."""
_POLICY = ("scheduler", "scheduler_options")
_MOST_VALUES = 8
_INPUTS = ("log", "workload", "input")
"""Axes that are never compared: another log has other people."""


def compared_axis(runs: pd.DataFrame, axes: Sequence[str]) -> str | None:
    """Return the axis whose values are compared: that of the policies, if there is exactly one.

    Else the first one with 2 to 8 values. None if there is no such axis.
    """
    few = [
        name
        for name in axes
        if name not in _INPUTS and 2 <= runs[name].nunique(dropna=False) <= _MOST_VALUES
    ]
    policies = [name for name in few if _is_of_policies(runs, name)]
    return policies[0] if len(policies) == 1 else next(iter(few), None)


def _is_of_policies(runs: pd.DataFrame, axis: str) -> bool:
    """Tell whether the values of an axis have a scheduler each, not all the same."""
    settings = [name for name in _POLICY if name in runs and name != axis]
    if axis in _POLICY:
        return True
    labels = runs[[axis, *settings]].astype(str).drop_duplicates()
    return bool(settings) and labels[axis].is_unique and labels[settings].drop_duplicates().size > 1


def ratios_table(
    runs: pd.DataFrame, axes: Sequence[str], metrics: Sequence[str], repeats: Sequence[str]
) -> Table | None:
    """Return the metrics of each value of an axis as multiples of those of its first value.

    A row for each metric, per combination of the other axes; pairs of runs are of equal
    ``repeats`` (columns: replication, seed). None if there is nothing to compare.
    """
    axis = compared_axis(runs, axes)
    if axis is None:
        return None
    others = [name for name in axes if name != axis]
    base = runs[axis].iloc[0]
    rows = list(_rows(runs, axis, others, metrics, repeats))
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    shown = [Column(name, spoken(name)) for name in (*others, axis, "metric", "ratio")]
    if frame["low"].notna().any():
        shown += columns(low="95 % from", high="to")
    shown.append(Column("pairs"))
    decided = [at for at, row in enumerate(rows) if row["low"] > 1 or row["high"] < 1]
    return Table(
        "ratios",
        f"Metrics as multiples of those of {spoken(axis)} {base}",
        frame,
        tuple(shown),
        _note(frame, repeats),
        tuple((at, "ratio") for at in decided),
    )


def _note(frame: pd.DataFrame, repeats: Sequence[str]) -> str:
    over = f" over pairs of runs of equal {' and '.join(repeats)}" if repeats else ""
    note = f"Ratio of means{over}; 1: no difference."
    if frame["low"].notna().any():
        return f"{note} With 95 % bootstrap intervals over the pairs; marked: 1 is outside."
    if (frame["pairs"] > 1).any():
        return f"{note} The replications do not differ from each other, so there is no interval."
    return f"{note} Of one pair there is no interval: set `replications` to have one."


def _rows(
    runs: pd.DataFrame,
    axis: str,
    others: Sequence[str],
    metrics: Sequence[str],
    repeats: Sequence[str],
) -> Iterator[dict[str, Any]]:
    first = runs[axis].iloc[0]
    index = list(repeats) if repeats else np.zeros(len(runs))
    for values, group in Runs(runs.set_index(index, drop=False)).groups(*others):
        place = dict(zip(others, values, strict=True))
        base = group.where(**{axis: first})
        for value in group.labels(axis):
            if value == first or not base:
                continue
            ours, theirs = paired(group.where(**{axis: value}).frame, base.frame)
            for metric in metrics:
                yield {**place, axis: value, **_ratio(metric, ours[metric], theirs[metric])}


def _ratio(metric: str, ours: pd.Series[Any], base: pd.Series[Any]) -> dict[str, Any]:
    """Return a row; runs that are all the same have no interval."""
    ratio = paired_ratio(ours.astype(float), base.astype(float))
    if ours.nunique() == base.nunique() == 1:
        ratio = msgspec.structs.replace(ratio, low=nan, high=nan)
    return {"metric": spoken(metric)} | cells(ratio, "ratio", nb="pairs")
