"""Converts the JSON of Batsim's protocol, version 4, to structs and back.

The codec knows the shape of messages, not what is allowed when: that is for the two partners
and for :mod:`batsched_py.protocol.referee`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from batsched_py.errors import ProtocolError, located
from batsched_py.files.readers import parse_json
from batsched_py.processors.sets import MOST_PROCESSORS, ProcessorSet, from_text, to_text
from batsched_py.protocol import messages as m
from batsched_py.support.json_values import is_integer, quote, whole
from batsched_py.support.old_names import hint_new_name
from batsched_py.units import LATEST_TIME, UP_TO_LATEST_TIME

MOST_BYTES = 2**29
"""Size of the largest message that is taken: of 3 million jobs submitted at one instant."""
MOST_EVENTS = 4_000_000
"""Events of the largest message that is taken."""

EVENTS: dict[str, type[m.Event]] = {
    kind.tag: kind
    for kind in (
        m.SimulationBegins,
        m.SimulationEnds,
        m.JobSubmitted,
        m.JobCompleted,
        m.JobKilled,
        m.RequestedCall,
        m.ResourceStateChanged,
        m.FromJobMsg,
        m.Notify,
        m.Query,
        m.Answer,
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
        m.SetResourceState,
        m.RegisterProfile,
        m.RegisterJob,
        m.ToJobMsg,
        m.ChangeJobState,
        m.Notify,
        m.Query,
        m.Answer,
    )
}

# Members of `data` that Batsim counts: a further one makes it abort.
_COUNTED: dict[type[m.Event], set[str]] = {
    m.RejectJob: {"job_id"},
    m.KillJob: {"job_ids"},
    m.CallMeLater: {"timestamp"},
    m.SetJobMetadata: {"job_id", "metadata"},
    m.SetResourceState: {"resources", "state"},
}
_JOB_FIELDS = ("id", "subtime", "res", "profile", "walltime")
"""Fields of a job that Batsim knows; other fields keep their form and order."""
_ENVELOPE = {"now", "events"}
NEVER_WRITTEN = {"waking", "withdrawn"}
"""Fields that are only for readers in this process."""
_BASE = {"timestamp", "further", *NEVER_WRITTEN}
ONLY_OF_5 = {"call_id", "last", "turned"}
"""Fields of events and decisions that version 4 does not have."""


def decode_events(raw: bytes | str, nb_resources: int = MOST_PROCESSORS) -> m.Message:
    """Read a message from Batsim, whose machines and storages have ids below ``nb_resources``.

    Unknown events become :class:`UnknownEvent`, unknown members are kept in ``further``. Raises
    :class:`ProtocolError` for anything that is not a message, and for numbers out of range.
    """
    return _decode(raw, EVENTS, "from Batsim", nb_resources)


def decode_decisions(raw: bytes | str, nb_resources: int = MOST_PROCESSORS) -> m.Message:
    """Read a scheduler's reply. Raises :class:`ProtocolError`, also for unknown decisions."""
    return _decode(raw, DECISIONS, "from the scheduler", nb_resources)


def encode_decisions(message: m.Message) -> bytes:
    """Write a reply as JSON: every number with all its digits, integers as integers."""
    return msgspec.json.encode(_content(message))


def encode_events(message: m.Message, *, exact: bool = False) -> bytes:
    """Write a message as Batsim does: fractions have six decimals, unless ``exact``."""
    content = _content(message)
    return msgspec.json.encode(content if exact else round_floats(content, "{:.6f}".format))


def job_from_json(job: dict[str, Any], where: str = "") -> m.JobDescription:
    """Read the JSON of a job; raises :class:`ProtocolError` for a missing or wrong field.

    The message begins with ``where``.
    """
    if not isinstance(job, dict):
        raise ProtocolError(f"{where}job is {quote(job)}, expected an object")
    extra, fields = dict(job), {}
    for name in _JOB_FIELDS:
        if name in extra:
            fields[name] = extra.pop(name)
    if fields.get("walltime") == -1:  # Batsim's value for no walltime; passed on unchanged
        extra["walltime"] = fields.pop("walltime")
    fields["extra"] = extra
    try:
        return msgspec.convert(fields, m.JobDescription)
    except msgspec.ValidationError as error:
        reason = str(error)  # that of a JobError names the job
        named = "" if reason.startswith("job ") else f"job {quote(job.get('id'))}: "
        raise ProtocolError(f"{where}{named}{reason}") from None


def job_to_json(job: m.JobDescription) -> dict[str, Any]:
    """Return the JSON of a job, with whole numbers as integers and further fields unchanged.

    ``user`` and ``estimate`` come last where they did not come with these.
    """
    fields = {
        "id": job.id,
        "subtime": whole(job.submit_time),
        "res": job.size,
        "profile": job.profile,
    }
    if job.walltime is not None:
        fields["walltime"] = whole(job.walltime)
    fields |= job.extra
    user = job.extra.get("user")
    if job.user is not None and (user is None or str(user) != job.user):
        fields["user"] = job.user
    if job.estimate is not None:
        fields["estimate"] = job.estimate
    return fields


_WRITERS: dict[str, Callable[[Any], Any]] = {
    "alloc": to_text,
    "resources": to_text,
    "compute_resources": list,
    "job": job_to_json,
}
"""Functions that write the members of ``data`` that are not JSON."""
_MEMBERS = {
    kind: {
        name: _WRITERS.get(name) for name in kind.__struct_fields__ if name not in _BASE | ONLY_OF_5
    }
    for kind in (*EVENTS.values(), *DECISIONS.values())
}
"""The members of ``data`` in order, and what writes them."""


# Reading -------------------------------------------------------------------------------------


def read_message(
    raw: bytes | str,
    source: str,
    protocol: str,
    read_event: Callable[[dict[str, Any]], m.Event],
    **defaults: float,
) -> m.Message:
    """Read the JSON of a message, each event of it by ``read_event``.

    ``source`` and ``protocol`` are for errors; ``defaults`` are values of missing members. Raises
    :class:`ProtocolError`.
    """
    where = f"message {source} is not one of {protocol}"
    content = parse_json(raw, Any, where, ProtocolError, unique_names=True)
    if not isinstance(content, dict):
        raise ProtocolError(f"{where}: {quote(content)}, expected an object with now and events")
    now = read_seconds(content, "now", f"message {source}", **defaults)
    events = content.get("events")
    if not isinstance(events, list) or len(events) > MOST_EVENTS:
        count = f" of {len(events)}" if isinstance(events, list) else ""
        raise ProtocolError(
            f"message {source}: events is {quote(events)}{count}, expected an array of at most "
            f"{MOST_EVENTS}"
        )
    message = m.Message(now, [])
    if len(content) > len(_ENVELOPE):
        message.further = {name: content[name] for name in content if name not in _ENVELOPE}
    try:
        for event in events:
            if not isinstance(event, dict):
                raise ProtocolError(f"an event {source} is {quote(event)}, expected an object")
            message.events.append(read_event(event))
    except ProtocolError as error:
        place = f"event {len(message.events) + 1} of {len(events)}, at {now:f} s"
        raise ProtocolError(f"{error} ({place})") from None
    return message


def read_type(event: dict[str, Any], member: str, source: str) -> str:
    """Return the type of an event, stored in ``member``; raises :class:`ProtocolError`."""
    name = event.get(member)
    if not isinstance(name, str):
        raise ProtocolError(f"an event {source}: {member} is {quote(name)}, expected a text")
    return name


def _decode(
    raw: bytes | str, kinds: dict[str, type[m.Event]], source: str, nb_resources: int
) -> m.Message:
    read_event = partial(_read_event, kinds=kinds, source=source, nb_resources=nb_resources)
    return read_message(raw, source, "the protocol", read_event)


def _read_event(
    event: dict[str, Any], kinds: dict[str, type[m.Event]], source: str, nb_resources: int
) -> m.Event:
    name = read_type(event, "type", source)
    where = f"{name} {source}"
    timestamp = read_seconds(event, "timestamp", where)
    if "data" not in event:
        raise ProtocolError(f"{where}: there is no member data")
    data = event["data"]
    kind = kinds.get(name)
    if kind is None:
        if kinds is DECISIONS:
            raise ProtocolError(
                f"{where}: there is no such decision{hint_new_name(name)}; expected one of "
                f"{', '.join(kinds)}"
            )
        return m.UnknownEvent(timestamp=timestamp, type=name, data=data)
    if not isinstance(data, dict):
        raise ProtocolError(f"{where}: data is {quote(data)}, expected an object")
    fields = _fields(kind, dict(data), where, nb_resources)
    fields["timestamp"] = timestamp
    try:
        read = msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        reason = str(error).replace("$.time`", "$.timestamp`")  # its name on the wire
        hint = next(filter(None, map(hint_new_name, data)), "")
        raise ProtocolError(f"{where}: {reason}{hint}") from None
    if kind is m.SimulationBegins:
        check_resources(read, where)  # type: ignore[arg-type]
    return read


def _fields(
    kind: type[m.Event], data: dict[str, Any], where: str, nb_resources: int
) -> dict[str, Any]:
    """Turn the members of ``data`` into the fields of the struct."""
    if kind is m.Notify:
        return {"type": data.pop("type", None), "details": data}
    if kind is m.Answer:
        return {"answers": data}
    if kind is m.ExecuteJob and len(data) > 3:
        raise ProtocolError(f"{where}: data has {len(data)} members, expected at most 3")
    counted = _COUNTED.get(kind)
    if counted is not None and data.keys() != counted:
        raise ProtocolError(
            f"{where}: data has the members {sorted(data)}, expected exactly {sorted(counted)}"
        )
    if kind is m.CallMeLater:
        return {"time": data["timestamp"]}
    members = _MEMBERS[kind]
    if not data.keys() <= members.keys():
        data["further"] = {name: data.pop(name) for name in list(data) if name not in members}
    for name in ("alloc", "resources"):
        if name in data:
            data[name] = read_processors(data[name], f"{where}: {name}", nb_resources)
    if "job" in data:
        data["job"] = job_from_json(data["job"], f"{where}: ")
    return data


def read_processors(text: Any, what: str, nb_resources: int) -> ProcessorSet:
    """Return a set of processors; raises :class:`ProtocolError`, which begins with ``what``."""
    with located(what, ProtocolError):
        return from_text(text, nb_resources)


def check_resources(begins: m.SimulationBegins, where: str) -> None:
    """Raise :class:`ProtocolError` unless the number of listed resources is the announced one."""
    nb_machines, nb_storages = begins.nb_compute_resources, begins.nb_storage_resources
    if begins.nb_resources != nb_machines + nb_storages:
        raise ProtocolError(
            f"{where}: {begins.nb_resources} resources, expected as many as the {nb_machines} that "
            f"compute and the {nb_storages} storages"
        )
    for name, listed, first, count in (
        ("compute_resources", begins.compute_resources, 0, nb_machines),
        ("storage_resources", begins.storage_resources, nb_machines, nb_storages),
    ):
        ids = [resource.get("id") for resource in listed]
        if ids != list(range(first, first + count)) or not all(map(is_integer, ids)):
            raise ProtocolError(
                f"{where}: {name} has {len(ids)} resources with the ids {quote(ids)}: expected "
                f"{count}, with ids from {first} on"
            )


def read_seconds(content: dict[str, Any], name: str, where: str, **defaults: float) -> float:
    """Return a member of a message that is a time (seconds); raises :class:`ProtocolError`."""
    value = content.get(name, defaults.get(name))
    if (type(value) is float or type(value) is int) and abs(value) <= LATEST_TIME:
        return float(value)
    raise ProtocolError(
        f"{where}: {name} is {quote(value)}, expected a number: {UP_TO_LATEST_TIME}"
    )


# Writing -------------------------------------------------------------------------------------


def _content(message: m.Message) -> dict[str, Any]:
    events = [
        {"timestamp": event.timestamp, "type": event.tag or event.type, "data": _data(event)}
        for event in message.events
    ]
    content = {"now": message.now, "events": events}
    return content | message.further if message.further else content


def _data(event: m.Event) -> Any:
    kind = type(event)
    if kind is m.UnknownEvent:
        return event.data  # type: ignore[attr-defined]
    if kind is m.Notify:
        return {"type": event.type, **event.details}  # type: ignore[attr-defined]
    if kind is m.Answer:
        return event.answers  # type: ignore[attr-defined]
    if kind is m.CallMeLater:
        return {"timestamp": whole(event.time)}  # type: ignore[attr-defined]
    data = {}
    for name, write in _MEMBERS[kind].items():
        value = getattr(event, name)
        if value is not None:
            data[name] = value if write is None else write(value)
    return data | event.further if event.further else data


def round_floats(value: Any, write: Callable[[float], str]) -> Any:
    """Copy a value of JSON, with ``write`` applied to every float."""
    kind = type(value)
    if kind is str or kind is int:  # most of all
        return value
    if isinstance(value, float):
        return msgspec.Raw(write(value).encode())
    if isinstance(value, dict):
        return {name: round_floats(item, write) for name, item in value.items()}
    if isinstance(value, list):
        return [round_floats(item, write) for item in value]
    return value
