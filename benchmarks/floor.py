"""The floor: the least that plain Python needs for the schedule of EASY, to compare ours with.

    python benchmarks/floor.py LOG JOBS.csv [--indexed]

It reads the log, keeps arrays and a heap, looks through the whole queue after each event, and
writes one file. There is no protocol, nothing is checked, processors are but counted, and nothing
else can be simulated. ``--indexed`` takes a queue in blocks (floor_queue.py), for logs under which
it grows long. Start times are those of ``batsched-py simulate LOG``: tests/benchmarks compares.
"""

from __future__ import annotations

import gzip
import re
import sys
from bisect import bisect_left, insort
from heapq import heappop, heappush
from math import inf
from pathlib import Path
from typing import NamedTuple

from floor_queue import Blocks, backfill

Release = tuple[float, int, int]
"""(expected end, size, job)."""


class Columns(NamedTuple):
    """The jobs in order of submission; times in seconds."""

    nb_processors: int
    names: tuple[str, ...]
    submit: tuple[float, ...]
    size: tuple[int, ...]
    run: tuple[float, ...]
    estimate: tuple[float, ...]
    """What was asked for, at least twice the run time: as the rules that are default."""


def read(path: str | Path) -> Columns:
    """Read a log, plain or packed by gzip."""
    content = Path(path).read_bytes()
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    text = content.decode("latin-1")
    header = re.search(r";\s*MaxProcs:\s*(\d+)", text) or re.search(r";\s*MaxNodes:\s*(\d+)", text)
    nb_processors = int(header[1]) if header else 0
    jobs = []
    for line in text.splitlines():
        if not line or line[0] == ";":
            continue
        field = line.split()
        size, run = int(field[7]), float(field[3])
        if size <= 0:
            size = int(field[4])
        if run >= 0 and 0 < size <= nb_processors:
            estimate = max(float(field[8]), 2 * run)
            jobs.append((float(field[1]), field[0], size, run, estimate if estimate > 0 else inf))
    jobs.sort()  # of one instant by name, as Batsim does
    submit, names, size_of, run_of, estimate_of = zip(*jobs, strict=True)
    return Columns(nb_processors, names, submit, size_of, run_of, estimate_of)


class Scanned(list[int]):
    """Waiting jobs in order of submission, looked through one after the other."""

    def __init__(self, jobs: Columns) -> None:
        self.jobs = jobs

    def backfilled(self, now: float, free: int, shadow_time: float, extra: int) -> list[int]:
        """Take out the jobs that start behind the head."""
        started, _, _ = backfill(self[1:], self.jobs, now, free, shadow_time, extra)
        for job in started:
            self.remove(job)
        return started


def from_the_head(queue: Scanned | Blocks, size: tuple[int, ...], free: int) -> list[int]:
    """Take out the jobs that start since they are first and fit."""
    started = []
    while queue and size[queue[0]] <= free:
        free -= size[queue[0]]
        started.append(queue.pop(0))
    return started


def shadow_time_and_extra(wanted: int, free: int, releases: list[Release]) -> tuple[float, int]:
    """Return when ``wanted`` processors are free, and how many others then."""
    for expected_end, released, _ in releases:
        free += released
        if free >= wanted:
            # where that end is not known, no job ends in time
            return expected_end if expected_end < inf else -inf, free - wanted
    raise AssertionError("a job is wider than the machine")


def easy(jobs: Columns, queue: Scanned | Blocks) -> list[float]:
    """Return when each job starts under EASY backfilling."""
    free, _, submit, size, run, estimate = jobs
    nb_jobs, coming = len(submit), 0
    starts = [inf] * nb_jobs
    ends: list[tuple[float, int]] = []  # a heap of (end, job)
    releases: list[Release] = []
    while coming < nb_jobs or ends:
        now = ends[0][0] if ends else inf
        if coming < nb_jobs and submit[coming] < now:
            now = submit[coming]
        while ends and ends[0][0] == now:
            job = heappop(ends)[1]
            free += size[job]
            del releases[bisect_left(releases, (starts[job] + estimate[job], size[job], job))]
        while coming < nb_jobs and submit[coming] == now:
            queue.append(coming)
            coming += 1
        started = from_the_head(queue, size, free)
        for job in started:
            free -= size[job]
            insort(releases, (now + estimate[job], size[job], job))
        if free and queue:
            reserved = shadow_time_and_extra(size[queue[0]], free, releases)
            for job in queue.backfilled(now, free, *reserved):
                free -= size[job]
                insort(releases, (now + estimate[job], size[job], job))
                started.append(job)
        for job in started:
            starts[job] = now
            heappush(ends, (now + run[job], job))
    return starts


def write(path: str | Path, jobs: Columns, starts: list[float]) -> None:
    """Write the schedule as a table."""
    rows = zip(jobs.names, jobs.submit, jobs.size, starts, jobs.run, strict=True)
    with open(path, "w") as file:
        file.write("job_id,submission_time,size,starting_time,finish_time\n")
        file.writelines(
            f"{name},{at},{size},{start},{start + run}\n" for name, at, size, start, run in rows
        )


if __name__ == "__main__":
    columns = read(sys.argv[1])
    kind = Blocks if "--indexed" in sys.argv else Scanned
    write(sys.argv[2], columns, easy(columns, kind(columns)))
