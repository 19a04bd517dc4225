"""Our columns of ``_jobs.csv``: what a job carries beside Batsim's fields.

They come after Batsim's columns. Under real Batsim, which writes ``_jobs.csv`` itself, they are
in a file of their own, ``PREFIX_users.csv``, a row per job in order of submission.
"""

from __future__ import annotations

import csv
import io

from batsched_py.protocol import messages as m

COLUMNS = ("user", "session", "original_submission_time", "lateness")


def fields(job: m.JobDescription) -> list[str]:
    """Return the texts of :data:`COLUMNS` for a job; times in seconds."""
    extra = job.extra
    original = original_submission(job)
    return [
        str(extra.get("user", "")),
        str(extra.get("session", "")),
        f"{original:.6f}",
        f"{job.subtime - original:.6f}",
    ]


def original_submission(job: m.JobDescription) -> float:
    """Return the recorded submission time; what was not replayed came when it was recorded."""
    said = job.extra.get("original_submission_time")
    return float(said) if type(said) is float or type(said) is int else job.subtime


class UsersTable:
    """Collects the rows of ``PREFIX_users.csv`` from the messages of a simulation."""

    def __init__(self) -> None:
        self._jobs: dict[str, m.JobDescription] = {}

    def observe(self, message: m.Message, reply: m.Message) -> None:
        """Take note of the jobs that a message or its reply submits."""
        for event in (*message.events, *reply.events):
            if isinstance(event, m.JobSubmitted | m.RegisterJob):
                self._jobs.setdefault(event.job_id, event.job)

    def csv(self) -> str:
        """Return the text of the file."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(("job_id", "workload_name", *COLUMNS))
        for job_id, job in self._jobs.items():
            workload, _, name = job_id.partition("!")
            writer.writerow((name, workload, *fields(job)))
        return buffer.getvalue()
