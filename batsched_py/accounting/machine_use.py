"""Measures the use of a machine: the most processors at once, and times without jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from heapq import heappop, heappush

import msgspec

from batsched_py.accounting.sorted_records import Row


class Gap(msgspec.Struct, order=True):
    """A time without running jobs, in the seconds of the rows."""

    begin: int
    end: int
    waited: bool = False
    """Whether a job that started at its end had waited for most of it: then the machine was down,
    or reserved; else there may have been no jobs."""


class MachineUse(msgspec.Struct):
    """Peak of processors in use, in total and by partition; times without jobs; end of all jobs."""

    most: int = 0
    most_of: Counter[int] = msgspec.field(default_factory=Counter)
    gaps: list[Gap] = []
    last_end: int | None = None


def measure_use(rows: Iterable[Row], least_gap: float) -> MachineUse:
    """Measure how runs used the machine: (start, end, processors, partition, submit), ascending.

    Rows may have further values.
    What ends at an instant is free for what starts at it. Memory is for the jobs that run at once.
    ``least_gap`` is in seconds.
    """
    use = MachineUse()
    running: list[tuple[int, int, int]] = []
    in_use: Counter[int] = Counter()
    total = 0
    for start, end, size, partition, submit, *_ in rows:
        while running and running[0][0] <= start:
            _, freed, its = heappop(running)
            total -= freed
            in_use[its] -= freed
        if use.last_end is not None and start - use.last_end >= least_gap:
            use.gaps.append(Gap(use.last_end, start))
        if use.gaps and start == use.gaps[-1].end:
            use.gaps[-1].waited |= start - submit > (start - use.gaps[-1].begin) / 2
        use.last_end = end if use.last_end is None else max(use.last_end, end)
        total += size
        in_use[partition] += size
        heappush(running, (max(end, start), size, partition))
        use.most = max(use.most, total)
        use.most_of[partition] = max(use.most_of[partition], in_use[partition])
    return use
