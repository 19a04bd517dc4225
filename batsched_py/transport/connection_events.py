"""What ZeroMQ tells of connections: who comes and who goes."""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack

import zmq


def connection_events(monitor: zmq.Socket[bytes]) -> Iterator[tuple[int, int]]:
    """Yield each event that a monitor has told by now: a :class:`zmq.Event` and its value, which
    is a file descriptor for most.

    ``zmq.utils.monitor`` does the same, but imports asyncio.
    """
    while monitor.poll(0):
        event, _ = monitor.recv_multipart()
        yield unpack("=hi", event)
