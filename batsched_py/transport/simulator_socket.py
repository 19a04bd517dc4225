"""The embedded simulator behind a socket: Batsim's place, for schedulers in any language."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic
from typing import TypeVar

import zmq

from batsched_py.errors import ProtocolError, SimulationError, UsageError, parameter
from batsched_py.protocol import message_json as codec
from batsched_py.protocol import messages as m
from batsched_py.support.processor_sets import MOST_PROCESSORS
from batsched_py.transport.closing import Closing
from batsched_py.transport.connection_events import connection_events
from batsched_py.transport.scheduler_socket import check_address

_T = TypeVar("_T")

_TICK = 0.2
"""Seconds after which a wait looks whether the scheduler is still there."""
_PATIENCE = 5.0
"""Seconds without a scheduler after which it is said that one is waited for."""


class SimulatorSocket(Closing):
    """A REQ socket that connects to a scheduler at ``address``: what Batsim's side is.

    A :data:`~batsched_py.transport.Partner` for the simulator. ``timeout`` is in seconds, for
    each reply (Batsim itself waits for ever). Times are said with six decimals as Batsim does, or
    ``exact``. ``note`` is told, once, that nobody listens yet. A context manager: leaving it
    closes the socket.

    Raises :class:`~batsched_py.errors.UsageError` for what is no address.
    """

    def __init__(
        self,
        address: str,
        timeout: float,
        *,
        exact: bool = False,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        check_address(address)
        self._address, self._timeout, self._exact = address, timeout, exact
        self._note, self._note_at = note, monotonic() + _PATIENCE
        self._nb_resources = MOST_PROCESSORS
        self._met = False
        """Whether a scheduler was there."""
        self._listener = "nobody answers there"
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.REQ)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, codec.MOST_BYTES)
        for wait in (zmq.SNDTIMEO, zmq.RCVTIMEO):  # where nobody is connected, sending waits too
            self._socket.setsockopt(wait, round(_TICK * 1000))
        self._monitor = self._socket.get_monitor_socket(
            zmq.Event.HANDSHAKE_SUCCEEDED | zmq.Event.DISCONNECTED
        )
        try:
            self._socket.connect(address)
        except zmq.ZMQError as error:
            self.close()
            raise UsageError(
                f"endpoint {address!r}: nothing can connect to it ({error.strerror}): expected "
                "such as tcp://127.0.0.1:28000"
            ) from None

    def close(self) -> None:
        """Close the connection."""
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close()
        self._context.term()

    def __call__(self, message: m.Message) -> m.Message:
        """Send a message and return the reply.

        Raises :class:`SimulationError` if none comes, :class:`ProtocolError` if it is none.
        """
        if message.events and isinstance(begins := message.events[0], m.SimulationBegins):
            self._nb_resources = begins.nb_resources
        raw = codec.encode_events(message, exact=self._exact)
        self._patiently(lambda: self._socket.send(raw), message.now)
        frames = self._patiently(self._socket.recv_multipart, message.now)
        try:
            if len(frames) != 1:
                raise ProtocolError(f"a reply of {len(frames)} frames, expected one")
            reply = codec.decode_decisions(frames[0], self._nb_resources)
        except ProtocolError as error:
            beginning = frames[0][:300].decode(errors="replace")
            raise ProtocolError(f"{error}; it said: {beginning}") from None
        if not self._exact:
            _restore_digits(reply, message.now)
        return reply

    def _patiently(self, action: Callable[[], _T], now: float) -> _T:
        """Send, or wait for the reply. A scheduler that went away will not answer any more."""
        deadline = monotonic() + self._timeout
        while True:
            try:
                return action()
            except zmq.Again:
                pass
            self._look_around(now)
            if monotonic() >= deadline:
                raise SimulationError(self._why_late(now))

    def _look_around(self, now: float) -> None:
        """Raise :class:`SimulationError` if the scheduler is gone; tell that there is none yet."""
        for event, _ in connection_events(self._monitor):
            if event == zmq.Event.HANDSHAKE_SUCCEEDED:
                self._met = True
            elif not self._met:  # may yet come: a proxy takes connections before it does
                self._listener = "what listens there is no ZeroMQ socket (REP)"
            elif not self._socket.poll(0):
                raise SimulationError(
                    f"the scheduler at {self._address} went away at {now:f} s without a reply"
                )
        if not self._met and monotonic() >= self._note_at:
            self._note_at = inf
            self._note(f"waiting for a scheduler at {self._address}: {self._listener}")

    def _why_late(self, now: float) -> str:
        within = f"within {self._timeout:g} s; {parameter('timeout')} allows more"
        if self._met:
            return f"the scheduler at {self._address} did not reply at {now:f} s {within}"
        return f"no scheduler was reached at {self._address} {within} ({self._listener})"


def _restore_digits(reply: m.Message, now: float) -> None:
    """Take the time as it was sent, with six decimals, for the time that it stands for.

    A scheduler that says when it was asked means now, not the rounding of it.
    """
    sent = float(f"{now:.6f}")
    if sent == now:
        return
    if reply.now == sent:
        reply.now = now
    for decision in reply.events:
        if decision.timestamp == sent:
            decision.timestamp = now
