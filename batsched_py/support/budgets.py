"""How long work may go on that may have no end: budgets with names, and their errors."""

from __future__ import annotations

from collections.abc import Container
from typing import Annotated, Any, TypeVar

import msgspec

from batsched_py.errors import BudgetError, UsageError, parameter
from batsched_py.support.checked_values import convert
from batsched_py.support.durations import parse_time
from batsched_py.units import DAY

AboveZero = Annotated[float, msgspec.Meta(gt=0)]
L = TypeVar("L", bound=msgspec.Struct)
"""Limits with names."""


class Budgets(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a simulation may do before it is taken for endless; ``inf`` lifts a budget.

    They are so large that no honest simulation comes near them.
    """

    idle_time: AboveZero = 3650 * DAY
    """Seconds that messages may come after the last one that changed anything: after which a job
    was submitted, started or ended, or a machine failed or came back (ten years)."""
    messages: AboveZero = 3_000_000
    """Messages in a row that change nothing; also steps of composed jobs, per job, while no
    message comes."""
    decisions: AboveZero = 1_000_000
    """Calls and kills that a policy may ask for in one pass, and calls that may be outstanding.
    Of starts and rejections there are no more than jobs."""
    jobs: AboveZero = 10_000_000
    """Jobs that users may submit beyond as many as were recorded."""
    jobs_at_once: AboveZero = 1_000_000
    """Jobs that users may submit at one instant."""

    def __str__(self) -> str:
        """Return what differs from the defaults as it is given, ``decisions=inf,jobs=5``."""
        defaults = Budgets()
        return ",".join(
            f"{name}={getattr(self, name):.15g}"
            for name in self.__struct_fields__
            if getattr(self, name) != getattr(defaults, name)
        )


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


def exceeded(budget: str, most: float, now: float, seen: str) -> BudgetError:
    """Return what is to be raised at ``now`` (seconds): what was ``seen`` is more than ``most``."""
    return BudgetError(
        f"at {now}: {seen}: this seems endless; if it is meant, "
        f"{parameter('budgets')} {budget}=N allows more than {most:.15g} ({budget}=inf: any)"
    )
