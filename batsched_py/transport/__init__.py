"""Carries messages between a simulator and a scheduler.

There is one shape for all ways: a :data:`Partner` takes each message and returns the reply. In
process the embedded simulator calls a decision process directly and hands structs over. Over a
socket (:mod:`batsched_py.transport.scheduler_socket`) or from a recorded exchange
(:mod:`batsched_py.transport.recording`) come bytes, and
:class:`batsched_py.transport.conversation.Conversation` stands in between.
"""

from __future__ import annotations

from collections.abc import Callable

from batsched_py.protocol.messages import Message

LISTENING = "listening on "
"""Begin of the line in which a process prints where it listens."""
BEGUN = "a simulation has begun"
"""The line in which it reports the first message of the other side."""
Partner = Callable[[Message], Message]
"""The scheduler's side of the conversation."""
