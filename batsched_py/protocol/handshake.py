"""Which version of Batsim's protocol a simulator speaks, from its first message.

Version 4 begins with SIMULATION_BEGINS in JSON. Batsim 5 first sends an initialisation frame
(two 32-bit integers in native byte order, flags and size, then data of that size) and then a
hello event, in JSON or FlatBuffers: it is recognised and refused.
"""

from __future__ import annotations

import sys
from typing import Any

from batsched_py.errors import ProtocolError
from batsched_py.support.file_readers import parse_json

WANTED = (
    "use Batsim 4.2, whose protocol this is (tags v4.2.0 and v4.2.1; of the Docker image "
    "oarteam/batsim a tag that begins with 4)"
)


def check_version(first: bytes) -> None:
    """Raise :class:`ProtocolError` if who begins with the message ``first`` is Batsim 5."""
    if _is_batsim_5(first):
        raise ProtocolError(f"this is Batsim 5, which speaks another protocol: {WANTED}")


def _is_batsim_5(first: bytes) -> bool:
    if first.startswith(b"{"):
        return _is_hello(first)
    size = int.from_bytes(first[4:8], sys.byteorder)
    return len(first) >= 8 and (len(first) == 8 + size or b"BatsimHello" in first)


def _is_hello(first: bytes) -> bool:
    """Tell whether a message in JSON is one of Batsim 5: its events have an ``event_type``."""
    if b"event_type" not in first:
        return False
    try:
        events = parse_json(first, dict[str, Any], "hello", ProtocolError)["events"]
        return any("event_type" in event for event in events)
    except (ProtocolError, KeyError, TypeError):
        return False
