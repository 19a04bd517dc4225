"""Converts the JSON of Batsim 5's protocol, batprotocol, to structs and back.

The structs are those of version 4, so only the codecs know two protocols. This codec checks the
shape of messages, not what is allowed when. Batsim 5 also has a binary form; this scheduler asks
for JSON.

Source: the protocol as observed from Batsim 5.0.0-rc2.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec

from batsched_py.errors import ProtocolError, WorkloadError, located
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_decisions as decisions
from batsched_py.protocol.batsim5 import batprotocol_events as events
from batsched_py.protocol.message_json import (
    check_resources,
    read_message,
    read_seconds,
    read_type,
    round_floats,
)

BINARY, JSON = 1, 2
"""The forms that the first four bytes of a hello may ask for, in the machine's byte order."""
_HEAD = 4
_END = b"\0"
"""Batsim ends its messages so; who answers may."""
_ENVELOPE = {"now", "events"}
_EVENT = {"timestamp", "event_type", "event"}


def decode_events(raw: bytes | str, nb_resources: int = MOST_PROCESSORS) -> m.Message:
    """Read a message from Batsim, whose machines and storages have ids below ``nb_resources``.

    Unknown events become :class:`UnknownEvent`, unknown members are passed over. Raises
    :class:`ProtocolError` for a text that is not a message.
    """
    return _decode(raw, events.read_event, "from Batsim", nb_resources)


def decode_decisions(raw: bytes | str, nb_resources: int = MOST_PROCESSORS) -> m.Message:
    """Read a scheduler's reply as strictly as Batsim does; raises :class:`ProtocolError`."""
    message = _decode(raw, decisions.read_decision, "from the scheduler", nb_resources, strict=True)
    times = [event.timestamp for event in message.events]
    for before, after in pairwise([*times, message.now]):
        if before > after:
            raise ProtocolError(
                f"message from the scheduler: the time {before} comes before {after}, expected "
                "timestamps that do not decrease, and now not before the last"
            )
    return message


def encode_decisions(message: m.Message) -> bytes:
    """Write a reply: every number with all its digits, times as numbers with a decimal point.

    Raises :class:`ProtocolError` for what Batsim 5 does not have.
    """
    return msgspec.json.encode(_content(message, decisions.write_decision))


def encode_events(message: m.Message, *, exact: bool = False) -> bytes:
    """Write a message as Batsim does: at most 12 decimals, unless ``exact``, and a final NUL."""
    content = _content(message, events.write_event)
    return msgspec.json.encode(content if exact else round_floats(content, _twelve_decimals)) + _END


# The handshake -------------------------------------------------------------------------------


def make_init_frame(text: str) -> bytes:
    """Return Batsim's first frame, which holds the initialisation ``text`` for the scheduler."""
    content = text.encode()
    return len(content).to_bytes(_HEAD, sys.byteorder) + content


def read_init_text(raw: bytes) -> str | None:
    """Return the text of Batsim's first frame, None for another frame.

    The size at its begin distinguishes it from any message in JSON, which would stand for 1.8 GB.
    """
    if len(raw) < _HEAD or len(raw) != _HEAD + int.from_bytes(raw[:_HEAD], sys.byteorder):
        return None
    return raw[_HEAD:].decode(errors="replace")


def encode_hello(hello: m.Hello) -> bytes:
    """Write the scheduler's first reply: it asks for JSON and for features."""
    message = m.Message(hello.timestamp, [hello])
    return JSON.to_bytes(_HEAD, sys.byteorder) + encode_decisions(message)


def decode_hello(raw: bytes) -> m.Hello:
    """Read a scheduler's first reply; raises :class:`ProtocolError` for anything else."""
    flags = int.from_bytes(raw[:_HEAD], sys.byteorder)
    if len(raw) < _HEAD or not 0 < flags <= BINARY | JSON:
        raise ProtocolError(
            f"the first reply begins with {raw[:_HEAD]!r}: expected 4 bytes of flags (2: JSON) and "
            "then EDCHelloEvent"
        )
    if not flags & JSON:
        raise ProtocolError("the first reply asks for the binary form: ask for JSON (flag 2)")
    message = decode_decisions(raw[_HEAD:])
    if len(message.events) != 1 or not isinstance(hello := message.events[0], m.Hello):
        raise ProtocolError(
            f"the first reply has {len(message.events)} events: expected exactly one, EDCHelloEvent"
        )
    return hello


# Reading -------------------------------------------------------------------------------------

_Reader = Callable[[str, Any, float, int], m.Event]


def _decode(
    raw: bytes | str, read: _Reader, source: str, nb_resources: int, *, strict: bool = False
) -> m.Message:
    def read_event(item: dict[str, Any]) -> m.Event:
        name = read_type(item, "event_type", source)
        where = f"{name} {source}"
        if strict:
            _check_members(item, _EVENT, where)
        timestamp = read_seconds(item, "timestamp", where, timestamp=0.0)
        event = read(name, item.get("event"), timestamp, nb_resources)
        if isinstance(event, m.SimulationBegins):
            check_resources(event, where)
        return event

    raw = raw.encode() if isinstance(raw, str) else raw
    message = read_message(
        raw.removesuffix(_END), source, "Batsim 5's protocol", read_event, now=0.0
    )
    if strict:
        _check_members(message.further or {}, _ENVELOPE, f"message {source}")
    message.further = None
    return message


def _check_members(content: dict[str, Any], known: set[str], where: str) -> None:
    if unknown := content.keys() - known:
        raise ProtocolError(
            f"{where}: there are the members {sorted(unknown)}, expected {sorted(known)} only"
        )


# Writing -------------------------------------------------------------------------------------


def _content(
    message: m.Message, write: Callable[[m.Event], tuple[str, dict[str, Any]]]
) -> dict[str, Any]:
    items = []
    for event in message.events:
        with located(event.tag, WorkloadError, ProtocolError):
            name, content = write(event)
        timestamp = float(event.timestamp)
        items.append({"timestamp": timestamp, "event_type": name, "event": content})
    return {"now": float(message.now), "events": items}


def _twelve_decimals(value: float) -> str:
    """Write a float with at most 12 decimals, and at least one."""
    text = f"{value:.12f}".rstrip("0")
    return text + "0" if text.endswith(".") else text
