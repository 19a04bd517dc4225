"""JSON of the protocol to structs and back."""

from __future__ import annotations

import json

import pytest

from batsched_py.errors import ProtocolError
from batsched_py.protocol import message_json as codec
from batsched_py.units import LATEST_TIME


def wire(kind: str, data: object, timestamp: float = 1.5) -> str:
    event = {"timestamp": timestamp, "type": kind, "data": data}
    return json.dumps({"now": 2.0, "events": [event]})


JOB = {"id": "w0!a", "subtime": 1, "res": 2, "profile": "p", "walltime": 10}


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
    raw = json.dumps(JOB | further)
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


def begins(**changes: object) -> str:
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
        codec.decode_events(begins(**changes))


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
    job = JOB | {field: value}
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
