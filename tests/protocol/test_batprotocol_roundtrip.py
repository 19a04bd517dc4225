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
NAMES = st.dictionaries(NAME, NAME, max_size=2)


def profile(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(kind), **fields})


TOTALS = {"cpu": st.floats(1, 1e15).map(round), "com": TIME}
PROFILE = st.one_of(
    st.builds(lambda delay, free: {**delay, **free}, profile("delay", delay=POSITIVE), FREE),
    profile("parallel_homogeneous", **TOTALS),
    profile("parallel_homogeneous_total", **TOTALS),
    profile("parallel", cpu=st.tuples(TIME, TIME).map(list), com=st.just([0.0] * 4)),
    profile("composed", repeat=st.integers(1, 5), seq=st.lists(NAME, min_size=1, max_size=3)),
    st.sampled_from(["smpi", "usage_trace"]).map(lambda kind: {"type": kind, "trace": "a.txt"}),
    st.just({"type": "data_staging", "nb_bytes": 5, "from": "a", "to": "b"}),
)
PROGRESS = st.recursive(
    st.fixed_dictionaries({"profile_name": NAME, "progress": st.sampled_from([0.0, 0.125, 1.0])}),
    lambda inner: st.fixed_dictionaries(
        {
            "profile_name": NAME,
            "current_repetition": st.integers(0, 9),
            "current_task_index": st.integers(0, 9),
            "current_task": inner,
        }
    ),
    max_leaves=3,
)
HOST = st.fixed_dictionaries(
    {
        "name": NAME,
        "state": st.sampled_from(["idle", "sleeping"]),
        "properties": NAMES,
        "zone_properties": NAMES,
    }
)
WHOLE_MILLISECONDS = st.integers(1, 10**12).map(lambda count: count / 1000)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "job_id": ID,
    "job_ids": st.lists(ID, max_size=2),
    "job_state": NAME,
    "return_code": st.integers(-5, 255),
    "job_progress": st.dictionaries(ID, PROGRESS, max_size=2),
    "call_id": NAME,
    "probe_id": NAME,
    "last": st.booleans(),
    "turned": st.booleans(),
    "alloc": SET,
    "resources": SET,
    "state": st.integers(0, 9).map(str),
    "time": WHOLE_MILLISECONDS,
    "period": WHOLE_MILLISECONDS,
    "nb_periods": st.none() | st.integers(1, 9),
    "workload_name": st.sampled_from(["w0", "dyn"]),
    "profile_name": NAME,
    "profile": PROFILE,
    "name": NAME,
    "version": NAME,
    "commit": NAME,
    "protocol_version": NAME,
}


def events(
    kind: type[m.Event], names: str = "", **others: st.SearchStrategy[Any]
) -> st.SearchStrategy[m.Event]:
    """Events of a kind with these fields."""
    fields = {name: FIELDS[name] for name in names.split()}
    return st.builds(kind, timestamp=TIME, **fields, **others)


@st.composite
def of_a_job(draw: st.DrawFn, kind: type[m.Event]) -> m.Event:
    """A submission or a registration, which takes place when it is said."""
    job_id, now = draw(ID), draw(TIME)
    extra = draw(FREE | st.just({"extra_data": "no object"}) | st.just({"user": 3}))
    size, walltime = draw(st.integers(0, 2**32 - 1)), draw(st.none() | POSITIVE)
    job = m.JobDescription(job_id, now, size, draw(NAME), walltime, extra=extra)
    more = {"profile": draw(st.none() | PROFILE)} if kind is m.JobSubmitted else {}
    return kind(timestamp=now, job_id=job_id, job=job, **more)


@st.composite
def begins(draw: st.DrawFn) -> m.SimulationBegins:
    hosts = draw(st.lists(HOST, max_size=3))
    profiles = st.dictionaries(NAME, PROFILE, min_size=1, max_size=2)
    return m.SimulationBegins(
        timestamp=0.0,
        nb_resources=len(hosts),
        nb_compute_resources=len(hosts),
        config={},
        compute_resources=[{"id": at, **host} for at, host in enumerate(hosts)],
        workloads=draw(NAMES),
        profiles=draw(st.dictionaries(st.sampled_from(["w0", "w1"]), profiles)),
        further={"batsim_version": draw(NAME)},
    )


LAST = ["no_more_static_job_to_submit", "no_more_external_event_to_occur"]
PLACES = st.lists(st.integers(0, 9), min_size=1, max_size=3)
EVENTS = st.one_of(
    begins(),
    of_a_job(m.JobSubmitted),
    events(m.SimulationEnds),
    events(m.JobCompleted, "job_id job_state return_code", alloc=st.just(ProcessorSet())),
    events(m.JobKilled, "job_ids job_progress"),
    events(m.RequestedCall, "call_id last"),
    events(m.ResourceStateChanged, "resources state turned"),
    events(m.Notify, type=st.just("generic"), details=st.builds(dict, id=NAME, data=NAME)),
    events(m.Notify, type=st.sampled_from(LAST)),
    events(m.ProbeData, "probe_id resources", data=TIME | st.lists(TIME, max_size=3)),
    events(m.UnknownEvent, type=NAME.map(lambda name: f"New{name}"), data=OBJECT),
)
DECISIONS = st.one_of(
    of_a_job(m.RegisterJob),
    events(
        m.Hello,
        "name version commit protocol_version",
        features=st.fixed_dictionaries(dict.fromkeys(codec.decisions.f.FEATURES, st.booleans())),
    ),
    events(
        m.ExecuteJob,
        "job_id alloc",
        mapping=st.none() | PLACES.map(lambda places: dict(zip("012", places, strict=False))),
        storage_mapping=st.none() | st.dictionaries(NAME, st.integers(0, 9), min_size=1),
    ),
    events(m.RejectJob, "job_id"),
    events(m.KillJob, "job_ids"),
    events(m.RegisterProfile, "workload_name profile_name profile"),
    events(m.Notify, type=st.just("registration_finished")),
    events(m.CallMeLater, "time call_id"),
    events(m.CallPeriodically, "call_id period nb_periods"),
    events(m.StopCall, "call_id"),
    events(m.ForceSimulationStop),
    events(m.SetResourceState, "resources state turned"),
    events(
        m.CreateProbe,
        "probe_id resources period nb_periods",
        aggregation=st.sampled_from(["", "Sum", "ArithmeticMean"]),
    ),
    events(m.StopProbe, "probe_id"),
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


def decision(name: str, content: object, **more: object) -> str:
    event = {"event_type": name, "event": content, **more}
    return json.dumps({"now": 1.0, "events": [event]})


DELAY = {"id": "dyn!p", "profile_type": "DelayProfile", "profile": {"delay": 5, "cpu": 1}}
IN_HOURS = {"when_type": "OneShot", "when": {"time": 5, "time_unit": "Hour"}}
ALLOCATION = {"host_allocation": "0"}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (decision("CallMeLater", {}), "'CallMeLaterEvent'"),
        (decision("RejectJobEvent", {}, more=1), r"the members \['more'\]"),
        (decision("CallMeLaterEvent", {"call_me_later_id": "c", **IN_HOURS}), "'Hour'"),
        (
            decision("ExecuteJobEvent", {"job_id": "w0!1", "allocation": ALLOCATION}),
            "no executor_placement",
        ),
        (decision("RegisterProfileEvent", {"profile": DELAY}), r"has the members \['cpu'\]"),
    ],
)
def test_a_reply_is_read_as_strictly_as_batsim_reads(raw: str, reason: str) -> None:
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
