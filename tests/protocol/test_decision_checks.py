"""What is refused although no recording shows it, and what may not be refused."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest

from batsched_py.errors import ProtocolError
from batsched_py.protocol import messages as m
from batsched_py.protocol.referee.referee import Referee
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
        (m.RequestedCall(timestamp=1.0), "no decision"),
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
