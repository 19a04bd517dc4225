"""The embedded simulator: time, states, registration, deadlock."""

from __future__ import annotations

from typing import Any

import pytest

from batsched_py.decision_process import DecisionProcess
from batsched_py.errors import DeadlockError, ProtocolError, WorkloadError
from batsched_py.protocol import messages as m
from batsched_py.schedulers.fcfs import Fcfs
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import make_homogeneous
from batsched_py.testing import DrawnJob as J
from batsched_py.testing import workload
from batsched_py.workload import Workload
from helpers.processors import processors
from helpers.scripted_schedulers import (
    Make,
    Script,
    execute,
    register_job,
    register_profile,
    say,
    tell,
)

DYNAMIC = Options(dynamic_jobs=True)
DELAY = {"type": "delay", "delay": 5}


def profile(**content: Any) -> Make:
    return register_profile("p", content or DELAY)


def job(name: str) -> Make:
    return register_job(name, "p", 9.0)


def simulate(script: Script, load: Workload | None = None, options: Options | None = None) -> Any:
    return Simulator(make_homogeneous(4), [load] if load else [], options).run(script)


def test_each_event_in_a_message_of_its_own() -> None:
    """Submissions of an instant come first, whatever happened before them."""
    load = workload([J(0, 1, 5), J(1, 1, 1), J(5, 1, 1)], 4)
    starts = [[execute(f"w0!{number:04d}", str(number))] for number in range(3)]
    script = Script([], *starts[:2], [], starts[2])
    simulate(script, load, Options(each_event=True))
    told = [message.events for message in script.seen]
    assert {len(events) for events in told} == {1}
    at_five = [type(event).__name__ for (event,) in told if event.timestamp == 5]
    assert at_five == ["JobSubmitted", "JobCompleted", "Notify"]


def test_late_reports_of_ends() -> None:
    """Processors are free when the end is reported, the end is in the results as it was."""
    load = workload([J(0, 4, 5), J(5, 4, 1)], 4)
    simulator = Simulator(make_homogeneous(4), [load], Options(end_delay=0.5))
    outcome = simulator.run(DecisionProcess(Fcfs()).answer)
    assert [(job.start_time, job.finish_time) for job in outcome.jobs] == [(0, 5), (5.5, 6.5)]
    assert outcome.end == 7.0


def test_killed_twice_after_its_end() -> None:
    """A slow reply asks twice for the end of a job that has ended: Batsim answers once."""
    late = 2 * [m.KillJob(timestamp=10.0, job_ids=["w0!0000"])]
    seen: list[m.Message] = []

    def slow(message: m.Message) -> m.Message:
        seen.append(message)
        if len(seen) == 2:
            start = m.ExecuteJob(timestamp=0.0, job_id="w0!0000", alloc=processors("0"))
            return m.Message(10.0, [start, *late])
        return m.Message(message.now, [])

    Simulator(make_homogeneous(4), [workload([J(0, 1, 5)], 4)]).run(slow)
    told = [event.tag for event in seen[2].events]
    assert told == ["JOB_COMPLETED", "JOB_KILLED"]


START_A = [profile(), job("a"), execute("dyn!a", "0")]
WRONG: dict[str, tuple[list[Make], str]] = {
    "rejected while running": ([*START_A, say(m.RejectJob, job_id="dyn!a")], "a is running"),
    "on a storage": (
        [profile(), job("a"), execute("dyn!a", "0", storage_mapping={"s": 4})],
        "uses storage",
    ),
    "no decision": ([say(m.RequestedCall)], "REQUESTED_CALL is not a decision"),
    "later than its reply": (
        [lambda now: m.Notify(timestamp=now + 2.0, type="registration_finished")],
        "NOTIFY at 2.0",
    ),
    "a reply to a job that is not there": ([tell("dyn!x", "")], "no job"),
    "notification of an older protocol": ([say(m.Notify, type="submission_finished")], "NOTIFY"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses_where_batsim_aborts(name: str) -> None:
    decisions, message = WRONG[name]
    with pytest.raises(ProtocolError, match=message):
        simulate(Script(decisions), options=DYNAMIC)


@pytest.mark.parametrize(("started", "waiting"), [(0, "w0!0000"), (1, "w0!0001")])
def test_a_deadlock_says_what_the_first_job_could_have_had(started: int, waiting: str) -> None:
    load = workload([J(0, 3, 5)] * 12, 4)
    script = Script([], [execute("w0!0000", "0-2")] * started)
    expected = f"{12 - started} jobs wait: {waiting}, .*4 are free, {waiting} needs 3"
    with pytest.raises(DeadlockError, match=expected) as seen:
        simulate(script, load)
    assert ("no job at all" in str(seen.value)) == (not started)


def test_a_profile_that_is_not_there_is_refused_before_the_first_message() -> None:
    load = workload([J(0, 1, 5)], 4)
    load.profiles = {}
    with pytest.raises(WorkloadError, match="the profile 'r5'"):
        Simulator(make_homogeneous(4), [load])
