"""The waiting queue: submission order, with a fast search for jobs to backfill.

An overloaded machine keeps tens of thousands of jobs waiting, and a backfilling policy looks for
a small or short one at nearly every event. The queue is therefore a list of blocks; each knows a
lower bound of the sizes and of the estimates inside, and a search skips the blocks in which
nothing can qualify.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from math import inf

from batsched_py.jobs import Job

BLOCK = 64


class _Block:
    """Up to :data:`BLOCK` jobs in queue order, with lower bounds of size and estimate."""

    __slots__ = ("jobs", "least_estimate", "least_size", "loose")

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.loose = False
        """Whether jobs were removed since the bounds were exact."""
        self.least_size = 1 << 62
        self.least_estimate = inf

    def append(self, job: Job) -> None:
        self.jobs.append(job)
        if job.size < self.least_size:
            self.least_size = job.size
        if job.estimate < self.least_estimate:
            self.least_estimate = job.estimate

    def tighten(self) -> None:
        """Make the bounds exact again: removals leave them too low, which only costs time."""
        self.loose = False
        self.least_size = min(job.size for job in self.jobs)
        self.least_estimate = min(job.estimate for job in self.jobs)


class WaitingQueue:
    """Jobs in the order in which their submissions arrived.

    Only the decision process adds and removes; a policy looks: :attr:`head`, iteration, length,
    and :meth:`first_to_backfill`.
    """

    __slots__ = ("_blocks", "_firsts", "_length")

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._firsts: list[int] = []  # submission number at which each block begins
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Job]:
        return (job for block in self._blocks for job in block.jobs)

    @property
    def head(self) -> Job | None:
        """The job that waits longest, None if nobody waits."""
        return self._blocks[0].jobs[0] if self._length else None

    def append(self, job: Job) -> None:
        """Add the newest job (its submission number is the largest)."""
        blocks = self._blocks
        if not blocks or len(blocks[-1].jobs) >= BLOCK:
            blocks.append(_Block())
            self._firsts.append(job.number)
        blocks[-1].append(job)
        self._length += 1

    def remove(self, job: Job) -> None:
        """Take ``job`` out; raises :class:`ValueError` if it does not wait here."""
        at = bisect_right(self._firsts, job.number) - 1
        block = self._blocks[at]
        block.jobs.remove(job)
        block.loose = True
        self._length -= 1
        if not block.jobs:
            del self._blocks[at], self._firsts[at]

    def first_to_backfill(
        self, after: Job, now: float, free: int, shadow_time: float, extra: int
    ) -> Job | None:
        """Return the first job behind ``after`` that may start now without delaying the head.

        That is a job which fits into ``free`` processors and either ends by ``shadow_time`` or
        needs at most ``extra`` processors. None if there is none.
        """
        if not free:
            return None
        first = max(0, bisect_right(self._firsts, after.number) - 1)
        skip = True  # in the first block, the jobs up to `after` do not count
        for at in range(first, len(self._blocks)):
            block = self._blocks[at]
            size = block.least_size
            if size <= free and (size <= extra or now + block.least_estimate <= shadow_time):
                for job in block.jobs:
                    size = job.size
                    if (
                        size <= free
                        and (size <= extra or now + job.estimate <= shadow_time)
                        and not (skip and job.number <= after.number)
                    ):
                        return job
                if block.loose:
                    block.tighten()
            skip = False
        return None
