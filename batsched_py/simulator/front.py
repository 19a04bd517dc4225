"""The embedded simulator behind a socket: Batsim's place, for schedulers in any language."""

from __future__ import annotations

from types import TracebackType

import zmq

from batsched_py.errors import ProtocolError, SimulationError, UsageError
from batsched_py.protocol import codec
from batsched_py.protocol import messages as m


class Front:
    """A REQ socket that connects to a scheduler at ``address``: what Batsim's side is.

    A :data:`~batsched_py.transport.Partner` for the simulator. ``timeout`` is in seconds, for
    each reply (Batsim itself waits for ever). A context manager: leaving it closes the socket.
    """

    def __init__(self, address: str, timeout: float) -> None:
        self._address, self._timeout = address, timeout
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.REQ)
        self._socket.setsockopt(zmq.LINGER, 0)
        try:
            self._socket.connect(address)
        except zmq.ZMQError as error:
            self.close()
            raise UsageError(
                f"endpoint {address!r}: {error.strerror}; expected tcp://HOST:PORT or ipc://PATH"
            ) from None

    def __enter__(self) -> Front:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
        self._context.term()

    def __call__(self, message: m.Message) -> m.Message:
        """Send a message and return the reply.

        Raises :class:`SimulationError` if none comes, :class:`ProtocolError` if it is none.
        """
        self._socket.send(codec.encode_events(message))
        if not self._socket.poll(round(min(self._timeout, 1e6) * 1000)):
            raise SimulationError(
                f"the scheduler at {self._address} did not reply at {message.now:f} s within "
                f"{self._timeout:g} s"
            )
        raw = self._socket.recv()
        try:
            reply = codec.decode_decisions(raw)
        except ProtocolError as error:
            said = raw[:300].decode(errors="replace")
            raise ProtocolError(f"{error}; it said: {said}") from None
        _restore_digits(reply, message.now)
        return reply


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
