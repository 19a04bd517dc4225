"""The scheduler's side of a conversation: from Batsim's frames to our messages, and back.

The first frame tells the version. Version 4 begins with SIMULATION_BEGINS in JSON. Batsim 5 begins
with a text in a frame of its own, which is answered with a hello that asks for the JSON form and
for what the simulation shall do; SIMULATION_BEGINS comes then.

Sources: the protocols as observed from Batsim 4.2.0 and 5.0.0-rc2.
"""

from __future__ import annotations

import sys
from typing import Protocol

from batsched_py.errors import ProtocolError
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.protocol import message_json
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json
from batsched_py.protocol.batsim5.scheduler_side import Asked, Batsim5Side

_MISSED = (
    "this is a message of Batsim 5, whose first frame did not come: was the simulation under way "
    "before this process? Start both anew"
)
_EARLY = 8
"""Bytes before the text in the first frame of a Batsim 5 before April 2025."""


class SchedulerSide(Protocol):
    """One conversation as the scheduler has it, each message with its reply."""

    def hears(self, raw: bytes) -> m.Message | None:
        """Return what Batsim says, None if only this side has to answer.

        Raises :class:`ProtocolError` for what is no message.
        """
        ...

    def says(self, reply: m.Message | None) -> bytes:
        """Return the frame of a reply to what was heard last; None if nothing was told of it.

        Raises :class:`ProtocolError` for what cannot be said to this Batsim.
        """
        ...

    def said(self, raw: bytes) -> m.Message | None:
        """Return what was replied in a frame to what was heard last, as :meth:`says` was given it.

        Raises :class:`ProtocolError` for what is no reply.
        """
        ...


def side_of(first: bytes, asked: Asked = lambda text: {}) -> SchedulerSide:
    """Return the scheduler's side of a conversation that begins with the frame ``first``.

    Raises :class:`ProtocolError` for a version of Batsim that is not spoken.
    """
    if batprotocol_json.init_text(first) is not None:
        return Batsim5Side(asked)
    size = int.from_bytes(first[4:_EARLY], sys.byteorder)
    if len(first) >= _EARLY and len(first) == _EARLY + size and not first.startswith(b"{"):
        raise ProtocolError(
            "this is a Batsim 5 from before its release candidates, which begins in another way: "
            "use Batsim 5.0.0-rc0 or later, or Batsim 4.2"
        )
    return Batsim4Side()


class Batsim4Side:
    """Version 4, where each frame is a message."""

    def __init__(self) -> None:
        self._nb_resources = MOST_PROCESSORS

    def hears(self, raw: bytes) -> m.Message:
        """Return what Batsim says."""
        try:
            message = message_json.decode_events(raw, self._nb_resources)
        except ProtocolError:
            if b'"event_type"' in raw:
                raise ProtocolError(_MISSED) from None
            raise
        if message.events and isinstance(begins := message.events[0], m.SimulationBegins):
            self._nb_resources = begins.nb_resources
        return message

    def says(self, reply: m.Message | None) -> bytes:
        """Return the frame of a reply."""
        assert reply is not None
        return message_json.encode_decisions(reply)

    def said(self, raw: bytes) -> m.Message:
        """Return what was replied."""
        return message_json.decode_decisions(raw, self._nb_resources)
