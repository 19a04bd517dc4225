"""Links the runs of jobs that ran more than once: requeued, preempted, or on a node that failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from batsched_py.accounting.import_options import KEEP, LAST, MERGE
from batsched_py.accounting.sorted_records import Row, SortedRows
from batsched_py.accounting.tally import Tally
from batsched_py.units import DAY, HOUR

SUBMIT, START, RUN_TIME, STATUS, USER, NODE_NAMES, EXTRAS = 0, 4, 5, 12, 13, 20, 21
"""Places in a row, see :meth:`LogRows.add`."""
_LATEST_REQUEUE = DAY
"""Seconds after a run within which the next one was submitted; later its number was used again."""


class JobRuns:
    """Collects jobs that ran more than once: each run as a row, and the one row of each job."""

    def __init__(self, tally: Tally, mode: str) -> None:
        self._noted, self._dropped, self._mode = tally.noted, tally.dropped, mode
        self.runs = SortedRows()
        self.jobs = SortedRows()

    def link(self, rows: Iterable[Row]) -> None:
        """Add rows, in any order, of jobs of which a run may have been followed by another."""
        ordered = SortedRows()
        for row in rows:
            ordered.add((*row[SUBMIT + 1 : START], row[SUBMIT], *row[START:]))
        nb_left = lost_wait = nb_waits = 0
        gpu_hours = 0.0
        for chain in _chains((row[3], *row[:3], *row[4:]) for row in ordered):
            self._note(chain)
            for number, row in enumerate(chain, 1):
                extras = row[EXTRAS]._replace(run=number, runs=len(chain))
                self.runs.add((*row[:EXTRAS], extras))
            first, last = chain[0], chain[-1]
            if self._mode == LAST:
                self.jobs.add((first[SUBMIT], *last[1:]))
                nb_left += len(chain) - 1
                gpu_hours += sum(map(gpu_seconds, chain[:-1])) / HOUR
            elif self._mode == MERGE:
                ran = [row for row in chain if row[START] >= 0]
                total = sum(row[RUN_TIME] for row in ran)
                merged = [*first]
                merged[RUN_TIME], merged[STATUS] = total, last[STATUS]
                merged[EXTRAS] = first[EXTRAS]._replace(ended_by=last[EXTRAS].ended_by)
                self.jobs.add(tuple(merged))
                nb_left += len(chain) - 1
                waits = [row[START] - row[SUBMIT] for row in ran[1:]]
                lost_wait += sum(waits)
                nb_waits += len(waits)
        if nb_left and self._mode == LAST:
            self._dropped[
                f"earlier runs of jobs, with {gpu_hours:.4f} GPU-hours: a job is from its first "
                "submission to its last run"
            ] = nb_left
        elif nb_left:
            self._dropped["later runs of jobs: their run times are added to the first"] = nb_left
            self._noted[f"waits of later runs are lost, {lost_wait} s in total"] = nb_waits

    def _note(self, chain: list[Row]) -> None:
        if len(chain) > 1:
            what = "each run is a job" if self._mode == KEEP else "their runs are one job"
            self._noted[f"runs of jobs that ran more than once: {what}"] += len(chain)
        if chain[-1][EXTRAS].ended_by == "preempted":
            self._noted[
                "jobs were preempted, and no later run has their number: cancelled by preemption"
            ] += 1
        if len(chain) == 1 and chain[0][EXTRAS].restarts:
            self._noted[
                "runs of jobs whose earlier runs are not in the records (of Slurm, export with "
                "--duplicates)"
            ] += 1


def gpu_seconds(row: Row) -> int:
    """Return the seconds of a run times its GPUs, 0 if they are unknown."""
    return max(row[RUN_TIME], 0) * max(row[EXTRAS].gpus, 0) if row[START] >= 0 else 0


def _chains(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield the runs of each job, in order, from rows in order of numbers and submissions."""
    for _, its in groupby(rows, key=lambda row: row[SUBMIT + 1 : START]):
        chain: list[Row] = []
        for row in sorted(its, key=lambda row: (row[SUBMIT], row[START] < 0, row[START])):
            if chain and not _follows(row, chain[-1]):
                yield chain
                chain = []
            chain.append(row)
        yield chain


def _follows(row: Row, before: Row) -> bool:
    """Return whether a run is the next one of the same job."""
    end = before[START] + before[RUN_TIME]
    can_follow: bool = before[START] >= 0 and before[EXTRAS].ended_by != "resized"
    is_same: bool = row[USER] == before[USER] and row[SUBMIT] <= end + _LATEST_REQUEUE
    is_later: bool = row[START] < 0 or row[START] >= end
    return can_follow and is_same and is_later
