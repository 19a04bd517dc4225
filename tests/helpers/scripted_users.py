"""Users who act at given times, for schedules by hand."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from batsched_py import EndedJob, SiteView, StartedJob, Withdraw, WorkloadJob

Act = tuple[float, WorkloadJob | Withdraw]


def job(name: str, size: int = 1, run: float = 10, **fields: Any) -> WorkloadJob:
    fields = {"walltime": run + 1, "user": "ann"} | fields
    return WorkloadJob(id=name, submit_time=0.0, size=size, profile=f"{run:g}", **fields)


class Scripted:
    """Users who act at given times, and note all that they learn."""

    def __init__(self, *acts: Act) -> None:
        self._acts = sorted(acts, key=lambda act: act[0])
        runs = {act.profile for _, act in acts if isinstance(act, WorkloadJob)}
        self.profiles = {run: {"type": "delay", "delay": float(run)} for run in runs}
        self.learned: list[tuple[float, str, str]] = []
        self.ended: dict[str, EndedJob] = {}
        self.site: SiteView | None = None

    def begin(self, site: SiteView) -> None:
        self.site = site

    def next_submission(self) -> float:
        return self._acts[0][0] if self._acts else inf

    def jobs_to_submit(self, now: float) -> Iterator[WorkloadJob | Withdraw]:
        while self._acts and self._acts[0][0] <= now:
            yield self._acts.pop(0)[1]

    def job_started(self, now: float, job: StartedJob) -> None:
        assert job.start_time == now
        self.learned.append((now, job.id, "started"))

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        assert job.finish_time == now
        until = now if job.start_time is None else job.start_time
        assert job.waited == until - job.submit_time
        self.ended[job.id] = job
        self.learned.append((now, job.id, state))
