"""The jobs of one simulation as numpy columns."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]


class JobTable(msgspec.Struct, dict=True):
    """Columns of one simulation, each of shape (n,); times in seconds, nan = none.

    What several metrics need is computed once, so a table is not to be changed once it is made.
    """

    submit: Column
    start: Column
    finish: Column
    execution: Column
    """Time from start to finish; at least 1e-5 s, as Batsim writes it."""
    size: Column
    """Processors that the job got; 0 if it was rejected."""
    original_submit: Column
    user: list[str]
    """User of each job, ``""`` where unknown."""
    nb_processors: int | None = None
    """Processors of the machine; without it there is no utilisation and the like."""
    rare: NDArray[np.bool_] = msgspec.field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """Which jobs are of rare behaviour: they load the machine and are not measured (Zakay)."""

    def __post_init__(self) -> None:
        if not len(self.rare):
            self.rare = np.zeros(len(self.submit), dtype=np.bool_)

    @cached_property
    def measured(self) -> JobTable:
        """The table without the jobs of rare behaviour."""
        return self.select(~self.rare) if self.rare.any() else self

    @cached_property
    def ran(self) -> NDArray[np.bool_]:
        """Which jobs ran, that is were not rejected; shape (n,)."""
        return np.isfinite(self.finish)

    @cached_property
    def only_ran(self) -> JobTable:
        """The table of the jobs that ran."""
        return self if self.ran.all() else self.select(self.ran)

    @property
    def lateness(self) -> Column:
        """Replayed minus recorded submission time, seconds; shape (n,)."""
        return self.submit - self.original_submit

    @property
    def waiting(self) -> Column:
        """``s - a``, seconds; shape (n,)."""
        return self.start - self.submit

    @property
    def turnaround(self) -> Column:
        """``f - a``, seconds; shape (n,)."""
        return self.finish - self.submit

    @property
    def area(self) -> Column:
        """``w p``, processor-seconds; shape (n,)."""
        return self.size * self.execution

    @cached_property
    def user_number(self) -> NDArray[np.int64]:
        """A number for each job's user in order of first appearance, -1 if unknown; shape (n,)."""
        known: dict[str, int] = {}
        numbers = [known.setdefault(user, len(known)) if user else -1 for user in self.user]
        return np.array(numbers, dtype=np.int64)

    def select(self, rows: NDArray[Any]) -> JobTable:
        """Return the table of the given rows (indices or mask)."""
        return JobTable(
            submit=self.submit[rows],
            start=self.start[rows],
            finish=self.finish[rows],
            execution=self.execution[rows],
            size=self.size[rows],
            original_submit=self.original_submit[rows],
            user=np.asarray(self.user, dtype=object)[rows].tolist(),
            nb_processors=self.nb_processors,
            rare=self.rare[rows],
        )


def ratio(numerator: float, denominator: float) -> float:
    """Return the quotient, nan if the denominator is 0 (the metric is not defined then)."""
    return float(numerator / denominator) if denominator else float("nan")
