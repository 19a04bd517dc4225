"""JSON of the protocol to structs and back: any message of either direction, and what is none."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import ProtocolError
from batsched_py.processors.sets import ProcessorSet
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.units import LATEST_TIME

TEXT = st.text(max_size=8)
TIME = st.integers(0, 10**15).map(lambda micros: micros / 1e6)
SCALAR = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TIME | TEXT
JSON = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
FURTHER = st.none() | st.dictionaries(st.just("x_further"), JSON, min_size=1)
SET = st.sets(st.integers(0, 69), min_size=1).map(ProcessorSet.of)
FREE = st.dictionaries(
    TEXT.map(lambda name: f"free_{name}") | st.sampled_from(["user", "estimate"]), JSON, max_size=3
)
LIMITED = {"walltime": st.none() | TIME.filter(lambda t: t > 0), "extra": FREE}
SAID_TO_BE_NONE = {"walltime": st.none(), "extra": st.just({"walltime": -1})}
JOB = st.one_of(
    st.builds(
        m.JobDescription,
        id=TEXT,
        submit_time=TIME,
        size=st.integers(0, 10**6),
        profile=TEXT,
        **limits,
    )
    for limits in (LIMITED, SAID_TO_BE_NONE)
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "timestamp": TIME,
    "time": TIME,
    "alloc": SET,
    "resources": SET,
    "job": JOB,
    "job_id": TEXT,
    "job_ids": st.lists(TEXT, max_size=3),
    "job_progress": OBJECT,
    "type": TEXT,
    "msg": TEXT,
    "state": TEXT,
    "job_state": TEXT,
    "kill_reason": st.none() | TEXT,
    "metadata": TEXT,
    "profile": OBJECT,
    "profile_name": TEXT,
    "workload_name": TEXT,
    "return_code": st.integers(-5, 5),
    "requests": OBJECT,
    "answers": OBJECT,
    "details": OBJECT.map(lambda details: {k: v for k, v in details.items() if k != "type"}),
    "mapping": st.none() | st.dictionaries(TEXT, st.integers() | TEXT, max_size=2),
    "storage_mapping": st.none(),
    "additional_io_job": st.none(),
    "config": OBJECT,
    "workloads": st.dictionaries(TEXT, TEXT, max_size=2),
    "profiles": st.dictionaries(TEXT, st.dictionaries(TEXT, OBJECT, max_size=2), max_size=2),
    "allow_compute_sharing": st.booleans(),
    "allow_storage_sharing": st.booleans(),
}
WITHOUT_FURTHER = {  # Batsim counts their members, or all further members have a place
    m.RejectJob,
    m.KillJob,
    m.CallMeLater,
    m.SetJobMetadata,
    m.SetResourceState,
    m.Notify,
    m.Answer,
    m.ExecuteJob,
}


def fields(kind: type[m.Event]) -> dict[str, st.SearchStrategy[Any]]:
    """What the fields of a kind may be: every one of the codec is here, or this fails."""
    names = [
        name
        for name in kind.__struct_fields__
        if name not in ("further", *codec.NEVER_WRITTEN, *COUNTED, *codec.ONLY_OF_5)
    ]
    return {name: FIELDS[name] for name in names}


COUNTED = [f"{kind}_resources" for kind in ("nb", "nb_compute", "nb_storage", "compute", "storage")]


def begins(machines: list[Any], storages: list[Any], **others: Any) -> m.SimulationBegins:
    """A begin with as many resources as it announces."""
    listed = [{**resource, "id": at} for at, resource in enumerate(machines + storages)]
    return m.SimulationBegins(
        nb_resources=len(listed),
        nb_compute_resources=len(machines),
        nb_storage_resources=len(storages),
        compute_resources=listed[: len(machines)],
        storage_resources=listed[len(machines) :],
        **others,
    )


def events(kinds: dict[str, type[m.Event]]) -> st.SearchStrategy[m.Event]:
    """Any event of the given kinds."""
    resources = st.lists(OBJECT, max_size=2)
    return st.one_of(
        st.builds(begins, resources, resources, further=FURTHER, **fields(kind))
        if kind is m.SimulationBegins
        else st.builds(
            kind, further=st.none() if kind in WITHOUT_FURTHER else FURTHER, **fields(kind)
        )
        for kind in kinds.values()
    )


UNKNOWN = st.builds(
    m.UnknownEvent, timestamp=TIME, type=TEXT.map(lambda text: f"NEW_{text}"), data=JSON
)


def messages(event: st.SearchStrategy[m.Event]) -> st.SearchStrategy[m.Message]:
    return st.builds(m.Message, TIME, st.lists(event, max_size=4), FURTHER)


def plain(value: Any) -> Any:
    """Return structs as dictionaries, with their types: some are not comparable by value."""
    if isinstance(value, msgspec.Struct):
        fields = {name: plain(getattr(value, name)) for name in value.__struct_fields__}
        return {"": type(value).__name__, **fields}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


@given(messages(events(codec.EVENTS) | UNKNOWN))
def test_events(message: m.Message) -> None:
    raw = codec.encode_events(message)
    assert plain(codec.decode_events(raw)) == plain(message)
    assert codec.encode_events(codec.decode_events(raw)) == raw


@given(messages(events(codec.DECISIONS)))
def test_decisions(message: m.Message) -> None:
    raw = codec.encode_decisions(message)
    assert plain(codec.decode_decisions(raw)) == plain(message)


@given(st.floats(0, 1e9), st.integers(-(2**53), 2**53))
def test_six_decimals_and_integers_as_they_are(number: float, integer: int) -> None:
    event = m.UnknownEvent(timestamp=0.0, type="X", data={"f": [number], "i": integer})
    raw = codec.encode_events(m.Message(number, [event])).decode()
    assert raw.startswith(f'{{"now":{number:.6f},')
    assert f'"f":[{number:.6f}],"i":{integer}}}' in raw
    exact = json.loads(codec.encode_events(m.Message(number, [event]), exact=True))
    assert exact["now"] == number


@given(st.binary(max_size=60) | JSON.map(json.dumps).map(str.encode))
def test_anything_else_is_refused_in_words(raw: bytes) -> None:
    for decode in (codec.decode_events, codec.decode_decisions):
        try:
            decode(raw)
        except ProtocolError as error:
            assert str(error)  # noqa: PT017 - that it is no other error is the test


# By hand -----------------------------------------------------------------------------------------


def wire(kind: str, data: object, timestamp: float = 1.5) -> str:
    event = {"timestamp": timestamp, "type": kind, "data": data}
    return json.dumps({"now": 2.0, "events": [event]})


A_JOB = {"id": "w0!a", "subtime": 1, "res": 2, "profile": "p", "walltime": 10}


@pytest.mark.parametrize(
    ("further", "user", "estimate"),
    [
        ({"user": "anna", "foo": 1, "estimate": 2.5}, "anna", 2.5),
        ({"user": 0}, "0", None),  # a user like others
        ({"user": None, "estimate": None}, None, None),
        ({"user": "", "estimate": "soon"}, "", None),  # means something else
        ({}, None, None),
    ],
)
def test_who_a_job_is_of_and_how_long_it_may_take(
    further: dict[str, object], user: str | None, estimate: float | None
) -> None:
    """Both are read, and go out again in the form and at the place in which they came."""
    raw = json.dumps(A_JOB | further)
    job = codec.job_from_json(json.loads(raw))
    assert (job.user, job.estimate) == (user, estimate)
    assert job.expected_run_time == (10 if estimate is None else estimate)
    assert json.dumps(codec.job_to_json(job)) == raw


NO_CALLS: list[dict[str, int]] = [{"time": 5}, {"time": 5, "timestamp": 6}, {}]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("", "the protocol"),
        ("[]", "the protocol"),
        (wire("REJECT_JOB", {"job_id": "w0!a", "why": "x"}), "exactly"),
        (wire("EXECUTE_JOB", []), "object"),
        (wire("KILL_JOB", {"job_ids": ["a"], "x": 1}), "exactly"),
        *((wire("CALL_ME_LATER", data), r"exactly \['timestamp'\]") for data in NO_CALLS),
    ],
)
def test_refuses_and_says_what(raw: str, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        codec.decode_decisions(raw)


def begins_with(**changes: object) -> str:
    """A simulation with three machines and a storage begins, but for ``changes``."""
    data = {
        "nb_resources": 4,
        "nb_compute_resources": 3,
        "nb_storage_resources": 1,
        "config": {},
        "compute_resources": [{"id": 0}, {"id": 1}, {"id": 2}],
        "storage_resources": [{"id": 3}],
    }
    return wire("SIMULATION_BEGINS", data | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nb_compute_resources": 3_000_000_000}, r"<= 10000000 - at `\$.nb_compute_resources`"),
        ({"nb_compute_resources": -1}, ">= 0"),
        ({"nb_resources": 5}, "5 resources"),
        ({"compute_resources": [{"id": 0}, {"id": 1}]}, "has 2 resources"),
        ({"compute_resources": [{"id": 0}, {"id": 2}, {"id": 1}]}, "ids .0, 2, 1."),
        ({"compute_resources": [{"id": 0}, {"id": True}, {"id": 2}]}, "ids from 0"),
        ({"compute_resources": 3}, "compute_resources"),
        ({"storage_resources": [{"id": 2}]}, "ids from 3"),
        ({"profiles": {"w0": {"p": 5}}}, "profiles"),
    ],
)
def test_sizes_are_checked_before_they_are_used(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        codec.decode_events(begins_with(**changes))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("res", -1),
        ("walltime", -0.5),
        ("subtime", 2**53 + 2),
        ("subtime", 10**400),
    ],
)
def test_what_no_job_has(field: str, value: object) -> None:
    job = A_JOB | {field: value}
    for decode, kind in (
        (codec.decode_events, "JOB_SUBMITTED"),
        (codec.decode_decisions, "REGISTER_JOB"),
    ):
        with pytest.raises(ProtocolError, match=rf"{kind}.*{field}|{kind}.*not one of|308"):
            decode(wire(kind, {"job_id": "w0!a", "job": job}))


@pytest.mark.parametrize("time", ["10000000000.1", "1" * 5000, "true", "1e999"])
def test_times_that_a_float_cannot_tell_apart(time: str) -> None:
    for decode in codec.decode_events, codec.decode_decisions:
        with pytest.raises(ProtocolError, match=r"now is|out of|308"):
            decode(f'{{"now": {time}, "events": []}}')
        assert decode('{"now": 10000000000, "events": []}').now == LATEST_TIME
    with pytest.raises(ProtocolError, match=r"timestamp|out of|protocol"):
        codec.decode_decisions(
            wire("CALL_ME_LATER", {"timestamp": 1.5}).replace("1.5}", f"{time}}}")
        )


@pytest.mark.parametrize(
    "raw",
    [
        '{"now": 1, "now": 2, "events": []}',
        '{"now": 1, "n\\u006fw": 2, "events": []}',
        '{"now": 1, "events": [], "text": "\\u003a", "a": 1, "a": 2}',
        '{"now": 1, "events": [], "text": "\\":\\\\", "a": {"b": [{"c": 1, "c": {}}]}}',
    ],
)
def test_no_name_comes_twice(raw: str) -> None:
    for decode in codec.decode_events, codec.decode_decisions:
        with pytest.raises(ProtocolError, match="comes twice"):
            decode(raw)


@pytest.mark.parametrize("text", ["a:b", '\\":', '{"a":1,"a":2}'])
def test_texts_are_not_taken_for_names(text: str) -> None:
    raw = json.dumps({"now": 1, "events": [], text: {text: [text]}})
    for decode in codec.decode_events, codec.decode_decisions:
        assert decode(raw).further == {text: {text: [text]}}


def test_the_events_of_a_message_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MOST_EVENTS", 2)
    call = '{"timestamp": 1, "type": "REQUESTED_CALL", "data": {}}'
    raw = '{"now": 1, "events": [%s]}'
    assert len(codec.decode_events(raw % ",".join([call] * 2)).events) == 2
    with pytest.raises(ProtocolError, match="at most 2"):
        codec.decode_events(raw % ",".join([call] * 3))
