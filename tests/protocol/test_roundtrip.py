"""Any message of either direction survives its way through JSON."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import ProtocolError
from batsched_py.processors.sets import ProcessorSet
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m

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
        if name not in ("further", *COUNTED, *codec.ONLY_OF_5)
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
