"""The rules of Batsim 5 in the embedded simulator, by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from batsched_py.commands.protocol.batsim5_arguments import as_ours, version_of
from batsched_py.errors import ProtocolError, UsageError
from batsched_py.protocol import messages as m
from batsched_py.simulator.engine import Options, Simulator
from batsched_py.simulator.platform.hosts import homogeneous
from batsched_py.support.processor_sets import from_text
from batsched_py.workload.workload import Workload, WorkloadJob

Said = dict[float, Sequence[Callable[[float], m.Event]]]


def run(said: Said, jobs: Sequence[WorkloadJob] = (), **options: Any) -> list[m.Event]:
    """Simulate a scheduler that says each at its time, in its first reply then."""
    left, seen = dict(said), []

    def answer(message: m.Message) -> m.Message:
        seen.extend(message.events)
        return m.Message(message.now, [make(message.now) for make in left.pop(message.now, ())])

    load = Workload(
        name="w", nb_res=4, jobs=list(jobs), profiles={"d": {"type": "delay", "delay": 10}}
    )
    Simulator(homogeneous(4), [load], Options(protocol=5, **options)).run(answer)
    return seen


def call(time: float, call_id: str = "c") -> Callable[[float], m.Event]:
    return lambda now: m.CallMeLater(timestamp=now, time=time, call_id=call_id)


def periodically(period: float, nb: int | None, call_id: str = "p") -> Callable[[float], m.Event]:
    return lambda now: m.CallPeriodically(
        timestamp=now, call_id=call_id, period=period, nb_periods=nb
    )


def calls(events: Sequence[m.Event]) -> list[tuple[float, str | None, bool | None]]:
    return [(e.timestamp, e.call_id, e.last) for e in events if isinstance(e, m.RequestedCall)]


def register(now: float, walltime: float | None = None) -> m.RegisterJob:
    job = m.JobDescription("dyn!1", now, 1, "p", walltime)
    return m.RegisterJob(timestamp=now, job_id="dyn!1", job=job)


def profile(now: float) -> m.RegisterProfile:
    content = {"type": "delay", "delay": 5}
    return m.RegisterProfile(timestamp=now, workload_name="dyn", profile_name="p", profile=content)


def execute(job_id: str, alloc: str) -> Callable[[float], m.Event]:
    return lambda now: m.ExecuteJob(timestamp=now, job_id=job_id, alloc=from_text(alloc))


def test_calls_for_the_past_come_at_once() -> None:
    assert calls(run({0.0: [call(3, "a")], 3.0: [call(1, "b")]})) == [
        (3.0, "a", False),
        (3.0, "b", False),
    ]


def test_periodic_calls_are_on_a_grid_from_0() -> None:
    events = run({0.0: [call(2.5)], 2.5: [periodically(4, 3)]})
    assert calls(events)[1:] == [(4.0, "p", False), (8.0, "p", False), (12.0, "p", True)]


def test_periodic_calls_go_on_until_they_are_stopped() -> None:
    def stop(now: float) -> m.Event:
        return m.StopCall(timestamp=now, call_id="p")

    events = run({0.0: [stop, periodically(0.1, None)], 0.3: [stop]})
    assert calls(events) == [(0.1, "p", False), (0.2, "p", False), (0.3, "p", False)]


@pytest.mark.parametrize(
    "second", [periodically(5, 1, "q"), periodically(3, 1)], ids=["divide", "same id"]
)
def test_periodic_calls_that_do_not_go_together(second: Callable[[float], m.Event]) -> None:
    with pytest.raises(ProtocolError, match="CallMeLaterEvent"):
        run({0.0: [periodically(3, 2), second]})


def test_the_simulation_may_be_stopped() -> None:
    events = run(
        {
            0.0: [call(4)],
            4.0: [lambda now: m.ForceSimulationStop(timestamp=now), execute("x", "0")],
        },
        [WorkloadJob(id="1", submit_time=0, size=1, profile="d")],
    )
    assert (events[-1].tag, events[-1].timestamp) == ("SIMULATION_ENDS", 4.0)


def test_registering_needs_no_leave() -> None:
    finished: Callable[[float], m.Event] = lambda now: m.Notify(  # noqa: E731
        timestamp=now, type="registration_finished"
    )
    events = run({0.0: [finished, profile, register, execute("dyn!1", "0-2")]})
    ended = [e for e in events if isinstance(e, m.JobCompleted)]
    assert [(e.timestamp, e.job_id, e.job_state) for e in ended] == [
        (5.0, "dyn!1", "COMPLETED_SUCCESSFULLY")
    ]


def test_a_walltime_of_0_ends_a_job_at_once() -> None:
    zero: Callable[[float], m.Event] = lambda now: register(now, 0.0)  # noqa: E731
    events = run({0.0: [profile, zero, execute("dyn!1", "0")]})
    (ended,) = [e for e in events if isinstance(e, m.JobCompleted)]
    assert (ended.timestamp, ended.return_code) == (0.0, -1)


def test_jobs_may_share_machines() -> None:
    jobs = [WorkloadJob(id=name, submit_time=1, size=2, profile="d") for name in "12"]
    events = run({1.0: [execute("w0!1", "0"), execute("w0!2", "0-2")]}, jobs)
    assert [e.timestamp for e in events if isinstance(e, m.JobCompleted)] == [11.0, 11.0]


@pytest.mark.parametrize("nb", [1, 2])
def test_a_job_is_killed_once(nb: int) -> None:
    def kill(now: float) -> m.Event:
        return m.KillJob(timestamp=now, job_ids=["w0!1"])

    said: Said = {1.0: [execute("w0!1", "0"), call(5)], 5.0: [kill] * nb}
    jobs = [WorkloadJob(id="1", submit_time=1, size=1, profile="d")]
    if nb == 2:
        with pytest.raises(ProtocolError, match="KillJobsEvent"):
            run(said, jobs)
        return
    (killed,) = [e for e in run(said, jobs) if isinstance(e, m.JobKilled)]
    assert killed.job_progress == {"w0!1": {"profile_name": "d", "progress": 0.4}}


def test_probes_need_energy() -> None:
    probe: Callable[[float], m.Event] = lambda now: m.CreateProbe(  # noqa: E731
        timestamp=now, probe_id="p", resources=from_text("0"), period=1
    )
    with pytest.raises(ProtocolError, match="energy is not accounted for"):
        run({0.0: [probe]})


def test_command_lines_of_batsim_5_are_known() -> None:
    assert version_of(["-p", "x", "-s", "tcp://a", ""]) == 5
    assert version_of(["-p", "x", "-s", "tcp://a", "-e", "out"]) == 4
    assert version_of(["-p", "x", "--ee", "y"]) == 5
    assert version_of(["--ee", "y", "--protocol=4"]) == 4
    given = ["-s", "tcp://a", "--energy", "-r", "n1", "storage", "-e", "-E"]
    assert as_ours(given) == [
        *("--protocol=5", "--socket-endpoint=tcp://a", "--init=--energy"),
        *("--add-role-to-hosts=n1:storage", "-e", "-E"),
    ]


@pytest.mark.parametrize("wrong", ["--enable-dynamic-jobs", "-E", "--sched-cfg=x", "-l", "-s"])
def test_options_that_batsim_5_does_not_have(wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong.partition("=")[0]):
        as_ours([wrong])
