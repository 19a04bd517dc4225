"""The scheduler's end of Batsim's socket: it binds, and sends one reply to each message.

On the wire it is a ZeroMQ REP socket. Inside it is a ROUTER, which also knows the sender, so a
stranger on the same endpoint is not taken for the simulator.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import unpack
from time import monotonic

import msgspec
import zmq

from batsched_py.errors import SimulationError, UsageError
from batsched_py.protocol.message_json import MOST_BYTES
from batsched_py.support.signals import HeldSignals
from batsched_py.transport.closing import Closing

DEFAULT = "tcp://127.0.0.1:28000"
"""The default address, to which only programs of this machine can connect."""
_ADDRESS = re.compile(r"tcp://[^:]+:([0-9]{1,5}|\*)|tcp://\[.+\]:[0-9]{1,5}|ipc://.+")
_TICK = 0.2
"""Seconds after which a wait checks whether the peer has gone, or a signal asks to end."""
_GONE = 0
"""Number of a connection that was closed before it was seen."""
_FLUSH = 2.0
"""Seconds to get the last reply out."""


class SocketRequest(msgspec.Struct):
    """A message that waits for its reply."""

    sender: bytes
    frames: list[bytes]


class SchedulerSocket(Closing):
    """A socket bound to ``address`` (tcp or ipc); the port ``*`` stands for any free one.

    Raises :class:`UsageError` for a text that is not an address, and :class:`SimulationError` where
    it cannot be bound. A context manager: leaving it closes the socket.
    """

    def __init__(self, address: str) -> None:
        check_address(address)
        if address.startswith("ipc://@"):
            raise UsageError(
                f"endpoint {address!r}: every user of this machine may connect to an abstract "
                "socket; expected ipc://PATH, to which only you connect"
            )
        self._path = Path(address[6:]) if address.startswith("ipc://") else None
        if self._path is not None:
            _check_path(self._path, address)
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, round(_FLUSH * 1000))
        self._socket.setsockopt(zmq.MAXMSGSIZE, MOST_BYTES)
        self._socket.setsockopt(zmq.RCVTIMEO, round(_TICK * 1000))
        self._monitor = self._socket.get_monitor_socket(zmq.Event.ACCEPTED | zmq.Event.DISCONNECTED)
        self._connections: dict[int, int] = {}
        """Numbers of the open connections by their file descriptors, which are used again."""
        self._nb_accepted = 0
        self._senders: dict[bytes, int] = {}
        """Numbers of the connections that have sent a request."""
        self._bound = False
        try:
            with _for_its_user_only():
                # ZeroMQ binds to addresses, not to names.
                self._socket.bind(address.replace("tcp://localhost:", "tcp://127.0.0.1:"))
        except zmq.ZMQError as error:
            self.close()
            raise _cannot_listen(address, error.strerror) from None
        self._bound = True
        self.address = self._socket.getsockopt_string(zmq.LAST_ENDPOINT)
        """The address as it was bound, with the port that was found."""
        self.batsims_endpoint = self.address.replace("//0.0.0.0:", "//THIS-MACHINE:")
        """Where Batsim connects; THIS-MACHINE stands for any of the names that this one has."""
        self.unanswered: SocketRequest | None = None
        """The last request, until its reply is sent."""

    def close(self) -> None:
        """Send the remaining messages, and close."""
        with HeldSignals():
            self._socket.disable_monitor()
            self._monitor.close(linger=0)
            self._socket.close()
            self._context.term()
            if self._path is not None and self._bound:
                self._path.unlink(missing_ok=True)

    def reply(self, request: SocketRequest, raw: bytes) -> None:
        """Send the reply to a request; nothing happens if its sender is gone."""
        with HeldSignals():
            self._socket.send(request.sender, zmq.SNDMORE)
            self._socket.send(b"", zmq.SNDMORE)
            self._socket.send(raw)
            self.unanswered = None

    def receive(
        self, timeout: float, simulator: SocketRequest | None = None
    ) -> SocketRequest | None:
        """Return the next request, or None if none comes within ``timeout`` seconds.

        ``simulator`` is an earlier request, whose sender must stay: :class:`SimulationError` is
        raised as soon as its connection is closed.
        """
        deadline = monotonic() + timeout
        while True:
            try:
                with HeldSignals():  # a request to end waits for a tick, and loses no message
                    request = self.unanswered = self._request()
            except zmq.Again:
                if simulator is not None and self._is_lost(simulator):
                    raise SimulationError("the connection was closed by the other side") from None
                if monotonic() >= deadline:
                    return None
            else:
                if request is not None:
                    return request

    def _request(self) -> SocketRequest | None:
        """Wait a tick for a message, and return its request, None if it is not one.

        Raises :class:`zmq.Again` if none comes.
        """
        receive = self._socket.recv
        sender = receive()
        frames = [receive(copy=False)]
        while frames[-1].more:
            frames.append(receive(copy=False))
        if len(frames) < 2 or len(frames[0]):
            return None
        if sender not in self._senders:
            self._update_connections()
            file = int(frames[1].get(zmq.SRCFD))
            self._senders[sender] = self._connections.get(file, _GONE)
        return SocketRequest(sender, [frame.bytes for frame in frames[1:]])

    def _is_lost(self, request: SocketRequest) -> bool:
        self._update_connections()
        return self._senders[request.sender] not in self._connections.values()

    def _update_connections(self) -> None:
        """Take connections into account that were opened and closed."""
        for event, file in watch_connections(self._monitor):
            if event == zmq.Event.ACCEPTED:
                self._nb_accepted += 1
                self._connections[file] = self._nb_accepted
            else:
                self._connections.pop(file, None)


def watch_connections(monitor: zmq.Socket[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the events of a monitor as pairs of a :class:`zmq.Event` and its value.

    The value is mostly a file descriptor.

    ``zmq.utils.monitor`` does the same, but imports asyncio.
    """
    while monitor.poll(0):
        event, _ = monitor.recv_multipart()
        yield unpack("=hi", event)


def check_address(address: str) -> None:
    """Raise :class:`UsageError` for a text that is not an endpoint."""
    match = _ADDRESS.fullmatch(address)
    if match is None or (match[1] and match[1] != "*" and int(match[1]) > 65535):
        raise UsageError(
            f"endpoint {address!r}: expected tcp://ADDRESS:PORT or ipc://PATH, such as {DEFAULT}"
        )


def _check_path(path: Path, address: str) -> None:
    """Refuse a path that is in use: ZeroMQ would take it over, or delete it, without an error."""
    if not hasattr(socket, "AF_UNIX") or not os.path.lexists(path):
        return
    if not path.is_socket():
        raise UsageError(f"endpoint {address!r}: the path exists and is not a socket")
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except (OSError, ValueError):
            return  # left behind
    raise _cannot_listen(address, "Address already in use")


@contextmanager
def _for_its_user_only() -> Iterator[None]:
    """Let no other user connect to the Unix socket that is made in the block."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


def _cannot_listen(address: str, reason: str) -> SimulationError:
    longest = getattr(zmq, "IPC_PATH_MAX_LEN", 0) or 107
    path = address.removeprefix("ipc://")
    if path != address and len(path.encode()) > longest:
        reason = f"the path of a socket has at most {longest} bytes, this one {len(path.encode())}"
    return SimulationError(
        f"cannot listen on {address}: {reason}; choose another endpoint, or stop its listener"
    )
