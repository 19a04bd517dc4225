"""The waiting jobs as numpy arrays, for orders that change with the clock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batsched_py.model.job import Job

GONE = 1 << 62
"""Size in the row of a job that no longer waits: it fits nowhere."""
_LEAST_ROWS = 64

Floats = NDArray[np.float64]


class JobArrays:
    """A row per waiting job in submission order, with holes where jobs have left.

    All arrays have shape (n,), n at most some times the number of waiting jobs; they are views
    that the next submission makes stale, so take them anew at each pass.
    """

    __slots__ = ("_codes", "_estimate", "_rows", "_size", "_submit_time", "_user", "jobs")

    def __init__(self, jobs: Iterable[Job]) -> None:
        self.jobs: list[Job] = []
        """The job of each row."""
        self._rows: dict[int, int] = {}
        self._codes: dict[str, int] = {}
        self._allocate(_LEAST_ROWS)
        for job in jobs:
            self.add(job)

    def __len__(self) -> int:
        return len(self.jobs)

    @property
    def size(self) -> NDArray[np.int64]:
        """Processors of each job, :data:`GONE` where it has left."""
        return self._size[: len(self.jobs)]

    @property
    def waiting(self) -> NDArray[np.bool_]:
        """Which rows are those of waiting jobs."""
        waiting: NDArray[np.bool_] = self.size != GONE
        return waiting

    @property
    def estimate(self) -> Floats:
        """Estimated run time of each job, seconds."""
        return self._estimate[: len(self.jobs)]

    @property
    def submit_time(self) -> Floats:
        """Submission time of each job, seconds."""
        return self._submit_time[: len(self.jobs)]

    @property
    def user(self) -> NDArray[np.int64]:
        """User of each job, as a number below :attr:`nb_users`."""
        return self._user[: len(self.jobs)]

    @property
    def nb_users(self) -> int:
        """Number of users seen so far; jobs without a user belong to one nobody."""
        return len(self._codes)

    @property
    def users(self) -> list[str]:
        """The users by their numbers."""
        return list(self._codes)

    def add(self, job: Job) -> None:
        """Append a row; only the queue does this."""
        row = len(self.jobs)
        if row == len(self._size):
            self._rebuild()
            row = len(self.jobs)
        self._size[row] = job.size
        self._estimate[row] = job.estimate
        self._submit_time[row] = job.submit_time
        self._user[row] = self._codes.setdefault(job.user, len(self._codes))
        self._rows[job.number] = row
        self.jobs.append(job)

    def remove(self, job: Job) -> None:
        """Make the job's row a hole; only the queue does this."""
        self._size[self._rows.pop(job.number)] = GONE

    def _allocate(self, rows: int) -> None:
        self._size: NDArray[np.int64] = np.full(rows, GONE)
        self._estimate: Floats = np.zeros(rows)
        self._submit_time: Floats = np.zeros(rows)
        self._user: NDArray[np.int64] = np.zeros(rows, dtype=np.int64)

    def _rebuild(self) -> None:
        """Close the holes and make room for as many rows again."""
        keep = np.flatnonzero(self.waiting)
        old: tuple[NDArray[Any], ...] = (self._size, self._estimate, self._submit_time, self._user)
        self._allocate(max(_LEAST_ROWS, 2 * len(keep)))
        new: tuple[NDArray[Any], ...] = (self._size, self._estimate, self._submit_time, self._user)
        for target, source in zip(new, old, strict=True):
            target[: len(keep)] = source[keep]
        self.jobs = [self.jobs[row] for row in keep.tolist()]
        self._rows = {job.number: row for row, job in enumerate(self.jobs)}
