"""The waiting jobs as numpy arrays, for orders that change with the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batsched_py.model.job import Job

GONE = 1 << 62
"""Size in the row of a job that no longer waits: it fits nowhere."""
_LEAST_ROWS = 64

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Key = Callable[[Job], Any]


class ValuesByNumber:
    """An array with a value for each job, by the job's number; ``missing`` if it has none yet.

    Every job can be looked up from its submission on: the array grows by itself. An index is one
    number, or an array of numbers, which gives an array of values.
    """

    __slots__ = ("_missing", "_values")

    def __init__(self, missing: float) -> None:
        self._missing = missing
        self._values = np.full(_LEAST_ROWS, missing)

    def __getitem__(self, number: Any) -> Any:
        try:
            return self._values[number]
        except IndexError:
            self._grow(number)
            return self._values[number]

    def __setitem__(self, number: Any, value: Any) -> None:
        try:
            self._values[number] = value
        except IndexError:
            self._grow(number)
            self._values[number] = value

    def clear(self) -> None:
        """Remove the values of all jobs."""
        self._values.fill(self._missing)

    def _grow(self, number: Any) -> None:
        nb_more = int(np.max(number)) + 1
        more = np.full_like(self._values, self._missing, shape=nb_more)
        self._values = np.append(self._values, more)


class JobRows:
    """Waiting jobs in an order, with arrays of their values, as they are now.

    Arrays of shape (n,): ``number`` and ``size``, and ``estimate`` and ``submit_time`` in seconds.
    """

    __slots__ = ("_jobs", "_numbers", "_rows", "_submit_times", "estimate", "size")

    def __init__(
        self,
        jobs: list[Job],
        rows: Rows,
        size: NDArray[np.int64],
        estimate: Floats,
        numbers: NDArray[np.int64],
        submit_times: Floats,
    ) -> None:
        self._jobs, self._rows, self.size, self.estimate = jobs, rows, size, estimate
        self._numbers, self._submit_times = numbers, submit_times  # of all rows

    @classmethod
    def of(cls, jobs: list[Job]) -> JobRows:
        """Return the rows of ``jobs``, in their order."""
        number = np.array([job.number for job in jobs], np.int64)
        size = np.array([job.size for job in jobs], np.int64)
        estimate = np.array([job.estimate for job in jobs], np.float64)
        submit_time = np.array([job.submit_time for job in jobs], np.float64)
        return cls(jobs, np.arange(len(jobs)), size, estimate, number, submit_time)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def number(self) -> NDArray[np.int64]:
        """Rank of the submission of each job."""
        return self._numbers[self._rows]

    @property
    def submit_time(self) -> Floats:
        """Submission time of each job, seconds."""
        return self._submit_times[self._rows]

    def jobs(self) -> list[Job]:
        """Return the job of each row."""
        jobs = self._jobs
        return [jobs[row] for row in self._rows.tolist()]

    def select(self, places: Rows | list[int]) -> JobRows:
        """Return the rows at ``places``, in their order."""
        rows, size, estimate = self._rows[places], self.size[places], self.estimate[places]
        return JobRows(self._jobs, rows, size, estimate, self._numbers, self._submit_times)


class JobArrays:
    """Arrays with a row per waiting job in submission order, and holes where jobs have left.

    All arrays have shape (n,), n at most some times the number of waiting jobs; they are views
    that the next submission makes stale, so take them anew at each pass.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._codes: dict[str, int] = {}
        self._fill(list(jobs))

    def __len__(self) -> int:
        return len(self.jobs)

    @property
    def number(self) -> NDArray[np.int64]:
        """Rank of the submission of each job, also where it has left."""
        return self._number[: len(self.jobs)]

    @property
    def size(self) -> NDArray[np.int64]:
        """Processors of each job, :data:`GONE` where it has left."""
        return self._size[: len(self.jobs)]

    @property
    def waiting(self) -> NDArray[np.bool_]:
        """Mask of the rows of waiting jobs."""
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
        """Number of users seen so far; all jobs without a user belong to one user."""
        return len(self._codes)

    @property
    def users(self) -> list[str]:
        """The users by their numbers."""
        return list(self._codes)

    def in_order(self, key: Key) -> JobRows:
        """Return the waiting jobs in ascending order of ``key``, equals in submission order.

        The value of ``key`` is a number that does not change while the job waits. What left or
        came since the last call is taken out of the order of then, or inserted.
        """
        keys, rows, seen = self._orders.get(key, (np.empty(0), np.empty(0, np.intp), 0))
        stay = self._size[rows] != GONE
        if not stay.all():
            keys, rows = keys[stay], rows[stay]
        if seen < len(self.jobs):
            new_rows = seen + np.flatnonzero(self.waiting[seen:])
            new_keys = [key(self.jobs[row]) for row in new_rows.tolist()]
            keys, rows = np.concatenate((keys, new_keys)), np.concatenate((rows, new_rows))
            ascending = keys.argsort(kind="stable")  # Timsort: one pass, as most is sorted
            keys, rows = keys[ascending], rows[ascending]
        self._orders[key] = keys, rows, len(self.jobs)
        return self.select(rows)

    def select(self, rows: Rows) -> JobRows:
        """Return the jobs of some rows, in their order."""
        size, estimate = self._size[rows], self._estimate[rows]
        return JobRows(self.jobs, rows, size, estimate, self._number, self._submit_time)

    def add(self, job: Job) -> None:
        """Append a row; only the queue does this."""
        row = len(self.jobs)
        if row == len(self._size):
            self._fill([self.jobs[at] for at in np.flatnonzero(self.waiting).tolist()])
            row = len(self.jobs)
        self._number[row] = job.number
        self._size[row] = job.size
        self._estimate[row] = job.estimate
        self._submit_time[row] = job.submit_time
        self._user[row] = self._codes.setdefault(job.user, len(self._codes))
        self._rows[job.number] = row
        self.jobs.append(job)

    def insert(self, job: Job) -> None:
        """Put a row in its place among those in submission order; only the queue does this."""
        self.add(job)
        at = int(np.searchsorted(self.number[:-1], job.number))
        rows = slice(at, len(self.jobs))
        for array in (self._number, self._size, self._estimate, self._submit_time, self._user):
            array[rows] = np.roll(array[rows], 1)
        self.jobs.insert(at, self.jobs.pop())
        self._orders.clear()
        for row in (at + np.flatnonzero(self._size[rows] != GONE)).tolist():
            self._rows[self.jobs[row].number] = row

    def remove(self, job: Job) -> None:
        """Make the job's row a hole; only the queue does this."""
        self._size[self._rows.pop(job.number)] = GONE

    def _fill(self, jobs: list[Job]) -> None:
        """Make a row for each of the jobs, and room for as many again."""
        nb, codes = len(jobs), self._codes
        nb_rows = max(_LEAST_ROWS, 2 * nb)
        self.jobs = jobs
        """The job of each row."""
        self._rows = {job.number: row for row, job in enumerate(jobs)}
        self._orders: dict[Key, tuple[Floats, Rows, int]] = {}  # (keys, rows, rows looked at)
        rows = JobRows.of(jobs)
        self._number: NDArray[np.int64] = np.zeros(nb_rows, dtype=np.int64)
        self._number[:nb] = rows.number
        self._size: NDArray[np.int64] = np.full(nb_rows, GONE)
        self._size[:nb] = rows.size
        self._estimate: Floats = np.zeros(nb_rows)
        self._estimate[:nb] = rows.estimate
        self._submit_time: Floats = np.zeros(nb_rows)
        self._submit_time[:nb] = rows.submit_time
        self._user: NDArray[np.int64] = np.zeros(nb_rows, dtype=np.int64)
        self._user[:nb] = [codes.setdefault(job.user, len(codes)) for job in jobs]
