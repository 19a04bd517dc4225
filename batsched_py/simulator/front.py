"""The embedded simulator behind a socket: Batsim's place, for schedulers in any language."""

from __future__ import annotations

from time import monotonic

import zmq

from batsched_py.errors import ProtocolError, SimulationError
from batsched_py.protocol import codec
from batsched_py.protocol import messages as m
from batsched_py.transport.closing import Closing
from batsched_py.transport.endpoint import check_address

_TICK = 0.2
"""Seconds after which a wait looks whether the scheduler is still there."""


class Front(Closing):
    """A REQ socket that connects to a scheduler at ``address``: what Batsim's side is.

    A :data:`~batsched_py.transport.Partner` for the simulator. ``timeout`` is in seconds, for
    each reply (Batsim itself waits for ever). Times are said with six decimals as Batsim does, or
    ``exact``. A context manager: leaving it closes the socket.

    Raises :class:`~batsched_py.errors.UsageError` for what is no address.
    """

    def __init__(self, address: str, timeout: float, *, exact: bool = False) -> None:
        check_address(address)
        self._address, self._timeout, self._exact = address, timeout, exact
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.REQ)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._monitor = self._socket.get_monitor_socket(zmq.Event.DISCONNECTED)
        self._socket.connect(address)

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
        self._socket.send(codec.encode_events(message, exact=self._exact))
        self._wait(message.now)
        frames = self._socket.recv_multipart()
        said = frames[0][:300].decode(errors="replace")
        if len(frames) != 1:
            raise ProtocolError(f"a reply of {len(frames)} frames, expected one; it began: {said}")
        try:
            reply = codec.decode_decisions(frames[0])
        except ProtocolError as error:
            raise ProtocolError(f"{error}; it said: {said}") from None
        if not self._exact:
            _restore_digits(reply, message.now)
        return reply

    def _wait(self, now: float) -> None:
        """Wait for the reply. A scheduler whose connection broke will not send it any more."""
        deadline = monotonic() + self._timeout
        while not self._socket.poll(round(_TICK * 1000)):
            if self._monitor.poll(0) and not self._socket.poll(0):
                raise SimulationError(
                    f"the scheduler at {self._address} went away at {now:f} s without a reply"
                )
            if monotonic() >= deadline:
                raise SimulationError(
                    f"the scheduler at {self._address} did not reply at {now:f} s within "
                    f"{self._timeout:g} s; --timeout allows more"
                )


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
