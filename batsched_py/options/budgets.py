"""Budgets: limits after which a simulation counts as endless."""

from __future__ import annotations

from typing import Annotated

import msgspec

from batsched_py.errors import BudgetError, parameter
from batsched_py.units import DAY

AboveZero = Annotated[float, msgspec.Meta(gt=0)]
_AtLeastOne = Annotated[float, msgspec.Meta(ge=1)]


class Budgets(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits beyond which a simulation counts as endless; ``inf`` lifts one.

    They are so large that no honest simulation comes near them.
    """

    idle_time: AboveZero = 3650 * DAY
    """Seconds that messages may come after the last one that changed anything: after which a job
    was submitted, started or ended, or a machine failed or came back (ten years)."""
    messages: _AtLeastOne = 3_000_000
    """Messages in a row that change nothing; also steps of composed jobs, per job, while no
    message comes."""
    decisions: _AtLeastOne = 1_000_000
    """Calls and kills that a policy may ask for in one pass, and calls that may be outstanding.
    Of starts and rejections there are no more than jobs."""
    jobs: _AtLeastOne = 10_000_000
    """Jobs that users may submit beyond as many as were recorded."""
    jobs_at_once: _AtLeastOne = 1_000_000
    """Jobs that users may submit or withdraw at one instant."""

    def __str__(self) -> str:
        """Return what differs from the defaults as it is given, ``decisions=inf,jobs=5``."""
        return format_limits(self, ".15g")


def make_budget_error(budget: str, most: float, now: float, seen: str) -> BudgetError:
    """Return the error for a budget exceeded at ``now`` (seconds); ``seen`` describes it."""
    return BudgetError(
        f"at {now}: {seen}: this seems endless; if it is meant, "
        f"{parameter('budgets')} {budget}=N allows more than {most:.15g} ({budget}=inf: any)"
    )


def format_limits(limits: msgspec.Struct, form: str = "") -> str:
    """Return what differs from the defaults as it is given, ``idle_time=600.0,keep=10``.

    ``form`` is the format of each value.
    """
    return ",".join(
        f"{field.name}={value:{form}}"
        for field in msgspec.structs.fields(limits)
        if (value := getattr(limits, field.name)) != field.default
    )
