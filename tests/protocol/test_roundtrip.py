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


@st.composite
def nearly(draw: st.DrawFn, members: dict[str, st.SearchStrategy[str]]) -> str:
    """The JSON of an object with these members, or with one too few, too many, twice, or wrong."""
    pairs = [(name, draw(value)) for name, value in members.items()]
    change = draw(st.sampled_from(["none"] * 5 + ["drop", "add", "replace"]))
    at = draw(st.integers(0, len(pairs))) if pairs else 0
    if change in ("drop", "replace") and at < len(pairs):
        name, _ = pairs.pop(at)
        if change == "replace":
            pairs.insert(at, (name, json.dumps(draw(JSON))))
    elif change == "add":
        pairs.insert(at, (draw(st.sampled_from([*members, "x"])), json.dumps(draw(JSON))))
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in pairs) + "}"


def usual(kinds: dict[str, dict[str, st.SearchStrategy[str]]]) -> st.SearchStrategy[str]:
    """JSON that begins like a message of events of these kinds, whose data have these members."""
    times = (TIME | st.integers(-(2**54), 2**54)).map(json.dumps)
    events = [
        nearly({"timestamp": times, "type": st.just(json.dumps(kind)), "data": nearly(members)})
        for kind, members in kinds.items()
    ]
    listed = st.lists(st.one_of(events), max_size=3).map(lambda texts: f"[{','.join(texts)}]")
    return nearly({"now": times, "events": listed})


WRITTEN = {name: value.map(json.dumps) for name, value in FIELDS.items() if name != "job"}
WRITTEN["job"] = JOB.map(codec.job_to_json).map(json.dumps) | OBJECT.map(json.dumps)
WRITTEN["alloc"] = st.sampled_from(['"0-3 7"', '"2"', '"8"', '"3-1"', '"0,1"', '""', "5"])
USUAL_EVENTS = usual(
    {
        "JOB_SUBMITTED": {name: WRITTEN[name] for name in ("job_id", "job")},
        "JOB_COMPLETED": {
            name: WRITTEN[name] for name in ("job_id", "job_state", "return_code", "alloc")
        },
        "REQUESTED_CALL": {},
    }
)
USUAL_DECISIONS = usual(
    {
        "EXECUTE_JOB": {name: WRITTEN[name] for name in ("job_id", "alloc")},
        "CALL_ME_LATER": {"timestamp": WRITTEN["time"]},
    }
)


@given(USUAL_EVENTS, USUAL_DECISIONS)
def test_the_usual_is_read_as_member_by_member(events: str, decisions: str) -> None:
    for raw, form, kinds in (
        (events, codec._UsualEvents, codec.EVENTS),
        (decisions, codec._UsualDecisions, codec.DECISIONS),
    ):
        message = codec._usual(raw, form, 8)
        if message is not None:
            assert plain(message) == plain(codec._decode(raw, kinds, "of a test", 8))


def test_the_usual_is_read_in_one_step() -> None:
    job = m.JobDescription("w!1", 0.5, 2, "p", 10.0, extra={"user": "a:b"})
    alloc = ProcessorSet.interval(0, 2)
    told = {"timestamp": 1.5, "job_id": "w!1"}
    submitted = m.JobSubmitted(job=job, **told)
    completed = m.JobCompleted(job_state="SUCCESS", return_code=0, alloc=alloc, **told)
    events = m.Message(1.5, [submitted, completed, m.RequestedCall(timestamp=1.5)])
    call = m.CallMeLater(timestamp=1.5, time=2.0)
    decisions = m.Message(1.5, [m.ExecuteJob(alloc=alloc, **told), call])
    read = codec._usual(codec.encode_events(events), codec._UsualEvents, 8)
    assert plain(read) == plain(events)
    read = codec._usual(codec.encode_decisions(decisions), codec._UsualDecisions, 8)
    assert plain(read) == plain(decisions)


@given(JOB)
def test_jobs(job: m.JobDescription) -> None:
    raw = json.dumps(codec.job_to_json(job))
    assert plain(codec.job_from_json(json.loads(raw))) == plain(job)


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
