"""Preceding jobs and think times: fields 17 and 18 of a log."""

from __future__ import annotations

from collections.abc import Iterable

from batsched_py.workload.logs.swf import SwfLog
from batsched_py.workload.workload import WorkloadJob


def set_preceding_jobs(jobs: Iterable[WorkloadJob], log: SwfLog) -> list[str]:
    """Set the preceding jobs and think times of ``jobs``, which are in order of submission.

    A job follows the last part of a job that was split. It follows none if its preceding job was
    dropped, or is not before it; a note counts such jobs.
    """
    follows = log.column("preceding_job") > 0
    if not follows.any():
        return []
    names = ("job_number", "preceding_job", "think_time")
    columns = (log.column(name)[follows].tolist() for name in names)
    recorded = {
        str(int(number)): (str(int(preceding)), think)
        for number, preceding, think in zip(*columns, strict=True)
    }
    last_parts: dict[str, str] = {}
    nb_lost = 0
    for job in jobs:
        number = job.id.partition(".")[0]
        if number in recorded:
            preceding, think = recorded[number]
            if preceding == number or preceding not in last_parts:
                nb_lost += 1
            else:
                job.preceding_job = last_parts[preceding]
                job.think_time = think if think >= 0 else None
        last_parts[number] = job.id
    if not nb_lost:
        return []
    return [
        f"{nb_lost} jobs name a preceding job (field 17) that was dropped or is not submitted "
        "before them: they follow none"
    ]
