"""The scheduler's end of Batsim's socket: ZeroMQ REP, bound, one frame a message."""

from __future__ import annotations

from math import inf
from time import monotonic
from types import TracebackType

import zmq
from zmq.utils.monitor import recv_monitor_message

from batsched_py.errors import ProtocolError, SimulationError, UsageError

DEFAULT = "tcp://127.0.0.1:28000"
"""Where Batsim connects unless told otherwise; nobody outside the machine can."""
_TICK = 0.2
"""Seconds after which a wait looks whether somebody is still there."""
_GRACE = 1.0
"""Seconds without any peer after which it is taken for dead."""
_FLUSH = 5.0
"""Seconds to get the last reply out."""


class Endpoint:
    """A REP socket bound to ``address`` (tcp or ipc); the port ``*`` stands for any free one.

    Raises :class:`UsageError` for what is no address, and :class:`SimulationError` where it
    cannot be bound. A context manager: leaving it closes the socket.
    """

    def __init__(self, address: str) -> None:
        if not address.startswith(("tcp://", "ipc://")):
            raise UsageError(
                f"endpoint {address!r}: expected tcp://ADDRESS:PORT or ipc://PATH, such as "
                f"{DEFAULT}"
            )
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.REP)
        self._socket.setsockopt(zmq.RCVTIMEO, round(_TICK * 1000))
        self._socket.setsockopt(zmq.LINGER, round(_FLUSH * 1000))
        self._monitor = self._socket.get_monitor_socket(zmq.Event.ACCEPTED | zmq.Event.DISCONNECTED)
        self._peers: set[int] = set()
        self._alone_since = inf
        try:
            # ZeroMQ binds to addresses, not to names.
            self._socket.bind(address.replace("tcp://localhost:", "tcp://127.0.0.1:"))
        except zmq.ZMQError as error:
            self.close()
            raise SimulationError(
                f"cannot listen on {address}: {error.strerror}; choose another endpoint with -s, "
                "or stop who listens there"
            ) from None
        self.address = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        """The address as it was bound, with the port that was found."""

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Send what is still to be sent, and close."""
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close()
        self._context.term()

    def send(self, raw: bytes) -> None:
        """Answer the last request."""
        self._socket.send(raw)

    def receive(self, timeout: float, *, of_peer: bool) -> bytes | None:
        """Return the next request, or None if none comes within ``timeout`` seconds.

        ``of_peer`` says that a peer is there which must not go away: then it raises
        :class:`SimulationError` when the last connection is closed, without waiting longer.
        """
        deadline = monotonic() + timeout
        while True:
            try:
                frames = self._socket.recv_multipart()
            except zmq.Again:
                self._look_who_is_there()
                if of_peer and monotonic() - self._alone_since > _GRACE:
                    raise SimulationError("the connection was closed by the other side") from None
                if monotonic() >= deadline:
                    return None
                continue
            if len(frames) != 1:
                raise ProtocolError(f"a message of {len(frames)} frames, expected one")
            return bytes(frames[0])

    def _look_who_is_there(self) -> None:
        while self._monitor.poll(0):
            event = recv_monitor_message(self._monitor)
            if event["event"] == zmq.Event.ACCEPTED:
                self._peers.add(event["value"])
            else:
                self._peers.discard(event["value"])
        if self._peers:
            self._alone_since = inf
        elif self._alone_since == inf:
            self._alone_since = monotonic()
