"""Users who follow the dependencies of a log: fields 17 and 18 of the standard workload format."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any

from batsched_py.model.user_model import EndedJob
from batsched_py.workload import Workload, WorkloadJob


class RecordedDependencies:
    """Users who submit a job its recorded think time after the end of the preceding job.

    Logs name the preceding job of a job in field 17, and the think time between them in field 18. A
    job without preceding job is submitted at its recorded time. If the think time is unknown, it is
    the recorded gap, at least 0; if that is unknown too, it is 0. A withdrawn, rejected or killed
    job has ended: users do not stop there.

    These jobs are submitted at their recorded times too: jobs whose preceding job is not in the
    workload, and jobs that come no later in the log than their preceding job. They are counted in
    the statistics.

    Source: Chapin et al., JSSPP 1999, section 2.3 (fields 17 and 18).
    """

    follows_dependencies = True
    """Whether the model uses fields 17 and 18 of a log, which others leave out."""

    def __init__(self, workload: Workload) -> None:
        self.profiles = workload.profiles
        self._after: dict[str, list[tuple[int, float, WorkloadJob]]] = {}
        """Id of each preceding job that has not ended -> rank, think time and job of each next."""
        self._due: list[tuple[float, int, WorkloadJob]] = []  # time, rank, job
        self._nb_following = self._nb_missing = self._nb_backward = 0
        ranks = {job.id: rank for rank, job in enumerate(workload.jobs)}
        for rank, job in enumerate(workload.jobs):
            before = job.preceding_job
            place = None if before is None else ranks.get(before)
            if before is not None and place is not None and place < rank:
                think = _find_think_time(job, workload.jobs[place])
                self._after.setdefault(before, []).append((rank, think, job))
                self._nb_following += 1
                continue
            if before is not None and place is None:
                self._nb_missing += 1
            elif before is not None:
                self._nb_backward += 1
            self._due.append((job.submit_time, rank, job))
        heapify(self._due)
        self.reacts = self._nb_following > 0
        """Whether any job follows another one."""

    def next_submission(self) -> float:
        """Return the time of the next planned submission, inf if none is planned."""
        return self._due[0][0] if self._due else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        """Return the jobs due by ``now``, simultaneous ones in log order."""
        jobs = []
        while self._due and self._due[0][0] <= now:
            jobs.append(heappop(self._due)[-1])
        return jobs

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        """Plan the jobs that follow this one."""
        for rank, think, following in self._after.pop(job.id, ()):
            heappush(self._due, (now + think, rank, following))

    def statistics(self) -> dict[str, Any]:
        """Count the jobs with a preceding job: those that follow it, and those that cannot."""
        if not self._nb_following + self._nb_missing + self._nb_backward:
            return {"following": 0, "summary": "no job of the log has a preceding job"}
        left = self._nb_missing + self._nb_backward
        text = f"{self._nb_following} jobs follow a preceding job"
        if left:
            text += f"; {left} at recorded times: their preceding job is missing or comes later"
        return {
            "following": self._nb_following,
            "preceding_missing": self._nb_missing,
            "preceding_later": self._nb_backward,
            "summary": text,
        }


def _find_think_time(job: WorkloadJob, before: WorkloadJob) -> float:
    """Return the seconds from the end of the preceding job to the submission of ``job``."""
    if job.think_time is not None:
        return max(0.0, job.think_time)
    return 0.0 if before.finish_time is None else max(0.0, job.submit_time - before.finish_time)
