"""Plans: the planned start of each waiting job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from batsched_py.model.job import Job

if TYPE_CHECKING:
    from batsched_py.model.queue.job_arrays import Floats, JobRows, Rows

Term = Callable[[Any, Any, Any, Any], Any]
"""A function of size, estimate, submission time and planned start (seconds): numbers or arrays."""


class Plan(Sequence[tuple[Job, float]]):
    """Waiting jobs with their planned starts (seconds, inf = never), in the order of placement.

    If each job can start at some time, a plan may first know only the places of the jobs that are
    ``starting`` now: ``starts`` is then a function that makes the rest when it is needed.
    """

    def __init__(
        self,
        jobs: list[Job],
        starts: list[float] | Callable[[], list[float]],
        starting: list[int] | None = None,
    ) -> None:
        self._jobs = jobs
        self._starts = starts
        self._starting = starting

    @property
    def starts(self) -> list[float]:
        """The planned start of each job."""
        if callable(self._starts):
            self._starts = self._starts()
        return self._starts

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Iterator[tuple[Job, float]]:
        return zip(self._jobs, self.starts, strict=True)

    def __getitem__(self, place: Any) -> Any:
        return list(self)[place]

    def list_now_or_never(self, now: float) -> list[tuple[Job, float]]:
        """Return the jobs that start ``now`` or cannot start, with their planned starts."""
        if self._starting is not None:
            return [(self._jobs[place], now) for place in self._starting]
        return [entry for entry in self if entry[1] == now or entry[1] == inf]

    def find_next_start(self, after: float) -> float:
        """Return the first planned start later than ``after`` (seconds); inf if there is none."""
        return min((start for start in self.starts if start > after), default=inf)

    def select(self, counts: Term | None = None, most: int | None = None) -> Plan:
        """Return the first ``most`` jobs (None: all) that can start and ``counts`` (None: any)."""
        if counts is None and most is None and inf not in self.starts:
            return self
        which = [True] * len(self) if counts is None else self.evaluate(counts)
        jobs = zip(self, which, strict=True)
        some = [entry for entry, is_counted in jobs if entry[1] < inf and is_counted][:most]
        return Plan([job for job, _ in some], [start for _, start in some])

    def evaluate(self, term: Term) -> list[float]:
        """Return the value of a function of size, estimate, submission and start for each job."""
        return [term(job.size, job.estimate, job.submit_time, start) for job, start in self]


class PlanOfRows(Plan):
    """A plan of many jobs that keeps arrays in place of a list of jobs and starts."""

    def __init__(
        self,
        rows: JobRows,
        starts: Floats | Callable[[], Floats],
        starting: Rows | None = None,
    ) -> None:
        self._rows = rows
        self._array = starts
        self._places = starting

    @property
    def array(self) -> Floats:
        """The planned starts, shape (n,)."""
        if callable(self._array):
            self._array = self._array()
        return self._array

    @property
    def starts(self) -> list[float]:
        """The planned start of each job."""
        starts: list[float] = self.array.tolist()
        return starts

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[tuple[Job, float]]:
        return zip(self._rows.jobs(), self.starts, strict=True)

    def list_now_or_never(self, now: float) -> list[tuple[Job, float]]:
        """Return the jobs that start ``now`` or cannot start, with their planned starts."""
        if self._places is not None:
            return [(job, now) for job in self._rows.select(self._places).jobs()]
        starts = self.array
        chosen = ((starts == now) | (starts == inf)).nonzero()[0]
        return list(zip(self._rows.select(chosen).jobs(), starts[chosen].tolist(), strict=True))

    def select(self, counts: Term | None = None, most: int | None = None) -> Plan:
        """Return the first ``most`` jobs (None: all) that can start and ``counts`` (None: any)."""
        starts, rows = self.array, self._rows
        if counts is None and most is None and starts.max(initial=0.0) < inf:
            return self
        which = starts < inf
        if counts is not None:
            which &= counts(rows.size, rows.estimate, rows.submit_time, starts)
        chosen = which.nonzero()[0][:most]
        return PlanOfRows(rows.select(chosen), starts[chosen])

    def sum_estimates(self) -> float:
        """Return the sum of the estimates, seconds."""
        return float(self._rows.estimate.sum())

    def sum_waits(self, begin: float) -> float:
        """Return how long the jobs wait from ``begin`` on: seconds, times processors.

        It is rounded up by more than all errors of rounding.
        """
        size, starts = self._rows.size, self.array
        latest = float(starts.max() + self._rows.estimate.max())
        return float(size.dot(starts - begin)) + 1e-9 * float(size.sum()) * latest

    def evaluate(self, term: Term) -> list[float]:
        """Return the value of a function of size, estimate, submission and start for each job."""
        rows = self._rows
        values: list[float] = term(rows.size, rows.estimate, rows.submit_time, self.array).tolist()
        return values
