"""The columns of ``_jobs.csv`` that Batsim does not have, such as the user of a job.

They come after Batsim's columns. Under real Batsim, which writes ``_jobs.csv`` itself, they are
in a file of their own, ``PREFIX_users.csv``, a row per job in order of submission.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import nan
from typing import Any

import numpy as np

from batsched_py.files.csv_text import make_csv_line, make_csv_lines, quote_fields, six_decimals
from batsched_py.files.packed_rows import PackedBatches
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim_jobs_columns import SECONDS
from batsched_py.protocol.dilated_jobs import make_placed_id
from batsched_py.protocol.own_job_fields import ADDED_COLUMNS, FURTHER_COLUMNS, WAKING, WITHDRAWAL
from batsched_py.results.job_table import RARE, Column, Mask
from batsched_py.simulator.ended_jobs import DescribedJobs
from batsched_py.workload.workload import DYNAMIC, ORIGINAL_SUBMISSION

_BATCH = 1 << 14
_OF_USERS = (f"{DYNAMIC}!", make_placed_id(f"{DYNAMIC}!"))


def make_columns(jobs: DescribedJobs, further: Sequence[str] = ()) -> list[list[str]]:
    """Return the texts of :data:`ADDED_COLUMNS` and of the ``further`` columns, by column."""
    original = list_original_submissions(jobs)
    return [
        list_users(jobs),
        _texts("session", jobs),
        six_decimals(original),
        six_decimals(np.array(jobs.submit_time, dtype=np.float64) - original),
        *(_texts(name, jobs) for name in further),
    ]


def list_users(jobs: DescribedJobs) -> list[str]:
    """Return the user of each job, ``""`` if unknown."""
    return [user or "" for user in jobs.user]


def find_used_columns(jobs: DescribedJobs) -> set[str]:
    """Return the names in :data:`FURTHER_COLUMNS` in which any job has a value."""
    carried = set().union(*filter(None, jobs.extra))
    if any(estimate is not None for estimate in jobs.estimate):
        carried.add("estimate")
    if np.isfinite(jobs.withdrawal).any():
        carried.add(WITHDRAWAL)
    return {name for name in FURTHER_COLUMNS if name in carried and any(_texts(name, jobs))}


def mark_rare(jobs: DescribedJobs) -> Mask:
    """Return a mask of the jobs of rare behaviour, which are not measured; shape (n,)."""
    marks = [bool(extra) and extra.get("behaviour") == RARE for extra in jobs.extra]
    return np.array(marks, dtype=np.bool_)


def list_original_submissions(jobs: DescribedJobs) -> Column:
    """Return the recorded submission times (seconds), nan if nothing was recorded; shape (n,).

    A job of a workload came when it was recorded. A job that users submitted has its own mark.
    """
    times = [
        nan if job_id.startswith(_OF_USERS) else submit
        for job_id, submit in zip(jobs.id, jobs.submit_time, strict=True)
    ]
    for at, extra in enumerate(jobs.extra):
        if extra:
            recorded = extra.get(ORIGINAL_SUBMISSION)
            if type(recorded) is float or type(recorded) is int:
                times[at] = recorded
    return np.array(times, dtype=np.float64)


def _texts(name: str, jobs: DescribedJobs) -> list[str]:
    if name == WITHDRAWAL:
        return six_decimals(jobs.withdrawal)
    values: list[Any] = [extra.get(name) if extra else None for extra in jobs.extra]
    if name == "estimate":
        values = jobs.estimate  # has those of the further fields that are numbers
    shown = _seconds if FURTHER_COLUMNS.get(name) == SECONDS else str
    return ["" if value is None else shown(value) for value in values]


def _seconds(value: Any) -> str:
    return f"{value:.6f}" if isinstance(value, float | int) else str(value)


class UsersTable:
    """Collects the rows of ``PREFIX_users.csv`` from the messages of a simulation."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._packed: PackedBatches[list[list[str]]] = PackedBatches()
        self._latest: list[tuple[str, m.JobDescription]] = []
        self._carried: set[str] = set()
        self._seconds: dict[str, dict[str, float]] = {WITHDRAWAL: {}, WAKING: {}}
        """Times of jobs that decisions have, by their columns and ids."""

    def observe(self, message: m.Message, reply: m.Message) -> None:
        """Add the jobs of a message or its reply; note withdrawals, and waits for sleepers."""
        for event in (*message.events, *reply.events):
            if isinstance(event, m.JobSubmitted | m.RegisterJob) and event.job_id not in self._seen:
                self._seen.add(event.job_id)
                self._latest.append((event.job_id, event.job))
                if len(self._latest) == _BATCH:
                    self._packed.append(self._take_latest())
            elif isinstance(event, m.RejectJob) and event.withdrawn:
                self._seconds[WITHDRAWAL][event.job_id] = event.timestamp
            elif isinstance(event, m.ExecuteJob) and event.waking:
                self._seconds[WAKING][event.job_id] = event.waking

    def csv(self) -> str:
        """Return the text of ``PREFIX_users.csv``."""
        batches = [*self._packed, self._take_latest()]
        names = ("job_id", "workload_name", *ADDED_COLUMNS, *FURTHER_COLUMNS)
        for name in filter(self._seconds.get, self._seconds):
            self._carried.add(name)
            for batch in batches:
                ids = map("!".join, zip(batch[1], batch[0], strict=True))
                times = np.array([self._seconds[name].get(job_id, nan) for job_id in ids])
                batch[names.index(name)] = six_decimals(times)
        shown = [name in self._carried or name not in FURTHER_COLUMNS for name in names]
        lines = [make_csv_line(compress(names, shown))]
        for batch in batches:
            lines += make_csv_lines(*map(quote_fields, compress(batch, shown)))
        return "".join(lines)

    def _take_latest(self) -> list[list[str]]:
        """Return the columns of the latest jobs, and forget these."""
        ids = [job_id.partition("!") for job_id, _ in self._latest]
        jobs = DescribedJobs.of([job for _, job in self._latest])
        self._carried |= find_used_columns(jobs)
        self._latest = []
        return [
            [name for _, _, name in ids],
            [workload for workload, _, _ in ids],
            *make_columns(jobs, tuple(FURTHER_COLUMNS)),
        ]
