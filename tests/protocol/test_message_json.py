"""JSON of the protocol to structs and back."""

from __future__ import annotations

import json
from math import inf

import pytest

from batsched_py.errors import ProtocolError
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m


def wire(kind: str, data: object, timestamp: float = 1.5) -> str:
    event = {"timestamp": timestamp, "type": kind, "data": data}
    return json.dumps({"now": 2.0, "events": [event]})


JOB = {"id": "w0!a", "subtime": 1, "res": 2, "profile": "p", "walltime": 10}


@pytest.mark.parametrize(
    ("further", "user", "estimate"),
    [
        ({"user": "anna", "foo": 1, "estimate": 2.5}, "anna", 2.5),
        ({"estimate": 2**60 + 1, "user": 12}, "12", 2**60 + 1),
        ({"user": 0}, "0", None),  # a user like others
        ({"user": None, "estimate": None}, None, None),
        ({"user": "", "estimate": "soon"}, "", None),  # means something else
        ({"user": "None", "estimate": True}, "None", None),
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


@pytest.mark.parametrize(
    ("extra", "sent"),
    [
        ({"foo": 1}, {"foo": 1, "user": "u", "estimate": 5.0}),
        ({"user": None, "foo": 1}, {"user": "u", "foo": 1, "estimate": 5.0}),
        ({"estimate": 7, "user": 8}, {"estimate": 5.0, "user": "u"}),
    ],
)
def test_what_a_job_was_given_goes_before_its_further_fields(
    extra: dict[str, object], sent: dict[str, object]
) -> None:
    job = m.JobDescription("w0!a", 1, 2, "p", 10, estimate=5.0, user="u", extra=extra)
    assert json.dumps(codec.job_to_json(job)) == json.dumps(JOB | sent)


NO_CALLS: list[dict[str, int]] = [{"time": 5}, {"time": 5, "timestamp": 6}, {}]


def test_nothing_known_is_no_end() -> None:
    assert m.JobDescription("w0!a", 1, 2, "p").expected_run_time == inf


def test_call_me_later_is_called_timestamp_on_the_wire() -> None:
    (event,) = codec.decode_decisions(wire("CALL_ME_LATER", {"timestamp": 7})).events
    assert event.time == 7
    sent = json.loads(codec.encode_decisions(m.Message(2.0, [event])))
    assert sent["events"][0]["data"] == {"timestamp": 7}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("", "not one of the protocol"),
        ("[]", "not one of the protocol"),
        ('{"now": 1}', "events"),
        ('{"events": []}', "now"),
        ('{"now": "1", "events": []}', "now"),
        (wire("NO_SUCH_DECISION", {}), "NO_SUCH_DECISION"),
        (wire("REJECT_JOB", {"job_id": "w0!a", "why": "x"}), "exactly"),
        (wire("KILL_JOB", {"job_ids": ["a"], "x": 1}), "exactly"),
        (wire("EXECUTE_JOB", {"job_id": "w0!a", "alloc": "0,1"}), "intervals"),
        (wire("EXECUTE_JOB", {"job_id": "w0!a", "alloc": [0]}), "intervals"),
        (wire("EXECUTE_JOB", []), "object"),
        (wire("REGISTER_JOB", {"job_id": "d!a", "job": {"id": "d!a"}}), "subtime"),
        *((wire("CALL_ME_LATER", data), r"exactly \['timestamp'\]") for data in NO_CALLS),
    ],
)
def test_refuses_and_says_what(raw: str, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        codec.decode_decisions(raw)
