"""The queue of the second floor: blocks of jobs, passed over where none of theirs can start."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from floor import Columns

LENGTH = 32
"""Jobs of a block at most."""


def backfill(
    jobs: list[int], columns: Columns, now: float, free: int, shadow_time: float, extra: int
) -> tuple[list[int], int, int]:
    """Return those of the jobs that start behind the head, and what is free and extra then."""
    _, _, _, size, _, estimate = columns
    started: list[int] = []
    for job in jobs:
        if size[job] <= free:
            if now + estimate[job] > shadow_time:
                if size[job] > extra:
                    continue
                extra -= size[job]
            free -= size[job]
            started.append(job)
            if not free:
                break
    return started, free, extra


class Blocks:
    """Waiting jobs in order of submission, in blocks that know their least size and estimate."""

    def __init__(self, jobs: Columns) -> None:
        self.jobs, self.size, self.estimate = jobs, jobs.size, jobs.estimate
        self.blocks: list[list[int]] = []
        self.least_size: list[int] = []
        self.least_estimate: list[float] = []

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, place: int) -> int:
        return self.blocks[0][place]

    def append(self, job: int) -> None:
        if not self.blocks or len(self.blocks[-1]) == LENGTH:
            self.blocks.append([job])
            self.least_size.append(self.size[job])
            self.least_estimate.append(self.estimate[job])
        else:
            self.blocks[-1].append(job)
            self.least_size[-1] = min(self.least_size[-1], self.size[job])
            self.least_estimate[-1] = min(self.least_estimate[-1], self.estimate[job])

    def pop(self, place: int) -> int:
        job = self.blocks[0].pop(place)
        self._shrunk(0)
        return job

    def backfilled(self, now: float, free: int, shadow_time: float, extra: int) -> list[int]:
        """Take out the jobs that start behind the head."""
        all_started, shrunk = [], []
        for place, least_estimate in enumerate(self.least_estimate):
            smallest = self.least_size[place]
            if smallest > free or (smallest > extra and now + least_estimate > shadow_time):
                continue
            block = self.blocks[place]
            behind = block if place else block[1:]
            started, free, extra = backfill(behind, self.jobs, now, free, shadow_time, extra)
            for job in started:
                block.remove(job)
            if started:
                all_started += started
                shrunk.append(place)
        for place in reversed(shrunk):
            self._shrunk(place)
        return all_started

    def _shrunk(self, place: int) -> None:
        """Look at a block anew, which lost jobs."""
        block = self.blocks[place]
        if block:
            self.least_size[place] = min(self.size[job] for job in block)
            self.least_estimate[place] = min(self.estimate[job] for job in block)
        else:
            del self.blocks[place], self.least_size[place], self.least_estimate[place]
