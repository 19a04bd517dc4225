"""Finds the roles of a campaign's axes: the compared one, that of users, and repetitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from batsched_py.report.formatting import is_nothing, to_words
from batsched_py.support.terminal_text import one_line

REPEATED = ("replication", "seed", "shake")
"""Axes that repeat runs: reports show means over their values."""
INPUTS = ("log", "workload", "input")
"""Axes that are never compared: another log has other users."""
_POLICY = ("scheduler", "scheduler_options")
_USERS = ("users", "user_options", "sessions")
NONE = "none"
"""The label of a run that has no value of an axis."""
_MOST_VALUES = 8
_TITLES = {"scheduler": "policy", "home_site": "site"}


class CampaignAxes(msgspec.Struct, frozen=True):
    """The options that vary in a campaign, by their purpose in the report."""

    compared: str | None
    """The axis whose values, usually policies, are compared with its first value; None: none."""
    users: str | None
    """The axis of user models; None if all runs have the same, or if they are compared."""
    others: tuple[str, ...]
    """All other axes, except those that repeat runs."""
    repeats: tuple[str, ...]
    """The axes that repeat runs: see :data:`REPEATED`."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The axes whose values name the rows of a table, the compared one last."""
        there = (self.users, *self.others, self.compared)
        return tuple(axis for axis in there if axis is not None)


def classify_axes(runs: pd.DataFrame, axes: Iterable[str]) -> CampaignAxes:
    """Sort the options that vary in a campaign by their purpose in the report."""
    there = [name for name in axes if name in runs]
    asked = [name for name in there if name not in REPEATED]
    compared = find_compared_axis(runs, asked)
    rest = [name for name in asked if name != compared]
    users = next((name for name in rest if decides(runs, name, _USERS)), None)
    repeats = tuple(name for name in there if name in REPEATED)
    return CampaignAxes(compared, users, tuple(name for name in rest if name != users), repeats)


def fill_labels(runs: pd.DataFrame, axes: Iterable[str]) -> pd.DataFrame:
    """Return the runs with the text ``none`` where an axis has no value."""
    there = [name for name in axes if name in runs and runs[name].isna().any()]
    filled = {name: runs[name].astype(object).where(runs[name].notna(), NONE) for name in there}
    return runs.assign(**filled)


def find_compared_axis(runs: pd.DataFrame, axes: Sequence[str]) -> str | None:
    """Return the axis whose values are compared: that of the policies if they vary.

    Else the first one with 2 to 8 values. None if there is no such axis.
    """
    several = [name for name in axes if name not in INPUTS and runs[name].nunique(dropna=False) > 1]
    policies = [name for name in several if decides(runs, name, _POLICY)]
    if len(policies) == 1:
        return policies[0]
    few = (name for name in several if runs[name].nunique(dropna=False) <= _MOST_VALUES)
    return next(few, None)


def decides(runs: pd.DataFrame, axis: str, settings: Sequence[str]) -> bool:
    """Return whether an axis determines the values of ``settings``, and they vary."""
    if axis in settings:
        return True
    there = [name for name in settings if name in runs and name != axis]
    labels = runs[[axis, *there]].astype(str).drop_duplicates()
    return bool(there) and labels[axis].is_unique and len(labels[there].drop_duplicates()) > 1


def format_axis(axis: str) -> str:
    """Return the name of an axis as words."""
    return _TITLES.get(axis, to_words(axis))


def shorten_names(values: Iterable[Any]) -> dict[Any, str]:
    """Return a short name for each value of an axis; all names differ.

    ``file.py:Class`` becomes ``Class``, a path the name of its file. Equal names keep as many
    folders as make them differ.
    """
    forms = {value: _forms(NONE if is_nothing(value) else _text(value)) for value in values}
    longest = max(map(len, forms.values()), default=0)
    levels = [[of[min(level, len(of) - 1)] for of in forms.values()] for level in range(longest)]
    often = [Counter(level) for level in levels]

    def shortest(of: list[str]) -> str:
        alone = (form for form, count in zip(of, often, strict=False) if count[form] == 1)
        return next(alone, of[-1])

    return {value: one_line(shortest(of)) for value, of in forms.items()}


def _text(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _forms(text: str) -> list[str]:
    """Return the names of a value, from the shortest to the whole text."""
    path, mark, name = text.rpartition(":") if ".py:" in text else (text, "", "")
    parts = Path(path).parts
    if not mark and not (len(parts) > 1 or path.endswith((".swf", ".swf.gz", ".json", ".xml"))):
        return [text]
    ends = ["/".join(parts[-count:]) for count in range(1, len(parts))]
    if mark:
        return [name, *(f"{end}:{name}" for end in ends), text]
    short = Path(path).name.removesuffix(".gz").removesuffix(".swf")
    return [short, *ends, text]


def format_labels(labels: Mapping[str, Any], names: Mapping[str, Mapping[Any, str]]) -> str:
    """Return labels as words; numbers have the names of their axes."""
    return ", ".join(
        names[axis][value]
        if isinstance(value, str)
        else f"{format_axis(axis)} {names[axis][value]}"
        for axis, value in labels.items()
    )
