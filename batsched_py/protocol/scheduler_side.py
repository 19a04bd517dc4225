"""The scheduler's side of a conversation: converts Batsim's frames to messages, and back.

The first frame shows the version. Version 4 begins with SIMULATION_BEGINS in JSON. Batsim 5 begins
with a text in its own frame. The answer is a hello, which requests JSON and features of the
simulation; then comes SIMULATION_BEGINS.

Sources: the protocols as observed from Batsim 4.2.0 and 5.0.0-rc2.
"""

from __future__ import annotations

import sys

from batsched_py.errors import ProtocolError
from batsched_py.processors.sets import MOST_PROCESSORS
from batsched_py.protocol import message_json
from batsched_py.protocol import messages as m
from batsched_py.protocol.batsim5 import batprotocol_json
from batsched_py.protocol.batsim5.scheduler_side import Batsim5Side, RequestFeatures

_MISSED = (
    "this is a message of Batsim 5, but the first frame of a simulation is missing: did the "
    "simulation begin before this process? Start both anew"
)
_EARLY = 8
"""Bytes before the text in the first frame of a Batsim 5 before April 2025."""


def make_side(first: bytes, asked: RequestFeatures = lambda text: {}) -> SchedulerSide:
    """Return the scheduler's side of a conversation that begins with the frame ``first``.

    Raises :class:`ProtocolError` for a version of Batsim that is not spoken.
    """
    if batprotocol_json.read_init_text(first) is not None:
        return Batsim5Side(asked)
    size = int.from_bytes(first[4:_EARLY], sys.byteorder)
    if len(first) >= _EARLY and len(first) == _EARLY + size and not first.startswith(b"{"):
        raise ProtocolError(
            "this is a Batsim 5 from before its release candidates, which begins in another way: "
            "use Batsim 5.0.0-rc0 or later, or Batsim 4.2"
        )
    return Batsim4Side()


class Batsim4Side:
    """The scheduler's side for Batsim 4, where each frame is one message."""

    def __init__(self) -> None:
        self._nb_resources = MOST_PROCESSORS

    def decode_message(self, raw: bytes) -> m.Message:
        """Return the message in a frame of Batsim; raises :class:`ProtocolError` for another."""
        try:
            message = message_json.decode_events(raw, self._nb_resources)
        except ProtocolError:
            if b'"event_type"' in raw:
                raise ProtocolError(_MISSED) from None
            raise
        if message.events and isinstance(begins := message.events[0], m.SimulationBegins):
            self._nb_resources = begins.nb_resources
        return message

    def encode_reply(self, reply: m.Message | None) -> bytes:
        """Return the frame that replies to the last message."""
        assert reply is not None
        return message_json.encode_decisions(reply)

    def decode_reply(self, raw: bytes) -> m.Message:
        """Return the reply in a frame; raises :class:`ProtocolError` for what is none."""
        return message_json.decode_decisions(raw, self._nb_resources)


SchedulerSide = Batsim4Side | Batsim5Side
"""Decodes the messages of one conversation and encodes the replies, for one Batsim version."""
