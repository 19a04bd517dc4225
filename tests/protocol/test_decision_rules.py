"""What real Batsim does not survive is refused before it is sent, naming who asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from copy import copy
from typing import Any

import pytest

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import InvariantError
from batsched_py.model.decisions import Decision, Kill, Start
from batsched_py.protocol import messages as m
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.workload import Workload, WorkloadJob
from batsched_users.models.rigid import Rigid
from helpers.messages import begins, submitted


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


class KillsTwice:
    """Starts the job, then kills it twice at the next instant."""

    def schedule(self, now: float, queue: Any, machine: Any) -> Iterator[Decision]:
        for job in list(machine.releases()):
            yield Kill(job)
            yield Kill(job)
        for job in list(queue):
            yield Start(job)


def test_batsim5_aborts_on_a_second_kill() -> None:
    for version in VERSIONS:
        process = DecisionProcess(KillsTwice(), six_decimals=True)
        process.answer(begin(**VERSIONS[version]))
        process.answer(m.Message(0.0, [submitted("a")]))
        aborts = pytest.raises(InvariantError, match=r"\.py:\d+.*killed twice")
        with aborts if version == "5" else nullcontext():
            process.answer(m.Message(1.0, [submitted("b", now=1.0)]))
