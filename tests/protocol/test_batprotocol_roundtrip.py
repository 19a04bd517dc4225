"""Any message of either direction survives its way through Batsim 5's JSON."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import ProtocolError
from batsched_py.processors.sets import ProcessorSet
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json as codec
from protocol.test_roundtrip import JSON, OBJECT, SET, TIME, plain

NAME = st.text("abcdefgh-#:é ", min_size=1, max_size=6)
ID = st.builds("{}!{}".format, st.sampled_from(["w0", "dyn"]), NAME)
POSITIVE = TIME.filter(lambda time: time > 0)
FREE = st.dictionaries(NAME.map(lambda name: f"x{name}"), JSON, max_size=2)
PROFILE = st.one_of(
    st.builds(lambda delay, free: {"type": "delay", "delay": delay, **free}, POSITIVE, FREE),
    st.builds(
        lambda kind, cpu, com: {"type": kind, "cpu": cpu, "com": com},
        st.sampled_from(["parallel_homogeneous", "parallel_homogeneous_total"]),
        st.floats(1, 1e15).map(round),
        TIME,
    ),
    st.lists(TIME, min_size=1, max_size=3).map(
        lambda cpu: {"type": "parallel", "cpu": cpu, "com": [0.0] * len(cpu) ** 2}
    ),
    st.builds(
        lambda seq, repeat: {"type": "composed", "repeat": repeat, "seq": seq},
        st.lists(NAME, min_size=1, max_size=3),
        st.integers(1, 5),
    ),
    st.sampled_from(["smpi", "usage_trace"]).map(lambda kind: {"type": kind, "trace": "a.txt"}),
    st.just({"type": "data_staging", "nb_bytes": 5, "from": "a", "to": "b"}),
)


@st.composite
def jobs(draw: st.DrawFn, job_id: str, submit_time: float) -> m.JobDescription:
    return m.JobDescription(
        job_id,
        submit_time,
        draw(st.integers(0, 2**32 - 1)),
        draw(NAME),
        draw(st.none() | POSITIVE),
        extra=draw(FREE | st.just({"extra_data": "no object"}) | st.just({"user": 3})),
    )


@st.composite
def submissions(draw: st.DrawFn) -> m.JobSubmitted:
    job_id, profile = draw(ID), draw(st.none() | PROFILE)
    job = draw(jobs(job_id, draw(TIME)))
    return m.JobSubmitted(timestamp=draw(TIME), job_id=job_id, job=job, profile=profile)


@st.composite
def registrations(draw: st.DrawFn) -> m.RegisterJob:
    job_id, now = draw(ID), draw(TIME)
    return m.RegisterJob(timestamp=now, job_id=job_id, job=draw(jobs(job_id, now)))


EIGHTHS = st.integers(0, 8).map(lambda eighths: eighths / 8)
PROGRESS = st.recursive(
    st.builds(lambda name, done: {"profile_name": name, "progress": done}, NAME, EIGHTHS),
    lambda inner: st.builds(
        lambda name, index, task: {
            "profile_name": name,
            "current_repetition": index,
            "current_task_index": index,
            "current_task": task,
        },
        NAME,
        st.integers(0, 9),
        inner,
    ),
    max_leaves=3,
)
HOST = st.fixed_dictionaries(
    {
        "name": NAME,
        "state": st.sampled_from(["idle", "sleeping"]),
        "properties": st.dictionaries(NAME, NAME, max_size=2),
        "zone_properties": st.dictionaries(NAME, NAME, max_size=1),
    }
)


@st.composite
def begins(draw: st.DrawFn) -> m.SimulationBegins:
    hosts = draw(st.lists(HOST, max_size=3))
    return m.SimulationBegins(
        timestamp=0.0,
        nb_resources=len(hosts),
        nb_compute_resources=len(hosts),
        config={},
        compute_resources=[{"id": at, **host} for at, host in enumerate(hosts)],
        workloads=draw(st.dictionaries(NAME, NAME, max_size=2)),
        profiles=draw(
            st.dictionaries(
                st.sampled_from(["w0", "w1"]),
                st.dictionaries(NAME, PROFILE, min_size=1, max_size=2),
                max_size=2,
            )
        ),
        further=draw(st.fixed_dictionaries({"batsim_version": NAME})),
    )


STATE = st.integers(0, 9).map(str)
EVENTS = st.one_of(
    begins(),
    submissions(),
    st.builds(m.SimulationEnds, timestamp=TIME),
    st.builds(
        m.JobCompleted,
        timestamp=TIME,
        job_id=ID,
        job_state=NAME,
        return_code=st.integers(-5, 255),
        alloc=st.just(ProcessorSet()),
    ),
    st.builds(
        m.JobKilled,
        timestamp=TIME,
        job_ids=st.lists(ID, max_size=2),
        job_progress=st.dictionaries(ID, PROGRESS, max_size=2),
    ),
    st.builds(m.RequestedCall, timestamp=TIME, call_id=NAME, last=st.booleans()),
    st.builds(
        m.ResourceStateChanged, timestamp=TIME, resources=SET, state=STATE, turned=st.booleans()
    ),
    st.builds(
        m.Notify,
        timestamp=TIME,
        type=st.just("generic"),
        details=st.fixed_dictionaries({"id": NAME, "data": NAME}),
    ),
    st.builds(
        m.Notify,
        timestamp=TIME,
        type=st.sampled_from(["no_more_static_job_to_submit", "no_more_external_event_to_occur"]),
    ),
    st.builds(
        m.ProbeData,
        timestamp=TIME,
        probe_id=NAME,
        resources=SET,
        data=TIME | st.lists(TIME, max_size=3),
    ),
    st.builds(
        m.UnknownEvent, timestamp=TIME, type=NAME.map(lambda name: f"New{name}"), data=OBJECT
    ),
)
MILLISECONDS = st.integers(0, 10**12).map(lambda count: count / 1000)
PERIODS = {
    "period": st.integers(1, 10**9).map(lambda count: count / 1000),
    "nb_periods": st.none() | st.integers(1, 9),
}
DECISIONS = st.one_of(
    registrations(),
    st.builds(
        m.Hello,
        timestamp=TIME,
        name=NAME,
        version=NAME,
        commit=NAME,
        protocol_version=NAME,
        features=st.fixed_dictionaries(
            {name: st.booleans() for name in codec.decisions.f.FEATURES}
        ),
    ),
    st.builds(
        m.ExecuteJob,
        timestamp=TIME,
        job_id=ID,
        alloc=SET,
        mapping=st.none()
        | st.lists(st.integers(0, 9), min_size=1, max_size=3).map(
            lambda places: {str(at): place for at, place in enumerate(places)}
        ),
        storage_mapping=st.none() | st.dictionaries(NAME, st.integers(0, 9), min_size=1),
    ),
    st.builds(m.RejectJob, timestamp=TIME, job_id=ID),
    st.builds(m.KillJob, timestamp=TIME, job_ids=st.lists(ID, max_size=2)),
    st.builds(
        m.RegisterProfile,
        timestamp=TIME,
        workload_name=st.sampled_from(["w0", "dyn"]),
        profile_name=NAME,
        profile=PROFILE,
    ),
    st.builds(m.Notify, timestamp=TIME, type=st.just("registration_finished")),
    st.builds(m.CallMeLater, timestamp=TIME, time=MILLISECONDS, call_id=NAME),
    st.builds(m.CallPeriodically, timestamp=TIME, call_id=NAME, **PERIODS),
    st.builds(m.StopCall, timestamp=TIME, call_id=NAME),
    st.builds(m.ForceSimulationStop, timestamp=TIME),
    st.builds(m.SetResourceState, timestamp=TIME, resources=SET, state=STATE, turned=st.booleans()),
    st.builds(
        m.CreateProbe,
        timestamp=TIME,
        probe_id=NAME,
        resources=SET,
        aggregation=st.sampled_from(["", "Sum", "ArithmeticMean"]),
        **PERIODS,
    ),
    st.builds(m.StopProbe, timestamp=TIME, probe_id=NAME),
)


def messages(event: st.SearchStrategy[m.Event]) -> st.SearchStrategy[m.Message]:
    """A message whose events are in order of time."""
    return st.builds(
        lambda events: m.Message(
            max([0.0, *(event.timestamp for event in events)]),
            sorted(events, key=lambda event: event.timestamp),
        ),
        st.lists(event, max_size=4),
    )


@given(messages(EVENTS))
def test_events(message: m.Message) -> None:
    for exact in (False, True):
        assert plain(codec.decode_events(codec.encode_events(message, exact=exact))) == plain(
            message
        )


@given(messages(DECISIONS))
def test_decisions(message: m.Message) -> None:
    assert plain(codec.decode_decisions(codec.encode_decisions(message))) == plain(message)


@pytest.mark.parametrize(
    ("value", "text"),
    [(20.0, "20.0"), (1 / 3, "0.333333333333"), (1e-7, "0.0000001"), (1e9, "1000000000.0")],
)
def test_numbers_have_at_most_twelve_decimals(value: float, text: str) -> None:
    assert f'"now":{text},' in codec.encode_events(m.Message(value, [])).decode()


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"event_type": "CallMeLater", "event": {}}, "'CallMeLaterEvent'"),
        ({"event_type": "RejectJobEvent", "event": {}, "more": 1}, r"the members \['more'\]"),
        ({"event": {}}, "event_type is missing"),
        (
            {
                "event_type": "CallMeLaterEvent",
                "event": {
                    "call_me_later_id": "c",
                    "when_type": "OneShot",
                    "when": {"time": 5, "time_unit": "Hour"},
                },
            },
            "'Hour'",
        ),
        (
            {
                "event_type": "ExecuteJobEvent",
                "event": {"job_id": "w0!1", "allocation": {"host_allocation": "0"}},
            },
            "no executor_placement",
        ),
        (
            {
                "event_type": "RegisterProfileEvent",
                "event": {
                    "profile": {
                        "id": "dyn!p",
                        "profile_type": "DelayProfile",
                        "profile": {"delay": 5, "cpu": 1},
                    }
                },
            },
            r"has the members \['cpu'\]",
        ),
    ],
)
def test_a_reply_is_read_as_strictly_as_batsim_reads(event: dict[str, Any], reason: str) -> None:
    raw = json.dumps({"now": 1.0, "events": [event]})
    with pytest.raises(ProtocolError, match=reason):
        codec.decode_decisions(raw)


@pytest.mark.parametrize(
    "event",
    [
        {"event_type": "JobCompletedEvent", "event": {"job_id": "w0!1", "new": [1]}},
        {"event_type": "BrandNewEvent", "event": None},
    ],
)
def test_what_a_later_batsim_may_add_is_passed_over(event: dict[str, Any]) -> None:
    message = codec.decode_events(json.dumps({"now": 1.0, "events": [event], "further": {}}))
    assert len(message.events) == 1


@given(st.binary(max_size=60) | st.builds(lambda data: json.dumps(data).encode(), JSON))
def test_garbage_is_refused_and_nothing_else(raw: bytes) -> None:
    for decode in (codec.decode_events, codec.decode_decisions, codec.decode_hello):
        with suppress(ProtocolError):
            decode(raw)
