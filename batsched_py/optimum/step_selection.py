"""Options of ``batsched-py optimum`` that select the steps of dynP to compare."""

from __future__ import annotations

from typing import Annotated

import msgspec

from batsched_py.errors import UsageError, parameter
from batsched_py.options.setting_fields import Setting


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Selects the scheduling steps of a simulation that are compared with their optimum.

    They are the first ``steps`` from ``from_time`` (seconds) on, of every ``every``-th step with
    at least ``least_waiting`` and at most ``most_waiting`` jobs (None: any number).
    """

    steps: Annotated[int, Setting("Most steps to solve.", "K")] = 10
    from_time: Annotated[float, Setting("Time from which steps are solved, in seconds.", "S")] = 0.0
    every: Annotated[int, Setting("Solve only every N-th of these steps.", "N")] = 1
    least_waiting: Annotated[
        int, Setting("Solve only steps at which at least W jobs wait.", "W")
    ] = 2
    most_waiting: Annotated[
        int | None,
        Setting("Solve only steps at which at most W jobs wait.", "W", default="any number"),
    ] = None

    def __post_init__(self) -> None:
        for name in ("steps", "every", "least_waiting"):
            if (value := getattr(self, name)) < 1:
                raise UsageError(f"{parameter(name)} {value}: expected at least 1")
        if self.most_waiting is not None and self.most_waiting < self.least_waiting:
            raise UsageError(
                f"{parameter('most_waiting')} {self.most_waiting}: expected at least "
                f"{parameter('least_waiting')}, {self.least_waiting}"
            )
