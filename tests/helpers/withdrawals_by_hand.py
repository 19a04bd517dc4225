"""A machine by hand for users who withdraw jobs, and the files of their models."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any

from msgspec.structs import replace

from batsched_py import Withdraw, Workload, WorkloadJob
from batsched_py.model.user_model import SUCCESS, WITHDRAWN, EndedJob, StartedJob
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_users.models import deadline, recorded_dependencies, resubmits, withdraws

FILE = {
    "withdraws": f"{withdraws.__file__}:Withdraws",
    "resubmits": f"{resubmits.__file__}:Resubmits",
    "deadline": f"{deadline.__file__}:Deadline",
    "recorded": f"{recorded_dependencies.__file__}:RecordedDependencies",
}
Row = tuple[str, float, float | None, float, str]
"""Id, submission, start, end and state of a job."""


def submit_again(users: resubmits.Resubmits, gap: float, kind: str, **ratios: Any) -> None:
    """Let users submit each withdrawn job again after ``gap`` seconds, by one kind of change."""
    kinds = dict.fromkeys(("same", "smaller", "larger", "mixed"), 0.0) | {kind: 1.0}
    users._habits = replace(
        users._habits, probabilities=[1.0] * 4, gaps=[gap, gap], **kinds, **ratios
    )


class Desk:
    """A machine by hand: first come first served, with what users learn, and what they do."""

    def __init__(self, users: Any, processors: int) -> None:
        self.users, self.free = users, processors
        self.queue: dict[str, tuple[WorkloadJob, float]] = {}
        self.running: list[tuple[float, int, WorkloadJob, float, float]] = []
        self.number = count()
        self.rows: list[Row] = []
        self.too_late = 0

    def run(self) -> list[Row]:
        while True:
            end = self.running[0][0] if self.running else inf
            now = min(end, self.users.next_submission())
            if now == inf:
                return self.rows
            while self.running and self.running[0][0] <= now:
                _, _, job, submit, start = heappop(self.running)
                self.free += job.size
                self.end(now, job, submit, start, SUCCESS)
            self.ask(now)
            for name, (job, submit) in list(self.queue.items()):
                if job.size > self.free:
                    break
                del self.queue[name]
                self.free -= job.size
                run = float(self.users.profiles[job.profile]["delay"])
                heappush(self.running, (now + run, next(self.number), job, submit, now))
                if hasattr(self.users, "job_started"):
                    self.users.job_started(now, StartedJob(job, submit, now))

    def ask(self, now: float) -> None:
        while self.users.next_submission() <= now:
            wanted = []
            for act in self.users.jobs_to_submit(now):
                if isinstance(act, Withdraw):
                    wanted.append(act.job)
                else:
                    assert act.id not in self.queue
                    self.queue[act.id] = act, now
            for name in wanted:
                if name not in self.queue:
                    self.too_late += 1
                    continue
                self.withdraw(now, name)

    def withdraw(self, now: float, name: str) -> None:
        job, submit = self.queue.pop(name)
        self.end(now, job, submit, None, WITHDRAWN)
        for other, (each, _) in list(self.queue.items()):
            if name in each.after and other in self.queue:
                self.withdraw(now, other)

    def end(
        self, now: float, job: WorkloadJob, submit: float, start: float | None, state: str
    ) -> None:
        self.rows.append((job.id, submit, start, now, state))
        self.users.job_ended(now, EndedJob(job, submit, start, now), state)


def log_of(*jobs: J, processors: int = 1) -> Workload:
    return workload(list(jobs), processors, profile="delay", names=[*"ABCDEFGH"[: len(jobs)]])


BLOCKED = log_of(
    J(0, 1, 1_000_000, None, "z"),
    J(10, 1, 10, 100, "a"),
    J(20, 1, 10, 100, "a"),
    J(30, 1, 10, 100, "b"),
)
"""A job that runs for long, and three that wait."""


def times(rows: list[Row], state: str = WITHDRAWN) -> dict[str, float]:
    return {name: end for name, _, _, end, what in rows if what == state}
