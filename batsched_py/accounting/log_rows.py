"""The jobs of an import: rows of numbers, in order of submission."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush, merge
from itertools import chain, pairwise

from batsched_py.accounting.import_options import KEEP
from batsched_py.accounting.job_runs import EXTRAS, RUN_TIME, START, SUBMIT, link_runs
from batsched_py.accounting.names import Names, Pseudonyms
from batsched_py.accounting.records import Extras, JobRecord, hash_cluster
from batsched_py.accounting.sorted_records import Row, SortedRows
from batsched_py.accounting.tally import Tally
from batsched_py.workload.logs.swf import CANCELLED, NAMED, UNKNOWN

ANONYMOUS = ("user", "group", "executable")
"""The fields whose names are private; the header has the names of the others."""
ALLOCATED, REQUESTED_TIME = 6, 8
NODES = 18
PLACE_OF = {"queue": 16, "partition": 17}
"""Places in a row, see :meth:`LogRows.add`."""


class LogRows:
    """Collects a row for each job: Unix times, and each name as its index in :class:`Names`."""

    def __init__(
        self, tally: Tally, pseudonyms: Pseudonyms | None, *, job_names: bool, runs: str = KEEP
    ) -> None:
        self.names = {
            field: Names(field, pseudonyms if field in ANONYMOUS else None) for field in NAMED
        }
        self._tally = tally
        self._job_names, self._pseudonyms = job_names, pseudonyms
        self._rows = SortedRows()
        self._again: set[tuple[int, int, int]] = set()
        """The numbers of the jobs that may have run more than once."""
        self._mode = runs
        self._linked = self._joined = SortedRows()
        """The runs of these jobs, and what is a job of the log."""

    def add(self, job: JobRecord) -> Row:
        """Add a job; returns its row.

        A job that got more processors than it requested has requested those.
        """
        names, submit = self.names, job.submit
        has_more = 0 < job.requested < job.allocated
        what = "jobs had more processors than they requested: these count as requested"
        self._tally.noted[what] += has_more
        requested = job.allocated if has_more else job.requested
        extras = job.extras
        if self._pseudonyms is not None:
            name = extras.reservation and self._pseudonyms.make("reservation", extras.reservation)
            extras = extras._replace(id="", reservation=name)
        key = (job.number, job.index, hash_cluster(job.cluster))
        if extras.restarts or extras.ended_by:
            self._again.add(key)
        row = (
            *(submit, *key),
            *(job.start, job.run_time, job.allocated, requested, job.requested_time),
            *(job.cpu_time, job.memory, job.requested_memory),
            job.status if job.start >= 0 else CANCELLED,
            names["user"].place(job.user, submit),
            names["group"].place(job.group, submit),
            names["executable"].place(job.job_name, submit) if self._job_names else UNKNOWN,
            names["queue"].place(job.queue, submit),
            names["partition"].place(job.partition, submit),
            job.nodes,
            job.withdrawn,
            *(job.node_names, extras),
        )
        self._rows.add(row)
        return row

    def link_runs(self) -> int:
        """Find the runs of jobs that ran more than once; call it after the last record.

        Returns by how many the jobs are fewer than the runs.
        """
        all_rows = _runs(self._rows) if self._again else ()
        rows = (row for row in all_rows if row[1:START] in self._again)
        self._linked, self._joined = link_runs(rows, self._mode, self._tally)
        return self._linked.nb_rows - self._joined.nb_rows

    def __iter__(self) -> Iterator[Row]:
        """Yield each job once, in order of submission, then of the site's numbers."""
        return self._ordered(self._joined)

    def runs(self) -> Iterator[Row]:
        """Yield each run once, in order of submission, then of the site's numbers."""
        return self._ordered(self._linked)

    def _ordered(self, linked: SortedRows) -> Iterator[Row]:
        rows = _runs(self._rows)
        if self._again:
            others = (row for row in rows if row[1:START] not in self._again)
            rows = merge(others, linked)
        return _submitted_anew(rows)

    def count_repeated(self, nb_rows: int) -> None:
        """Count the repeated records, given that ``nb_rows`` rows differ."""
        what = "repeated records, for example where exports overlap"
        self._tally.dropped[what] += self._rows.nb_rows - nb_rows

    def log_lines(self) -> Iterator[tuple[list[int], str, Extras]]:
        """Yield the 18 fields of each job, the text of its nodes and its further values.

        Jobs are numbered from 1; second 0 is the first submission. A later run of a job has the run
        before as its preceding job.
        """
        numbers = [names.numbers() for names in self.names.values()]
        first: int | None = None
        open_jobs: dict[Row, tuple[int, int, int]] = {}
        """Numbers of the first and the last run, and the end of that, of jobs that run again."""
        for job_number, row in enumerate(self, start=1):
            submit, _, _, _, start, run_time, allocated, requested, requested_time, *others = row
            cpu, memory, requested_memory, status, *places, _, withdrawn, nodes, extras = others
            first = submit if first is None else first
            left = start if start >= 0 else withdrawn
            first_run, preceding, think_time = job_number, UNKNOWN, UNKNOWN
            if extras.runs > 1:
                key = row[SUBMIT + 1 : START]
                if extras.run > 1:
                    first_run, preceding, end = open_jobs.pop(key, (job_number, UNKNOWN, submit))
                    think_time = max(0, submit - end)
                if extras.run < extras.runs:
                    open_jobs[key] = (first_run, job_number, start + run_time)
            line = [
                *(job_number, submit - first, left - submit if left >= 0 else UNKNOWN),
                *(run_time, allocated, cpu, memory, requested, requested_time, requested_memory),
                status,
                *(of_field[place] for of_field, place in zip(numbers, places, strict=True)),
                *(preceding, think_time),
            ]
            yield line, nodes, extras._replace(first_run=first_run)


def _runs(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield sorted rows without repeated ones.

    Two records of a job that began at the same second are of one run: from exports with other
    columns, or of its end and of its requeue. The last has the most values, since unknown is -1.
    """
    for row, after in pairwise(chain(rows, [()])):
        same = START + 1 if row[START] >= 0 else EXTRAS - 1
        if row[:same] != after[:same]:
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
    yield from sorted(later_runs)
