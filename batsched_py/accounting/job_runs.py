"""Links the runs of jobs that ran more than once: requeued, preempted, or on a node that failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from batsched_py.accounting.import_options import KEEP, LAST
from batsched_py.accounting.sorted_records import Row, SortedRows
from batsched_py.accounting.tally import Tally
from batsched_py.units import DAY, HOUR

SUBMIT, START, RUN_TIME, STATUS, USER, NODE_NAMES, EXTRAS = 0, 4, 5, 12, 13, 20, 21
"""Places in a row, see :meth:`LogRows.add`."""


def link_runs(rows: Iterable[Row], mode: str, tally: Tally) -> tuple[SortedRows, SortedRows]:
    """Return each run of jobs that may have run more than once, and the one row of each job.

    ``rows`` are in any order. That of a job is from the first submission to the last run, or with
    the sum of its runs from the first start, by the ``mode``; or each run is a job.
    """
    by_number, runs, jobs = SortedRows(), SortedRows(), SortedRows()
    for row in rows:
        by_number.add((row[1:START], row[SUBMIT], row[START] < 0, row))
    gpu_hours, lost_wait = 0.0, 0
    for chain in _chains(by_number):
        first, last = chain[0], chain[-1]
        for number, row in enumerate(chain, 1):
            runs.add((*row[:EXTRAS], row[EXTRAS]._replace(run=number, runs=len(chain))))
        if mode != KEEP:
            ran = [row for row in chain if row[START] >= 0]
            gpu_hours += sum(row[RUN_TIME] * max(row[EXTRAS].gpus, 0) for row in ran[:-1]) / HOUR
            lost_wait += sum(row[START] - row[SUBMIT] for row in ran[1:])
            merged = list(first)
            merged[RUN_TIME], merged[STATUS] = sum(row[RUN_TIME] for row in ran), last[STATUS]
            merged[EXTRAS] = first[EXTRAS]._replace(ended_by=last[EXTRAS].ended_by)
            jobs.add((first[SUBMIT], *last[1:]) if mode == LAST else tuple(merged))
        if len(chain) > 1:
            what = "each run is a job" if mode == KEEP else "their runs are one job"
            tally.noted[f"runs of jobs that ran more than once: {what}"] += len(chain)
        elif first[EXTRAS].restarts:
            tally.noted[_MISSING] += 1
        if last[EXTRAS].ended_by == "preempted":
            tally.noted[_CANCELLED] += 1
    if mode != KEEP and (nb := runs.nb_rows - jobs.nb_rows):
        what = "earlier runs of jobs" + f", with {gpu_hours:.4f} GPU-hours" * (gpu_hours > 0)
        if mode != LAST:
            what = f"later runs, added to the first; the {lost_wait} s of waits between are lost"
        tally.dropped[what] = nb
    return runs, runs if mode == KEEP else jobs


_CANCELLED = "jobs were preempted, and no later run has their number: cancelled by preemption"
_MISSING = "runs of jobs whose earlier runs are not in the records (see --duplicates of sacct)"


def _chains(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield the runs of each job, in order, from its rows in order."""
    chain: list[Row] = []
    for *_, row in rows:
        if chain and not _follows(row, chain[-1]):
            yield chain
            chain = []
        chain.append(row)
    if chain:
        yield chain


def _follows(row: Row, before: Row) -> bool:
    """Return whether a run is the next one of the same job: after a day it is another job."""
    end = before[START] + before[RUN_TIME]
    is_same: bool = row[1:START] == before[1:START] and row[USER] == before[USER]
    is_later: bool = row[START] < 0 or row[START] >= end
    return is_same and is_later and before[START] >= 0 and row[SUBMIT] <= end + DAY
