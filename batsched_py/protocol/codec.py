"""JSON of Batsim's protocol, version 4, to structs and back.

The codec knows the shape of messages, not what is allowed when: that is for the two partners. A
codec for another version of the protocol would stand beside this one, with the same functions.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from batsched_py.errors import ProtocolError
from batsched_py.processors import from_text, to_text
from batsched_py.protocol import messages as m
from batsched_py.text import whole

EVENTS: dict[str, type[m.Event]] = {
    kind.tag: kind
    for kind in (
        m.SimulationBegins,
        m.SimulationEnds,
        m.JobSubmitted,
        m.JobCompleted,
        m.JobKilled,
        m.RequestedCall,
        m.Notify,
    )
}
DECISIONS: dict[str, type[m.Event]] = {
    kind.tag: kind
    for kind in (
        m.ExecuteJob,
        m.RejectJob,
        m.KillJob,
        m.CallMeLater,
        m.SetJobMetadata,
        m.RegisterProfile,
        m.RegisterJob,
        m.Notify,
    )
}

# Members of `data` that Batsim counts: a further one makes it abort.
_STRICT = {
    m.RejectJob: {"job_id"},
    m.KillJob: {"job_ids"},
    m.CallMeLater: {"time"},
    m.SetJobMetadata: {"job_id", "metadata"},
}
_JOB_FIELDS = ("id", "subtime", "res", "profile", "walltime")


class _WireEvent(msgspec.Struct):
    timestamp: float
    type: str
    data: msgspec.Raw


class _WireMessage(msgspec.Struct):
    now: float
    events: list[_WireEvent]


_decoder = msgspec.json.Decoder(_WireMessage)


def decode_events(raw: bytes | str) -> m.Message:
    """Read a message from Batsim; unknown events become :class:`UnknownEvent`.

    Raises :class:`ProtocolError` for what is no message.
    """
    return _decode(raw, EVENTS, "from Batsim")


def decode_decisions(raw: bytes | str) -> m.Message:
    """Read a scheduler's reply. Raises :class:`ProtocolError`, also for unknown decisions."""
    return _decode(raw, DECISIONS, "from the scheduler")


def encode(message: m.Message) -> bytes:
    """Write a message of either direction as JSON."""
    events = [
        {"timestamp": event.timestamp, "type": _tag(event), "data": _data(event)}
        for event in message.events
    ]
    return msgspec.json.encode({"now": message.now, "events": events})


def job_from_json(job: dict[str, Any]) -> m.JobDescription:
    """Read the JSON of a job; raises :class:`ProtocolError` if a field is missing or wrong."""
    fields = {name: job[name] for name in _JOB_FIELDS if name in job}
    fields["extra"] = {name: value for name, value in job.items() if name not in _JOB_FIELDS}
    if fields.get("walltime") == -1:  # Batsim's way to say: none
        fields["walltime"] = None
    return _convert(fields, m.JobDescription, f"job {job.get('id')!r}")


def job_to_json(job: m.JobDescription) -> dict[str, Any]:
    """Give the JSON of a job, with integral numbers as integers."""
    fields = {
        "id": job.id,
        "subtime": whole(job.subtime),
        "res": job.res,
        "profile": job.profile,
    }
    if job.walltime is not None:
        fields["walltime"] = whole(job.walltime)
    return fields | job.extra


def _decode(raw: bytes | str, kinds: dict[str, type[m.Event]], source: str) -> m.Message:
    try:
        wire = _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProtocolError(f"message {source} is not one of the protocol: {error}") from None
    return m.Message(wire.now, [_event(event, kinds, source) for event in wire.events])


def _event(wire: _WireEvent, kinds: dict[str, type[m.Event]], source: str) -> m.Event:
    data: Any = msgspec.json.decode(wire.data)
    kind = kinds.get(wire.type)
    if kind is None:
        if kinds is DECISIONS:
            raise ProtocolError(
                f"{wire.type!r} {source} is not supported: expected one of {', '.join(kinds)}"
            )
        return m.UnknownEvent(timestamp=wire.timestamp, type=wire.type, data=data)
    if not isinstance(data, dict):
        raise ProtocolError(f"{wire.type} {source}: data is {data!r}, expected an object")
    fields = dict(data)
    if kind is m.ExecuteJob and len(fields) > 3:
        raise ProtocolError(f"EXECUTE_JOB: data has {len(fields)} members, expected at most 3")
    if kind is m.Notify:
        fields = {"type": fields.pop("type", None), "details": fields}
    if kind is m.CallMeLater and "timestamp" in fields:
        fields["time"] = fields.pop("timestamp")
    if strict := _STRICT.get(kind):
        _check_members(wire.type, set(fields), strict)
    for name, read in (("alloc", from_text), ("job", job_from_json)):
        if name in fields:
            fields[name] = read(fields[name])
    return _convert({**fields, "timestamp": wire.timestamp}, kind, f"{wire.type} {source}")


def _check_members(kind: str, seen: set[str], expected: set[str]) -> None:
    if seen != expected:
        raise ProtocolError(
            f"{kind}: data has the members {sorted(seen)}, expected exactly {sorted(expected)}"
        )


_T = TypeVar("_T")


def _convert(fields: dict[str, Any], kind: type[_T], what: str) -> _T:
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"{what}: {error}") from None


def _tag(event: m.Event) -> str:
    return event.type if isinstance(event, m.UnknownEvent) else event.tag


def _data(event: m.Event) -> Any:
    if isinstance(event, m.UnknownEvent):
        return event.data
    if isinstance(event, m.Notify):
        return {"type": event.type, **event.details}
    if isinstance(event, m.CallMeLater):
        return {"timestamp": whole(event.time)}
    data = {
        name: value
        for name in event.__struct_fields__
        if name != "timestamp" and (value := getattr(event, name)) is not None
    }
    if "alloc" in data:
        data["alloc"] = to_text(data["alloc"])
    if "job" in data:
        data["job"] = job_to_json(data["job"])
    return data
