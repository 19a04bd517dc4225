"""Puts estimates with intervals into the cells of tables and the data of charts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isnan, nan
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from batsched_py.support.statistics import Interval, finite, mean_interval

Name = TypeVar("Name")

UNKNOWN = Interval(nan, nan, nan, 0)
"""The estimate for a quantity without runs."""


def cells(
    estimate: Interval, value: str = "ours", low: str = "low", high: str = "high", *, nb: str = ""
) -> dict[str, Any]:
    """Return value and interval of an estimate as cells of a table row, by the given names.

    With ``nb`` the cell of that name has the number of values. Unknown ends are nan.
    """
    made = {value: estimate.value, low: estimate.low, high: estimate.high}
    return made | {nb: estimate.nb} if nb else made


def from_cells(
    row: Any, value: str = "ours", low: str = "low", high: str = "high", *, nb: str
) -> Interval:
    """Return the estimate in a row of a table, from the cells that :func:`cells` made."""
    return Interval(*(getattr(row, name) for name in (value, low, high, nb)))


def chart_cells(estimate: Interval) -> dict[str, Any]:
    """Return an estimate as ``ours``, ``low`` and ``high`` for a chart; unknown ends are None."""
    low, high = (None if isnan(end) else end for end in (estimate.low, estimate.high))
    return {"ours": estimate.value, "low": low, "high": high}


def all_hold(answers: Iterable[bool | None]) -> bool | None:
    """Return whether all answers are true: None if there are none, or some unknown and no false."""
    found = set(answers)
    return False if False in found else None if None in found or not found else True


def deciding(answers: Mapping[Name, bool | None]) -> list[Name]:
    """Return the names whose answers equal the result of :func:`all_hold`, and so decide it."""
    holds = all_hold(answers.values())
    return [name for name, answer in answers.items() if answer == holds]


def mean_of_repeats(values: ArrayLike) -> Interval:
    """Return the mean of repeated runs; it has no interval if all values are equal."""
    mean, known = mean_interval(values), finite(values)
    equal = len(known) > 0 and np.ptp(known) == 0
    return msgspec.structs.replace(mean, low=nan, high=nan) if equal else mean
