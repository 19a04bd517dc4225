"""The jobs of an import: rows of numbers, in order of submission."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import chain, pairwise

from batsched_py.accounting.names import Names, Pseudonyms
from batsched_py.accounting.records import JobRecord, hash_cluster
from batsched_py.accounting.sorted_records import Row, SortedRows
from batsched_py.accounting.tally import Tally
from batsched_py.workload.logs.swf import CANCELLED, NAMED, UNKNOWN

ANONYMOUS = ("user", "group", "executable")
"""The fields whose names are private; the header has the names of the others."""
SUBMIT, START, RUN_TIME, ALLOCATED, REQUESTED_TIME = 0, 4, 5, 6, 8
NODES = 18
PLACE_OF = {"queue": 16, "partition": 17}
"""Places in a row, see :meth:`LogRows.add`."""


class LogRows:
    """Collects a row for each job: Unix times, and each name as its index in :class:`Names`."""

    def __init__(self, tally: Tally, pseudonyms: Pseudonyms | None, *, job_names: bool) -> None:
        self.names = {
            field: Names(field, pseudonyms if field in ANONYMOUS else None) for field in NAMED
        }
        self._tally = tally
        self._job_names = job_names
        self._rows = SortedRows()

    def add(self, job: JobRecord) -> Row:
        """Add a job; returns its row."""
        names, submit = self.names, job.submit
        row = (
            *(submit, job.number, job.index, hash_cluster(job.cluster)),
            *(job.start, job.run_time, job.allocated, job.requested, job.requested_time),
            *(job.cpu_time, job.memory, job.requested_memory),
            job.status if job.start >= 0 else CANCELLED,
            names["user"].place(job.user, submit),
            names["group"].place(job.group, submit),
            names["executable"].place(job.job_name, submit) if self._job_names else UNKNOWN,
            names["queue"].place(job.queue, submit),
            names["partition"].place(job.partition, submit),
            job.nodes,
            job.withdrawn,
        )
        self._rows.add(row)
        return row

    def __iter__(self) -> Iterator[Row]:
        """Yield each run once, in order of submission, then of the site's numbers."""
        return _submitted_anew(_runs(self._rows))

    def count_repeated(self, nb_rows: int) -> None:
        """Count the repeated records, given that ``nb_rows`` rows differ."""
        if repeated := self._rows.nb_rows - nb_rows:
            self._tally.dropped["repeated records, for example where exports overlap"] += repeated

    def log_lines(self) -> Iterator[list[int]]:
        """Yield the 18 fields of each job, numbered from 1; second 0 is the first submission."""
        numbers = [names.numbers() for names in self.names.values()]
        first: int | None = None
        for job_number, row in enumerate(self, start=1):
            submit, _, _, _, start, run_time, allocated, requested, requested_time, *others = row
            cpu, memory, requested_memory, status, *places, _, withdrawn = others
            first = submit if first is None else first
            left = start if start >= 0 else withdrawn
            yield [
                *(job_number, submit - first, left - submit if left >= 0 else UNKNOWN),
                *(run_time, allocated, cpu, memory, requested, requested_time, requested_memory),
                status,
                *(of_field[place] for of_field, place in zip(numbers, places, strict=True)),
                *(UNKNOWN, UNKNOWN),
            ]


def _runs(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield sorted rows without repeated ones.

    Two records of a job that began at the same second are of one run: from exports with other
    columns, or of its end and of its requeue. The last has the most values, since unknown is -1.
    """
    for row, after in pairwise(chain(rows, [()])):
        started_again = row[START] >= 0 and row[: START + 1] == after[: START + 1]
        if row != after and not started_again:
            yield row


def _submitted_anew(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield sorted rows, in order, where a later run of a job is submitted at the end of the last.

    Slurm records it so; PBS gives all runs the submission of the job, as if they could have been
    at once. Memory is for the runs that are yet to come.
    """
    later_runs: list[Row] = []
    last: Row = (-1,) * (RUN_TIME + 1)
    for row in rows:
        ended = last[START] + last[RUN_TIME]
        is_later_run = row[:START] == last[:START] and last[START] >= 0 and ended <= row[START]
        last = row
        if is_later_run and ended > row[SUBMIT]:
            heappush(later_runs, (ended, *row[1:]))
            continue
        while later_runs and later_runs[0] < row:
            yield heappop(later_runs)
        yield row
    while later_runs:
        yield heappop(later_runs)
