"""A policy that is rewarded by many rewards, and that no site wants: it holds long jobs back."""

from __future__ import annotations

from collections.abc import Iterator

from batsched_py import CallMeLater, Decision, Easy, Job, Site, WaitingQueue
from batsched_py.units import DAY, HOUR

AFTER = 10 * DAY
"""The days in which the machine fills, and the measured week."""


class Holding(Easy):
    """EASY with the shortest job first, but long jobs start only after the week.

    Args:
        longest: Hours; jobs with a longer estimate are held back.
    """

    def __init__(self, *, longest: float) -> None:
        super().__init__(order="sjf")
        self._longest, self._end = longest * HOUR, 0.0

    def schedule(self, now: float, queue: WaitingQueue, machine: Site) -> Iterator[Decision]:
        """Start jobs, and come again when the long ones may start."""
        if not self._end and queue:
            self._end = now + AFTER
            yield CallMeLater(self._end)
        yield from super().schedule(now, queue, machine)

    def may_start(self, now: float, job: Job) -> bool:
        """Return whether a job is short, or the week is over."""
        return job.estimate <= self._longest or now >= self._end
