"""How messages travel between a simulator and the decision process.

There is one shape for all ways: a :data:`Partner` takes each message and returns the reply. In
process the embedded simulator calls :meth:`batsched_py.process.DecisionProcess.answer` directly
and hands structs over; a socket or a recorded exchange does the same with bytes in between, by
:mod:`batsched_py.protocol.codec`.
"""

from __future__ import annotations

from collections.abc import Callable

from batsched_py.protocol.messages import Message

Partner = Callable[[Message], Message]
"""The scheduler's side of the conversation."""
