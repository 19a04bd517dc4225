"""What is refused before it is sent although no recording shows it, and what may not be refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from copy import copy
from math import inf, nan
from typing import Any

import pytest

from batsched_py import Withdraw
from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import InvariantError, ProtocolError
from batsched_py.model.decisions import Decision, Kill, Start
from batsched_py.protocol import messages as m
from batsched_py.protocol.referee.referee import Referee
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.models.rigid import Rigid
from helpers.messages import begins, submitted
from helpers.processors import processors


def begun(*, strict: bool = True, **config: bool) -> Referee:
    """A referee at 1 s; on four processors job a (size 2) runs on 0-1 and job b (size 1) waits."""
    referee = Referee(strict=strict)
    start = begins(
        nb_resources=5,
        nb_storage_resources=1,
        config={name.replace("_", "-"): value for name, value in config.items()},
        storage_resources=[{"id": 4}],
        workloads={"w0": ""},
        profiles={"w0": {"p": {"type": "delay", "delay": 9}}},
    )
    referee.check_message(m.Message(0.0, [start, submitted("a", 2), submitted("b")]))
    referee.check_reply(
        m.Message(0.0, [m.ExecuteJob(timestamp=0.0, job_id="w0!a", alloc=processors("0-1"))])
    )
    referee.check_message(m.Message(1.0, []))
    return referee


def execute(**fields: Any) -> m.ExecuteJob:
    return m.ExecuteJob(**{"timestamp": 1.0, "job_id": "w0!b", "alloc": processors("2"), **fields})


def register(kind: str | None, **profile: Any) -> m.RegisterProfile:
    content = {"type": kind, **profile}
    return m.RegisterProfile(timestamp=1.0, workload_name="d", profile_name="x", profile=content)


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (execute(mapping={"0": 1}), "mapping"),
        (execute(mapping={"0": 0, "00": 0}), "mapping"),
        (execute(mapping={"0": 0}, storage_mapping={"s": 4}), "Batsim takes one"),
        (execute(further={"x": 1}), "further members"),
        (execute(storage_mapping={"s": 3}), r"one of \[4\]"),
        (execute(timestamp=0.5), "from 1.0 on"),
        (m.CallMeLater(timestamp=1.0, time=nan), "not later"),
        (m.KillJob(timestamp=1.0, job_ids=[]), "empty"),
        (m.SetJobMetadata(timestamp=1.0, job_id="w0!a", metadata='"'), "must not contain"),
        (
            m.SetResourceState(timestamp=1.0, resources=processors("0"), state="on"),
            "a pstate",
        ),
        (register("delay", delay=0), "above 5e-07"),
        (register(None), "expected a type"),
        (m.RequestedCall(timestamp=1.0), "not a decision"),
    ],
)
def test_strictly_refused(decision: m.Event, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        begun(dynamic_jobs_enabled=True).check_reply(m.Message(1.0, [decision]))


def registration(name: str, *, exact: bool) -> None:
    """Let a job of that name be registered, with a delay that Batsim takes for none."""
    referee = begun(dynamic_jobs_enabled=True, exact_times=exact)
    job = m.JobDescription(f"d!{name}", 1.0, 1, "x")
    profile = register("delay", delay=1e-9 if exact else 1)
    referee.check_reply(
        m.Message(1.0, [profile, m.RegisterJob(timestamp=1.0, job_id=job.id, job=job)])
    )


@pytest.mark.parametrize("name", ["a(b", "a,b", 'a"b', "a\\b"])
def test_ids_on_which_batsim_aborts(name: str) -> None:
    """Our own simulator takes them, and all digits of a delay, if it says that it is exact."""
    with pytest.raises(ProtocolError, match="on an id"):
        registration(name, exact=False)
    registration(name, exact=True)


@pytest.mark.parametrize("now", [0.5, nan])
def test_the_reply_has_a_time_that_is_one(now: float) -> None:
    with pytest.raises(ProtocolError):
        begun().check_reply(m.Message(now, []))


def test_a_job_in_the_future_is_batsims_business_only() -> None:
    """Batsim takes it and submits it at once; we do not send such a thing."""
    job = m.JobDescription("d!1", 9.0, 1, "x")
    decisions = [register("delay", delay=1), m.RegisterJob(timestamp=1.0, job_id="d!1", job=job)]
    begun(strict=False, dynamic_jobs_enabled=True).check_reply(m.Message(1.0, decisions))
    with pytest.raises(ProtocolError, match="submits it now"):
        begun(dynamic_jobs_enabled=True).check_reply(m.Message(1.0, decisions))


# What real Batsim does not survive ---------------------------------------------------------------


class One(Rigid):
    """One user with one job."""

    def __init__(self, name: str = "a", profile: Any = None, **fields: Any) -> None:
        job = {"submit_time": 0.0, "size": 1, "profile": "p", "walltime": 9.0, **fields}
        profiles = {"p": {"type": "delay", "delay": 1} if profile is None else profile}
        jobs = [WorkloadJob(id=name, **job)]
        super().__init__(Workload(name="w", nb_res=4, jobs=jobs, profiles=profiles))


def begin(**config: Any) -> m.Message:
    return m.Message(0.0, [begins(config={"dynamic-jobs-enabled": True, **config})])


VERSIONS: dict[str, dict[str, Any]] = {
    "4": {},
    "5": {m.PROTOCOL_VERSION: 5, m.EXACT_TIMES: True},
    "ours": {m.EXACT_TIMES: True},
}


@pytest.mark.parametrize(
    ("users", "refusing", "reason"),
    [
        *((One(f"a{char}b"), "4", "aborts on an id") for char in '()|}"\\'),
        (One('"a'), "4 5", "an id|a quote"),
        (One("a!b"), "4 5", "exclamation mark"),
        (One("a:b #1'%{é"), "", ""),
        (One(profile={"type": "delay", "delay": 4e-7}), "4", "above 5e-07"),
        (One(profile={"type": "delay", "delay": 0}), "4 5", "has the delay 0"),
        (One(profile={"type": "composed", "seq": []}), "4", "cannot register"),
        (One(profile={"type": "parallel", "cpu": [1, 2], "com": []}), "5", "for 2 processors"),
        (One(size=0), "4 5", "size 0"),
        (One(walltime=0.0), "4 5", "walltime 0"),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_jobs_that_a_batsim_cannot_register(
    users: One, refusing: str, reason: str, version: str
) -> None:
    """Our own simulator says so itself; the message names the user model."""
    process = DecisionProcess(Fcfs(), copy(users), six_decimals=True)
    refused = pytest.raises(InvariantError, match=f"One submitted job (?s:.)*({reason})")
    with refused if version in refusing.split() else nullcontext():
        process.answer(begin(**VERSIONS[version]))


class Kills:
    """Starts the job, then kills it ``times`` times at the next instant."""

    def __init__(self, times: int) -> None:
        self.times = times

    def schedule(self, now: float, queue: Any, machine: Any) -> Iterator[Decision]:
        for job in list(machine.releases()):
            yield from [Kill(job)] * self.times
        for job in list(queue):
            yield Start(job)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("version", VERSIONS)
def test_batsim5_aborts_on_a_second_kill(version: str, times: int) -> None:
    process = DecisionProcess(Kills(times), six_decimals=True)
    process.answer(begin(**VERSIONS[version]))
    process.answer(m.Message(0.0, [submitted("a")]))
    aborts = pytest.raises(InvariantError, match=r"\.py:\d+.*killed twice")
    with aborts if (version, times) == ("5", 2) else nullcontext():
        process.answer(m.Message(1.0, [submitted("b", now=1.0)]))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_policy_may_kill_what_a_user_killed(version: str) -> None:
    """The policy cannot know that the user was first; Batsim 5 gets one decision."""
    process = DecisionProcess(Kills(1), KillsTwice(one_job()), six_decimals=True)
    process.answer(begin(**VERSIONS[version]))
    reply = process.answer(m.Message(1.0, [m.RequestedCall(timestamp=1.0)]))
    kills = [event for event in reply.events if isinstance(event, m.KillJob)]
    assert len(kills) == (1 if version == "5" else 3)


class Dilates(Fcfs):
    """Lets jobs run twice as long."""

    def dilates(self, sites: Any) -> bool:
        return True

    def schedule(self, now: float, queue: Any, machine: Any) -> Iterator[Decision]:
        for job in queue:
            yield Start(job, dilation=2.0)


def one_job() -> Workload:
    jobs = [WorkloadJob(id="a", submit_time=0.0, size=1, profile="p", walltime=10.0)]
    profiles = {"p": {"type": "delay", "delay": 9.0}}
    return Workload(name="w", nb_res=4, jobs=jobs, profiles=profiles)


class KillsTwice(Rigid):
    """Users who submit a job, and kill it twice a second later."""

    def next_submission(self) -> float:
        return self._next if self._next < 2 else inf

    def jobs_to_submit(self, now: float) -> list[Any]:
        self._next += 1
        return [Withdraw("a", kill=True)] * 2 if now else self._jobs


@pytest.mark.parametrize("version", VERSIONS)
def test_users_may_kill_a_job_twice(version: str) -> None:
    """Also a job that runs under another name; Batsim 5 gets one decision."""
    process = DecisionProcess(Dilates(), KillsTwice(one_job()), six_decimals=True)
    process.answer(begin(**VERSIONS[version]))
    reply = process.answer(m.Message(1.0, [m.RequestedCall(timestamp=1.0)]))
    kills = [event for event in reply.events if isinstance(event, m.KillJob)]
    assert len(kills) == (1 if version == "5" else 2)
