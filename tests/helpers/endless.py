"""Policies and users whose work has no end, or a late one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from math import inf
from typing import Any, ClassVar

from batsched_py.model.decisions import CallMeLater, Decision, Kill, Reject, Start
from batsched_py.model.machine import Machine
from batsched_py.model.queue import WaitingQueue
from batsched_py.model.user_model import EndedJob
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.workload import Workload, WorkloadJob


class Ticks:
    """First come, first served, called again and again up to a time."""

    seconds = 1.0
    until = inf

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        yield from Fcfs().schedule(now, queue, machine)
        yield from self.more(now, machine)

    def more(self, now: float, machine: Machine) -> Iterator[Decision]:
        if now < self.until:
            yield CallMeLater(now + self.seconds)


class TicksForHours(Ticks):
    until = 20_000.0


class TicksByTheHour(Ticks):
    seconds = 3600.0


class SameCall(Ticks):
    def more(self, now: float, machine: Machine) -> Iterator[Decision]:
        while True:
            yield CallMeLater(now + 1)


class MoreAndMoreCalls(Ticks):
    def more(self, now: float, machine: Machine) -> Iterator[Decision]:
        for number in range(1, 4):
            yield CallMeLater(now * 2 + number)


class Kills(Ticks):
    def more(self, now: float, machine: Machine) -> Iterator[Decision]:
        while True:
            yield from map(Kill, list(machine.releases()))


class EachAtOnce:
    """Starts or rejects everything at once."""

    def __init__(self, rejects: bool) -> None:
        self.rejects = rejects

    def schedule(self, now: float, queue: WaitingQueue, machine: Machine) -> Iterator[Decision]:
        for job in list(queue):
            yield Reject(job) if self.rejects else Start(job)


class SeldomCalled(Ticks):
    seconds = 1e8


class Users:
    """Submit a job, and another one after each that ended."""

    think = 1.0
    size = 1
    profile: ClassVar[dict[str, Any]] = {"type": "delay", "delay": 5}

    def __init__(self, workload: Workload) -> None:
        self.profiles = {"p": self.profile}
        self.due = 0.0
        self.numbers = count(1)

    def next_submission(self) -> float:
        return self.due

    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        self.due = inf
        return [self.job(now)]

    def job(self, now: float) -> WorkloadJob:
        return WorkloadJob(
            id=str(next(self.numbers)), submit_time=now, size=self.size, profile="p", user="u"
        )

    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        self.due = now + self.think


class AtOnce(Users):
    """Whose jobs take no time, and who think no time."""

    think = 0.0
    profile: ClassVar[dict[str, Any]] = {"type": "parallel_homogeneous", "cpu": 0, "com": 0}


class AlwaysDue(Users):
    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        return [self.job(now)]


class AlwaysDueLater(AlwaysDue):
    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        return super().jobs_to_submit(now) if now else Users.jobs_to_submit(self, now)


class NoEndOfJobs(Users):
    def jobs_to_submit(self, now: float) -> Iterable[WorkloadJob]:
        while True:
            yield self.job(now)


class NeverReady(Users):
    """Always a second from now."""

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self.asked = 0

    def next_submission(self) -> float:
        self.asked += 1
        return float(self.asked)


class UsersForAWhile(Users):
    def job_ended(self, now: float, job: EndedJob, state: str) -> None:
        if int(job.id) < 300:
            super().job_ended(now, job, state)
