"""The rules of Batsim 5 in the embedded simulator, by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from batsched_py.commands.protocol.batsim5_arguments import detect_version, translate_arguments
from batsched_py.errors import ProtocolError, UsageError, WorkloadError
from batsched_py.processors.sets import from_text
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json as codec
from batsched_py.simulator.batsim5.simulator import Batsim5Simulator
from batsched_py.simulator.engine import Options, Outcome
from batsched_py.simulator.files.batsim_files import format_schedule_json
from batsched_py.simulator.files.input_files import Inputs, prepare
from batsched_py.simulator.platform.hosts import Platform, make_homogeneous
from batsched_py.simulator.platform.platform_reader import read_platform
from batsched_py.workload.batsim.batsim5_profiles import (
    from_file,
    from_message,
    to_event,
    to_file,
    to_message,
)
from batsched_py.workload.workload import Workload, WorkloadJob
from helpers.scripted_schedulers import FINISHED, Make, kill, register_profile, say

Said = dict[float, Sequence[Make]]
PROFILES: dict[str, dict[str, Any]] = {
    "d": {"type": "delay", "delay": 10},
    "each": {"type": "parallel_homogeneous", "cpu": 1e10, "com": 0},
    "all": {"type": "parallel_homogeneous_total", "cpu": 12e9, "com": 0},
    "two": {"type": "parallel", "cpu": [4e9, 7e9], "com": [0] * 4},
    "parts": {"type": "composed", "repeat": 2, "seq": ["d", "each"]},
}
SLEEPY = """<!DOCTYPE platform><platform version="4.1"><zone id="z" routing="Vivaldi">
<host id="master_host" coordinates="0 0 0" speed="1Gf"/>
<host id="n0" coordinates="0 0 0" speed="1Gf,0.5Gf,1f,0.1f,0.1f">
<prop id="sleep_pstates" value="2:3:4"/></host>
<host id="n1" coordinates="0 0 0" speed="1Gf"/></zone></platform>"""
"""Its first host takes 10 s to be turned off."""


def run(
    said: Said,
    jobs: Sequence[WorkloadJob] = (),
    platform: Platform | None = None,
    **options: Any,
) -> list[m.Event]:
    """Simulate a scheduler that says each at its time, in its first reply then."""
    seen: list[m.Event] = []
    simulate(said, jobs, platform, seen, **options)
    return seen


def simulate(
    said: Said,
    jobs: Sequence[WorkloadJob] = (),
    platform: Platform | None = None,
    seen: list[m.Event] | None = None,
    **options: Any,
) -> Outcome:
    """Return what the simulation leaves; what the scheduler is told is ``seen``."""
    left, seen = dict(said), [] if seen is None else seen

    def answer(message: m.Message) -> m.Message:
        seen.extend(message.events)
        return m.Message(message.now, [make(message.now) for make in left.pop(message.now, ())])

    load = Workload(name="w", nb_res=4, jobs=list(jobs), profiles=PROFILES)
    options.setdefault("protocol", 5)
    return Batsim5Simulator(platform or make_homogeneous(4), [load], Options(**options)).run(answer)


@pytest.fixture
def sleepy(tmp_path: Path) -> Path:
    """Return the file of a platform whose first host may sleep."""
    path = tmp_path / "platform.xml"
    path.write_text(SLEEPY)
    return path


def call(time: float) -> Make:
    return say(m.CallMeLater, time=time, call_id="c")


def periodically(period: float, nb: int) -> Make:
    return say(m.CallPeriodically, call_id="p", period=period, nb_periods=nb)


def execute(job_id: str, alloc: str, places: Sequence[int] | None = None) -> Make:
    mapping = None if places is None else {str(at): place for at, place in enumerate(places)}
    return say(m.ExecuteJob, job_id=job_id, alloc=from_text(alloc), mapping=mapping)


def job(profile: str, size: int = 2, name: str = "1", **fields: Any) -> WorkloadJob:
    return WorkloadJob(id=name, submit_time=1, size=size, profile=profile, **fields)


def switch(hosts: str, state: int, *, turned: bool = False) -> Make:
    return say(m.SetResourceState, resources=from_text(hosts), state=str(state), turned=turned)


def ends(events: Sequence[m.Event]) -> list[tuple[float, str]]:
    return [(e.timestamp, e.job_state) for e in events if isinstance(e, m.JobCompleted)]


def said_by(name: str, content: Any) -> m.Event:
    """Read a decision of a scheduler."""
    event = {"timestamp": 0.0, "event_type": name, "event": content}
    raw = json.dumps({"now": 0.0, "events": [event]})
    (decision,) = codec.decode_decisions(raw, 4).events
    return decision


PROBE = say(m.CreateProbe, probe_id="p", resources=from_text("0"), period=1)


@pytest.mark.parametrize(
    ("decisions", "why"),
    [
        ([periodically(3, 2), periodically(3, 1)], "CallMeLaterEvent"),
        ([PROBE], "energy"),
        ([execute("w0!2", "0-1", [0])], "it has 1"),
        ([execute("w0!1", "0-1", [0, 2])], "0 to 1"),
        ([execute("w0!1", "0-1", [])], "is empty"),
    ],
)
def test_decisions_that_make_no_sense(decisions: list[Make], why: str) -> None:
    with pytest.raises(ProtocolError, match=why):
        run({1.0: decisions}, [job("each"), job("two", name="2")])


def test_command_lines_of_batsim_5_are_known() -> None:
    assert detect_version(["-p", "x", "-s", "tcp://a", ""]) == 5
    assert detect_version(["-p", "x", "-s", "tcp://a", "-e", "out"]) == 4
    assert detect_version(["-p", "x", "--ee", "y"]) == 5
    assert detect_version(["--ee", "y", "--protocol=4"]) == 4
    given = ["-s", "tcp://a", "--energy", "-r", "n1", "storage", "-e", "out"]
    assert translate_arguments(given) == [
        *("--protocol=5", "--socket-endpoint=tcp://a", "--init=--energy"),
        *("--add-role-to-hosts=n1:storage", "-e", "out"),
    ]


@pytest.mark.parametrize("wrong", ["--enable-dynamic-jobs", "-E", "--sched-cfg=x", "-l", "-s"])
def test_options_that_batsim_5_does_not_have(wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong.partition("=")[0]):
        translate_arguments([wrong])


# Machines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("pstate", [2, 3])
def test_no_job_starts_in_a_pstate_to_sleep_or_to_pass(pstate: int, sleepy: Path) -> None:
    """A machine may be changed to it all the same, and back."""
    platform = read_platform(sleepy)
    there, start = switch("0", pstate), execute("w0!1", "0")
    back: Said = {1.0: [there, call(3)], 3.0: [switch("0", 0), start]}
    assert ends(run(back, [job("d", 1)], platform)) == [(13.0, "COMPLETED_SUCCESSFULLY")]
    for late in (start, switch("0", 0, turned=True), switch("0", 2, turned=True)):
        with pytest.raises(ProtocolError, match="was changed to"):
            run({1.0: [there, call(3)], 3.0: [late]}, [job("d", 1)], platform)
    asleep: Said = {1.0: [switch("0", 2, turned=True), call(20)]}
    changed = [switch("0", 1), switch("0", 0, turned=True)]
    with pytest.raises(ProtocolError, match="another kind"):
        run(asleep | {20.0: changed}, [job("d", 1)], platform)
    with pytest.raises(ProtocolError, match="pstates 0 to 4"):
        run({1.0: [switch("0", 5)]}, [job("d", 1)], platform)


def test_a_role_that_was_given_is_told(sleepy: Path) -> None:
    platform = read_platform(sleepy, roles={"n1": "compute_node"}, natural=True)
    assert [host.properties.get("role") for host in platform.hosts] == [None, "compute_node"]


@pytest.mark.parametrize(
    ("version", "mmax", "of_load", "nb"),
    [
        *((5, 0, 2, 2), (5, 1, 2, 1), (5, 2, 2, 2), (5, 2, 1, 1), (5, 1, None, 1)),
        *((4, 0, 2, 2), (4, 1, 2, 2), (4, 2, 1, 1), (4, 1, None, 1)),
    ],
)
def test_the_smaller_limit_of_machines_counts_for_batsim_5(
    version: int, mmax: int, of_load: int | None, nb: int, sleepy: Path, tmp_path: Path
) -> None:
    """For Batsim 4 it is the one of the workloads."""
    for name, nb_res in (("a", of_load or 2), ("b", 1)):
        content = f'{{"nb_res": {nb_res}, "jobs": [], "profiles": {{}}}}'
        (tmp_path / f"{name}.json").write_text(content)
    loads = [tmp_path / "a.json", tmp_path / "b.json"]
    inputs = Inputs(platform=sleepy, workloads=loads, mmax=mmax, mmax_workload=of_load is not None)
    assert len(prepare(inputs, Options(protocol=version)).platform.hosts) == nb


# Profiles ------------------------------------------------------------------------------------


@pytest.mark.parametrize("com", [None, [0, 1e8, 2e8, 0]])
@pytest.mark.parametrize("cpu", [None, [0, 0], [1e9, 0]])
def test_a_scheduler_sees_the_vectors_that_were_written(
    cpu: list[float] | None, com: list[float] | None
) -> None:
    """Zeros too, whether they come from a file or a message; files and messages keep them."""
    given = {name: of for name, of in (("cpu", cpu), ("com", com)) if of is not None}
    names = {"cpu": "computation_vector", "com": "communication_matrix"}
    wire = {names[name]: of for name, of in given.items()}
    read = from_file({"type": "ParallelTaskProfile", **given})
    _, _, heard = from_message(
        {"id": "w0!p", "profile_type": "ParallelTaskProfile", "profile": wire}
    )
    assert read == heard
    assert to_event(read, "p", "w0")["profile"] == to_message(read, "p", "w0")["profile"] == wire
    assert to_file(read) == {"type": "ParallelTaskProfile", **given}


def test_progress_and_profiles_of_killed_jobs_are_in_the_order_of_their_ids() -> None:
    jobs = [job("parts", 1), job("d", 1, "2"), job("d", 1, "3")]
    said: Said = {
        1.0: [*(execute(f"w0!{name}", "0") for name in "321"), call(5)],
        5.0: [kill("w0!3", "w0!1", "w0!2")],
    }
    events = run(said, jobs, forward_profiles_on_kill=True)
    (killed,) = [e for e in events if isinstance(e, m.JobKilled)]
    raw = codec.encode_events(m.Message(5.0, [killed]))
    content = json.loads(raw.removesuffix(b"\0"))["events"][0]["event"]
    assert content["job_ids"] == ["w0!3", "w0!1", "w0!2"]
    assert [of["job_id"] for of in content["progresses"]] == ["w0!1", "w0!2", "w0!3"]
    assert [profile["id"] for profile in content["profiles"]] == ["w0!d", "w0!parts"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"type": "DelayProfile", "delay": 3, "ret": -2}, "ret is -2"),
        ({"type": "ParallelTaskHomogeneousProfile", "cpu": 3}, "there is no com"),
    ],
)
def test_profiles_on_which_batsim_5_stops(content: dict[str, Any], why: str) -> None:
    with pytest.raises(WorkloadError, match=why):
        from_file(content)


def test_parts_of_another_workload_are_for_profiles_that_are_kept() -> None:
    profile = register_profile("p", {"type": "delay", "delay": 5})
    sequence = register_profile("s", {"type": "composed", "seq": ["w0!d", "p"]})
    said: Said = {0.0: [profile, sequence, FINISHED]}
    with pytest.raises(ProtocolError, match="'w0!d' is of another"):
        run(said)
    run(said, dynamic_jobs=True, profile_reuse=True)


def test_a_submission_before_0_makes_the_makespan_longer() -> None:
    early = WorkloadJob(id="1", submit_time=-5, size=1, profile="d")
    outcome = simulate({0.0: [call(1)], 1.0: [execute("w0!1", "0")]}, [early])
    assert json.loads(format_schedule_json(outcome))["makespan"] == 16.0


# What is read --------------------------------------------------------------------------------


def test_unions_and_enumerations_may_be_numbers() -> None:
    mapped = {"executor_placement_type": 2, "executor_placement": {"mapping": [1, 0]}}
    start = said_by(
        "ExecuteJobEvent", {"job_id": "w0!1", "allocation": {"host_allocation": "0-1", **mapped}}
    )
    assert isinstance(start, m.ExecuteJob)
    assert start.mapping == {"0": 1, "1": 0}
    once = {"time": 1500, "time_unit": 1}
    later = said_by("CallMeLaterEvent", {"call_me_later_id": "c", "when_type": 1, "when": once})
    assert isinstance(later, m.CallMeLater)
    assert later.time == 1.5
    mode = {"mode_type": 2, "mode": {"nb_periods": 3}}
    when = {"period": 2, "time_unit": "0", **mode}
    often = said_by("CallMeLaterEvent", {"call_me_later_id": "c", "when_type": 2, "when": when})
    assert isinstance(often, m.CallPeriodically)
    assert (often.period, often.nb_periods) == (2.0, 3)


CALL = {"call_me_later_id": "c", "when_type": "OneShot", "when": {"time": 3}}
SEQUENCE = {
    "id": "dyn!s",
    "profile_type": "SequentialCompositionProfile",
    "profile": {"profile_ids": ["p"]},
}


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("CallMeLaterEvent", CALL | {"when_type": 0}, "CallMeLaterEvent"),
        ("CallMeLaterEvent", CALL | {"when_type": 3}, "CallMeLaterEvent"),
        ("CallMeLaterEvent", CALL | {"when_type": True}, "CallMeLaterEvent"),
        ("CallMeLaterEvent", CALL | {"call_me_later_id": ""}, "length"),
        ("RejectJobEvent", None, "RejectJobEvent"),
        ("RegisterProfileEvent", {"profile": SEQUENCE}, "profile_ids has 'p'"),
        ("ChangeHostsPStateEvent", {"host_ids": "1-0", "pstate": 0}, "host_ids"),
        ("ChangeHostsPStateEvent", {"host_ids": "0,1", "pstate": 0}, "host_ids"),
        ("ChangeHostsPStateEvent", {"host_ids": "4", "pstate": 0}, "host_ids"),
    ],
)
def test_decisions_that_are_none(name: str, content: Any, why: str) -> None:
    assert isinstance(said_by("FinishRegistrationEvent", None), m.Notify)
    with pytest.raises(ProtocolError, match=why):
        said_by(name, content)


# The order of rows ---------------------------------------------------------------------------


@pytest.mark.parametrize(("between", "order"), [(0, "21"), (1, "12"), (2, "12")])
def test_a_killed_job_is_over_after_the_next_decision(between: int, order: str) -> None:
    """Its row comes then; with ForceSimulationStopEvent as the next there is none."""
    rejected, force_stop = say(m.RejectJob, job_id="w0!2"), say(m.ForceSimulationStop)
    for last, rows in ((rejected, order), (force_stop, "1" if between else "")):
        decisions = [kill("w0!1"), *[call(4)] * between, last]
        said: Said = {1.0: [execute("w0!1", "0"), call(3)], 3.0: decisions}
        jobs = [job("d", 1), job("d", 1, "2")]
        outcome = simulate(said, jobs)
        assert "".join(of.description.id[-1] for of in outcome.jobs) == rows
