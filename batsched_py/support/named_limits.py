"""Limits with names, as options give them: ``ready=60,run=3600``."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, TypeVar

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.support.budgets import Budgets
from batsched_py.support.checked_values import convert
from batsched_py.support.durations import parse_time

L = TypeVar("L", bound=msgspec.Struct)
"""Limits with names."""


def parse_budgets(budgets: Budgets | str | None) -> Budgets:
    """Read ``decisions=5000,jobs=inf``, any of them; raises :class:`UsageError`."""
    return parse_limits("budgets", budgets, Budgets, times=["idle_time"])


def parse_limits(
    option: str, limits: L | str | None, kind: type[L], times: Container[str] = ()
) -> L:
    """Return the limits of a ``kind``: ``ready=60,run=3600``, any of them; None: the defaults.

    Limits whose names are in ``times`` are in seconds or written as
    :func:`~batsched_py.support.durations.parse_time` reads them. Raises :class:`UsageError` for
    unknown names, and for limits that are not above 0.
    """
    where = parameter(option)
    if limits is None:
        return kind()
    if isinstance(limits, str):
        values: dict[str, Any] = {}
        for part in limits.split(",") if limits else []:
            name, equals, amount = part.strip().partition("=")
            if name in values or not equals:
                problem = "was given twice" if name in values else "expected NAME=NUMBER"
                raise UsageError(f"{where} {limits}: {name} {problem}")
            values[name] = _read_amount(f"{where} {name}", amount, is_time=name in times)
    else:
        values = msgspec.structs.asdict(limits)
    return convert(values, kind, where, UsageError)


def _read_amount(where: str, amount: str, *, is_time: bool) -> Any:
    try:
        return float(amount)
    except ValueError:
        return parse_time(where, amount) if is_time else amount
