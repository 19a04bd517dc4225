"""Divides numbers; the quotient is nan where the denominator is 0."""

from __future__ import annotations

from math import nan


def ratio(numerator: float, denominator: float) -> float:
    """Return numerator / denominator, nan if the denominator is 0."""
    return float(numerator / denominator) if denominator else nan
