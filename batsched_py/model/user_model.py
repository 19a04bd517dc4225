"""What a user model is, and asking it, with the mistakes of its author told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isnan
from typing import Any, Protocol

from batsched_py.errors import InvariantError
from batsched_py.workload.workload import WorkloadJob

MOST_AT_ONCE = 1_000_000
"""More jobs of users at one instant are taken for an endless loop."""


class UserModel(Protocol):
    """Simulated users: a function of time and of the ends of their jobs.

    They see neither policies nor messages. A job that they submit is a :class:`WorkloadJob`;
    what they put into its ``extra`` (session, ...) becomes output columns.
    """

    @property
    def profiles(self) -> Mapping[str, dict[str, Any]]:
        """Batsim profiles by name, those of every job the model submits."""

    def next_submission(self) -> float:
        """Return when the next job is due (seconds), inf if none is before another job ends."""

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the jobs that are submitted at ``now``; called when ``now`` is due."""

    def job_ended(self, now: float, job: WorkloadJob, state: str) -> None:
        """Learn that ``job`` ended at ``now``; ``state`` is Batsim's final state or REJECTED."""


def next_due(users: UserModel) -> float:
    """Return when the next job is due; raises :class:`InvariantError` for nan and no number."""
    due = users.next_submission()
    try:
        if not isnan(due):
            return due
    except TypeError:
        pass
    raise InvariantError(
        f"{type(users).__name__}.next_submission() is {due!r}: expected seconds, or inf if nothing "
        "is due before another job ends"
    )


def jobs_due(users: UserModel, now: float, before: int) -> list[WorkloadJob]:
    """Return the jobs that are submitted at ``now``, after ``before`` others at that instant.

    Raises :class:`InvariantError` if there is none, or no end of them.
    """
    jobs = list(given(users.jobs_to_submit(now), users, "jobs_to_submit"))
    if not jobs or before + len(jobs) > MOST_AT_ONCE:
        raise InvariantError(
            f"{type(users).__name__} is still due at {now} after it submitted {before + len(jobs)} "
            "jobs at that instant: next_submission must move on"
        )
    for job in jobs:
        if not isinstance(job, WorkloadJob):
            raise InvariantError(
                f"{type(users).__name__} submitted {job!r} at {now}: expected a WorkloadJob, such "
                "as one of workload.jobs"
            )
    return jobs


def given(items: Any, plugin: object, method: str) -> Iterator[Any]:
    """Return what a plug-in gave, which must be something to go through."""
    try:
        return iter(items)
    except TypeError:
        raise InvariantError(
            f"{type(plugin).__name__}.{method} returned {items!r}: expected a generator or a list"
            + ("; was a yield forgotten?" if items is None else "")
        ) from None
