"""Makes tables whose intervals are small text below the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from batsched_py.report import Column, Table
from batsched_py.report.kit import slug
from batsched_studies.site import TEXTS

BELOW = "_interval"
"""Ends the names of columns that are the text of an interval, from ``_low`` and ``_high``."""


def with_intervals(
    key: str, rows: Sequence[dict[str, Any]], log: str, **values: Any
) -> Table | None:
    """Return a table of the report; its columns ``below`` others are filled from their ends."""
    shown = [column for column in TEXTS.columns(key) if column.below]
    filled = [row | {column.below: _interval(row, column) for column in shown} for row in rows]
    return TEXTS.table(key, filled, slug(key, log), log=log, **values)


def _interval(row: dict[str, Any], column: Column) -> str:
    name = column.below.removesuffix(BELOW)
    low, high = (row.get(f"{name}_{end}") for end in ("low", "high"))
    if low is None or high is None or low != low or high != high:
        return ""
    return f"{low:z.{column.decimals}f} to {high:z.{column.decimals}f}"
