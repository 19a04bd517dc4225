"""A user who submits one job after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from batsched_py.model.user_model import EndedJob
from batsched_py.workload import WorkloadJob


class Chain:
    """Submits a job of each size, ``think`` seconds after the end of the last one."""

    def __init__(self, sizes: Sequence[int], think: float, run_time: float = 5) -> None:
        self.profiles = {"p": {"type": "delay", "delay": run_time}}
        self.sizes, self.think, self.due = list(sizes), think, 0.0
        self.ends: list[tuple[float, str, int, str]] = []
        """When each ended, its id, size and state."""

    def next_submission(self) -> float:
        return self.due if self.sizes else inf

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        self.due = inf
        size, name = self.sizes.pop(0), f"j{len(self.ends)}"
        yield WorkloadJob(id=name, submit_time=now, size=size, profile="p", walltime=99.0, user="u")

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        self.ends.append((now, job.id, job.size, state))
        self.due = now + self.think
