"""Our columns of ``_jobs.csv``: what a job carries beside Batsim's fields.

They come after Batsim's columns. Under real Batsim, which writes ``_jobs.csv`` itself, they are
in a file of their own, ``PREFIX_users.csv``, a row per job in order of submission.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from math import isnan, nan

from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim_jobs_columns import SECONDS
from batsched_py.protocol.dilated_jobs import placed_id
from batsched_py.protocol.dynamic_registration import DYNAMIC
from batsched_py.results.job_table import ADDED_COLUMNS, FURTHER_COLUMNS, RARE
from batsched_py.support.csv_fields import csv_line
from batsched_py.support.name_set import UsedNames
from batsched_py.support.temporary_rows import Spool
from batsched_py.workload.workload import ORIGINAL_SUBMISSION

_BATCH = 1 << 14
_OF_USERS = (f"{DYNAMIC}!", placed_id(f"{DYNAMIC}!"))


def fields(job: m.JobDescription, further: Sequence[str] = ()) -> list[str]:
    """Return the texts of :data:`ADDED_COLUMNS` and of some of :data:`FURTHER_COLUMNS`."""
    original = original_submission(job)
    times = ("", "")
    if not isnan(original):
        times = f"{original:.6f}", f"{job.submit_time - original:.6f}"
    return [user(job), _text("session", job), *times, *(_text(name, job) for name in further)]


def user(job: m.JobDescription) -> str:
    """Return the user of a job, ``""`` if unknown: none is said, or null."""
    return job.user or ""


def carried(job: m.JobDescription) -> list[str]:
    """Return those of :data:`FURTHER_COLUMNS` that a job carries."""
    if job.estimate is None and (not job.extra or job.extra.keys().isdisjoint(FURTHER_COLUMNS)):
        return []
    return [name for name in FURTHER_COLUMNS if _text(name, job)]


def is_rare(job: m.JobDescription) -> bool:
    """Tell whether a job is of rare behaviour, which is not measured."""
    return job.extra.get("behaviour") == RARE


def original_submission(job: m.JobDescription) -> float:
    """Return the recorded submission time (seconds), nan if nothing was recorded.

    A job of a workload came when it was recorded. One that users submitted says so itself.
    """
    recorded = job.extra.get(ORIGINAL_SUBMISSION)
    if type(recorded) is float or type(recorded) is int:
        return float(recorded)
    return nan if job.id.startswith(_OF_USERS) else job.submit_time


def _text(name: str, job: m.JobDescription) -> str:
    value = job.extra.get(name)
    if name == "estimate" and job.estimate is not None:
        value = job.estimate
    if value is None:
        return ""
    if FURTHER_COLUMNS.get(name) == SECONDS and isinstance(value, float | int):
        return f"{value:.6f}"
    return str(value)


class UsersTable:
    """Collects the rows of ``PREFIX_users.csv`` from the messages of a simulation."""

    def __init__(self) -> None:
        self._seen = UsedNames()
        self._spool = Spool()
        self._latest: list[tuple[str, list[str]]] = []
        self._carried = [False] * len(FURTHER_COLUMNS)

    def observe(self, message: m.Message, reply: m.Message) -> None:
        """Take note of the jobs that a message or its reply submits."""
        for event in (*message.events, *reply.events):
            if isinstance(event, m.JobSubmitted | m.RegisterJob) and self._seen.add(event.job_id):
                self._add(event.job_id, fields(event.job, tuple(FURTHER_COLUMNS)))

    def csv(self) -> str:
        """Return the text of the file."""
        shown = [*(True for _ in ADDED_COLUMNS), *self._carried]
        names = compress((*ADDED_COLUMNS, *FURTHER_COLUMNS), shown)
        lines = [csv_line(("job_id", "workload_name", *names))]
        for job_id, texts in self._rows():
            workload, _, name = job_id.partition("!")
            lines.append(csv_line((name, workload, *compress(texts, shown))))
        return "".join(lines)

    def _add(self, job_id: str, texts: list[str]) -> None:
        self._latest.append((job_id, texts))
        for at, text in enumerate(texts[len(ADDED_COLUMNS) :]):
            self._carried[at] |= bool(text)
        if len(self._latest) == _BATCH:
            self._spool.append(self._latest)
            self._latest = []

    def _rows(self) -> Iterator[tuple[str, list[str]]]:
        for batch in self._spool:
            yield from batch
        yield from self._latest
