"""Advance reservations: jobs that ask for their processors at a time of their own choice."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from batsched_py.errors import UsageError
from batsched_py.model.job import Job
from batsched_py.model.timeline import Timeline
from batsched_py.workload.unused_input import RESERVATION


class AdvanceReservations:
    """The admitted reservations that have not begun.

    A job with the field ``reserved_start`` or ``reserved_end`` (seconds, absolute) is a request
    for an advance reservation: it is admitted if its processors are free in the whole interval,
    and rejected otherwise; once admitted it never moves.

    Source: A. Streit's thesis, 2003, section 3.1.2.
    """

    def __init__(self) -> None:
        self.starts: dict[int, float] = {}
        """When each begins (seconds), by the job's number."""

    def find_due(self, jobs: Iterable[Job], now: float) -> list[Job]:
        """Return those of the ``jobs`` whose reservation begins by ``now``."""
        starts = self.starts
        return [job for job in jobs if starts.get(job.number, inf) <= now] if starts else []

    def find_movable(self, jobs: Iterable[Job]) -> list[Job]:
        """Return those of the ``jobs`` that have no reservation, so that a plan may move them."""
        starts = self.starts
        return [job for job in jobs if job.number not in starts] if starts else list(jobs)

    def occupy(self, line: Timeline, jobs: Iterable[Job], now: float) -> None:
        """Occupy the processors of all reservations in ``line``, from ``now`` on."""
        for job in jobs if self.starts else ():
            start = self.starts.get(job.number)
            if start is not None:
                start = max(start, now)
                line.occupy(start, start + job.estimate, job.size)


def find_requested_start(job: Job) -> float | None:
    """Return the start (seconds) of the reservation that a job asks for, None without one.

    Raises :class:`UsageError` for values that are no time, and for both a start and an end.
    """
    if not job.extra:
        return None
    asked = {name: job.extra[name] for name in RESERVATION if name in job.extra}
    for name, time in asked.items():
        if isinstance(time, bool) or not isinstance(time, float | int):
            raise UsageError(f"job {job.id}: {name} is {time!r}, expected a time in seconds")
    if len(asked) > 1:
        raise UsageError(f"job {job.id} has reserved_start and reserved_end: give one of them")
    if "reserved_end" in asked:
        return float(asked["reserved_end"]) - job.estimate
    return float(asked["reserved_start"]) if asked else None
