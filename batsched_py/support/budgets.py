"""How long work may go on that may have no end: budgets with names, and their errors."""

from __future__ import annotations

from math import inf

import msgspec

from batsched_py.errors import BudgetError, UsageError, parameter
from batsched_py.support.option_values import named_limits
from batsched_py.units import DAY


class Budgets(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a simulation may do before it is taken for endless; ``inf`` lifts a budget.

    They are so large that no honest simulation comes near them.
    """

    idle_time: float = 3650 * DAY
    """Seconds that messages may come after the last one that changed anything: after which a job
    was submitted, started or ended, or a machine failed or came back (ten years)."""
    messages: float = 3_000_000
    """Messages in a row that change nothing; also steps of composed jobs, per job, while no
    message comes."""
    decisions: float = 1_000_000
    """Calls and kills that a policy may ask for in one pass, and calls that may be outstanding.
    Of starts and rejections there are no more than jobs."""
    jobs: float = 10_000_000
    """Jobs that users may submit beyond as many as were recorded."""
    jobs_at_once: float = 1_000_000
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
    """Read ``decisions=5000,jobs=inf``, any of them; raises :class:`UsageError`.

    All but ``idle_time`` are whole numbers: a part of a message would be as none.
    """
    read = named_limits("budgets", budgets, Budgets, times=["idle_time"])
    for name, value in msgspec.structs.asdict(read).items():
        if name != "idle_time" and value != inf and value % 1:
            raise UsageError(
                f"{parameter('budgets')} {name}={value}: expected a whole number of at least 1, or "
                "inf"
            )
    return read


def exceeded(budget: str, most: float, now: float, seen: str) -> BudgetError:
    """Return what is to be raised at ``now`` (seconds): what was ``seen`` is more than ``most``."""
    return BudgetError(
        f"at {now}: {seen}: this seems endless; if it is meant, "
        f"{parameter('budgets')} {budget}=N allows more than {most:.15g} ({budget}=inf: any)"
    )
