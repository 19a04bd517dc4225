"""Pairs the runs of two campaigns by the labels and seeds that both have."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

import msgspec
import pandas as pd

from batsched_py.campaign.campaign_folder import CampaignResults
from batsched_py.report.campaign_axes import REPEATED
from batsched_py.report.formatting import listed
from batsched_py.run.settings import Settings
from batsched_py.support.json_values import whole

_NOT_OF_A_VALUE = {"batsim", "batsim_log", "timeouts", "budgets"}


class Pairing(msgspec.Struct, frozen=True):
    """The pairs of runs of two campaigns, and the runs without a counterpart."""

    runs: pd.DataFrame
    """A row per pair: ``row_a`` and ``row_b`` (positions in the tables of the runs), the labels
    of the groups, and ``group``, these as one text."""
    labels: tuple[str, ...]
    """Names of the labels by which pairs are grouped."""
    only_a: list[int]
    only_b: list[int]
    notes: tuple[str, ...]
    """How they were matched, as sentences."""


def pair_runs(a: CampaignResults, b: CampaignResults) -> Pairing:
    """Match the finished runs of two campaigns by their labels and the seed.

    An axis of one campaign only does not count, nor does an axis with a single value in one
    campaign that the other lacks: then a run is paired with several runs, one for each value.
    Values with different names are matched if their settings are equal.
    """
    notes: list[str] = []
    all_axes = list(dict.fromkeys([*a.axes, *b.axes]))
    a_texts, b_texts = _texts(a, all_axes), _texts(b, all_axes)
    axes = [name for name in all_axes if name not in REPEATED]
    common = []
    for axis in axes:
        b_texts = _renamed(axis, a_texts, b_texts, notes)
        if _is_common(axis, a_texts, b_texts, notes):
            common.append(axis)
    keys = [*common, *_repeats(a_texts, b_texts, notes)]
    pairs = _joined(a_texts, b_texts, keys)
    labels = tuple(name for name in axes if _grouping(name, a_texts, b_texts, pairs))
    for name in labels:
        of_b = name in b_texts and name not in common
        if of_b and (name not in a_texts or a_texts[name].nunique() <= 1):
            pairs[name] = b_texts[name].iloc[pairs["row_b"]].tolist()
        else:
            pairs[name] = a_texts[name].iloc[pairs["row_a"]].tolist()
    pairs = pairs.assign(group=format_groups(pairs[list(labels)]))
    if keys:
        notes.insert(0, f"Runs are matched by {listed(keys)}.")
    return Pairing(
        pairs,
        labels,
        sorted(set(range(len(a_texts))) - set(pairs["row_a"])),
        sorted(set(range(len(b_texts))) - set(pairs["row_b"])),
        tuple(notes),
    )


def format_groups(labels: pd.DataFrame) -> pd.Series[str]:
    """Return the labels of each row as one text, numbers with the name of their axis."""

    def named(name: str, value: Any) -> str:
        text = _text(value)
        return f"{name} {text}" if text[:1].isdigit() or text in ("-", "True", "False") else text

    texts = [
        ", ".join(named(str(name), value) for name, value in zip(labels.columns, row, strict=True))
        for row in labels.astype(object).to_numpy()  # without a column too, each row is one
    ]
    return pd.Series(texts, index=labels.index, dtype=str).replace("", "all runs")


def _texts(results: CampaignResults, axes: Sequence[str]) -> pd.DataFrame:
    """Return labels and settings as texts: 1 and 1.0 are the same value of an axis."""
    names = {*Settings.__struct_fields__, *axes, *REPEATED}
    runs = results.runs
    kept = [name for name in runs.columns if name in names]
    return pd.DataFrame({name: runs[name].map(_text) for name in kept}).reset_index(drop=True)


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and isnan(value)):
        return "-"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(whole(value))
    return str(value)


def _renamed(axis: str, a: pd.DataFrame, b: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return ``b`` with the names that ``a`` has for the same settings."""
    if axis not in a or axis not in b or axis in Settings.__struct_fields__:
        return b
    values_a, values_b = (list(dict.fromkeys(frame[axis])) for frame in (a, b))
    rest_a = [value for value in values_a if value not in values_b]
    rest_b = [value for value in values_b if value not in values_a]
    same = {
        (old, new) for new in rest_a for old in rest_b if _same_settings(axis, (a, new), (b, old))
    }
    new_names = {}
    for old, new in sorted(same):
        if sum(old in pair for pair in same) == 1 and sum(new in pair for pair in same) == 1:
            new_names[old] = new
            notes.append(f"{axis}: {new!r} in A is {old!r} in B (the same settings).")
    return b.assign(**{axis: b[axis].map(lambda value: new_names.get(value, value))})


def _same_settings(
    axis: str, of_a: tuple[pd.DataFrame, str], of_b: tuple[pd.DataFrame, str]
) -> bool:
    """Return whether two values of an axis stand for the same settings.

    Only settings count that are equal in all runs of the value, but not in the whole campaign.
    """
    rows = [frame[frame[axis] == value] for frame, value in (of_a, of_b)]
    names = [
        name
        for name in Settings.__struct_fields__
        if name not in (*REPEATED, *_NOT_OF_A_VALUE)
        and all(name in part and part[name].nunique() == 1 for part in rows)
        and any(frame[name].nunique() > 1 for frame, _ in (of_a, of_b))
    ]
    return bool(names) and all(rows[0][name].iloc[0] == rows[1][name].iloc[0] for name in names)


def _is_common(axis: str, a: pd.DataFrame, b: pd.DataFrame, notes: list[str]) -> bool:
    """Return whether runs can be matched by an axis; adds a sentence if not."""
    for name, has, lacks in (("A", a, b), ("B", b, a)):
        if axis not in lacks:
            notes.append(
                f"{axis}: only {name} has this axis, of {has[axis].nunique()} values; each is "
                f"compared with the runs of {'B' if name == 'A' else 'A'} that agree otherwise."
            )
            return False
    values_a, values_b = set(a[axis]), set(b[axis])
    if values_a & values_b or (len(values_a) > 1 and len(values_b) > 1):
        return True
    notes.append(
        f"{axis}: {list_first(sorted(values_a))} in A, {list_first(sorted(values_b))} in B; that "
        "is compared, since nothing else can be matched."
    )
    return False


def _repeats(a: pd.DataFrame, b: pd.DataFrame, notes: list[str]) -> list[str]:
    """Return the columns that pair repetitions of a run."""
    keys = []
    for name, other in (("seed", "replication"), ("shake", None)):
        if name not in a or name not in b:
            continue
        seeds_a, seeds_b = set(a[name]), set(b[name])
        if seeds_a & seeds_b:
            if len(seeds_a | seeds_b) > 1:
                keys.append(name)
        elif other is not None and other in a and other in b:
            keys.append(other)
            notes.append(
                "The campaigns have no seed in common: they are paired by the number of the "
                "replication, which takes nothing off the intervals."
            )
        else:
            notes.append(
                f"{name}: {list_first(sorted(seeds_a))} in A, {list_first(sorted(seeds_b))} in B."
            )
    return keys


def _joined(a: pd.DataFrame, b: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    names = list(keys)
    left, right = a[names].assign(row_a=range(len(a))), b[names].assign(row_b=range(len(b)))
    how: Any = {"on": names} if names else {"how": "cross"}
    return left.merge(right, **how)[["row_a", "row_b"]].reset_index(drop=True)


def _grouping(name: str, a: pd.DataFrame, b: pd.DataFrame, pairs: pd.DataFrame) -> bool:
    """Return whether a label has several values in the pairs."""
    texts = [
        frame[name].iloc[pairs[row]].nunique()
        for frame, row in ((a, "row_a"), (b, "row_b"))
        if name in frame
    ]
    return max(texts, default=0) > 1


def list_first(values: Sequence[str], most: int = 4) -> str:
    """Return the first values of a list and the number of further ones as text."""
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(values[:most]) + more
