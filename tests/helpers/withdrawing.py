"""Users who withdraw their jobs if these wait for too long."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from math import inf

from msgspec.structs import replace

from batsched_py import EndedJob, Withdraw, Workload, WorkloadJob


class Impatient:
    """Users who submit the recorded jobs when recorded, and withdraw each after its patience.

    Ten successive jobs of the log are a session.

    Args:
        patience: Seconds that a job may wait.
        spread: Seconds by which each of seven successive jobs may wait longer than the last one.
        due: Seconds from the submission of a job to its deadline; 0: none has one.
        kill: Whether to kill jobs that have started.
    """

    reacts = True

    def __init__(
        self,
        workload: Workload,
        *,
        patience: float = 3600.0,
        spread: float = 3600.0,
        due: float = 0.0,
        kill: bool = False,
    ) -> None:
        self.profiles = workload.profiles
        self._due = due
        self._acts: list[tuple[float, int, int, WorkloadJob | Withdraw]] = []
        for number, job in enumerate(workload.jobs):
            heappush(self._acts, (job.submit_time, 0, number, job))
            leaves = job.submit_time + patience + spread * (number % 7)
            heappush(self._acts, (leaves, 1, number, Withdraw(job.id, kill)))

    def next_submission(self) -> float:
        return self._acts[0][0] if self._acts else inf

    def jobs_to_submit(self, now: float) -> Iterator[WorkloadJob | Withdraw]:
        while self.next_submission() <= now:
            _, _, number, act = heappop(self._acts)
            if isinstance(act, WorkloadJob):
                act = replace(act, extra={**act.extra, "session": f"{number // 10}"})
                act.deadline = now + self._due if self._due else None
            yield act

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        pass
