"""A last word to simulators that compute while their scheduler ends.

Batsim waits for a reply for ever: its socket does not tell it that the scheduler is gone, but
connects anew as soon as somebody listens there. It ends when it gets a reply that is no JSON. So
the connections of those who have not asked yet go to a small process, which gives this reply to
each of them when it asks, and ends when all of them have gone.

A socket of ZeroMQ cannot be handed over, but the file descriptors of its connections can; what is
written there is in ZeroMQ's format (ZMTP 3, https://rfc.zeromq.org/spec/23). The process needs the
standard library only.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress


@contextmanager
def handed_over(
    connections: Sequence[int], reply: bytes
) -> Iterator[subprocess.Popen[bytes] | None]:
    """Hand file descriptors over to a process that replies, once the block has closed them.

    None where file descriptors cannot be handed over (Windows), or no process started.
    """
    process = None
    with ExitStack() as stack:
        if connections and os.name == "posix":
            with suppress(OSError):
                process = _started(connections, reply)
                assert process.stdin is not None
                stack.enter_context(process.stdin)  # its end is the sign
        yield process


def _started(connections: Sequence[int], reply: bytes) -> subprocess.Popen[bytes]:
    with ExitStack() as stack:
        copies = []
        for connection in connections:
            with suppress(OSError):  # closed meanwhile
                copies.append(os.dup(connection))
                stack.callback(os.close, copies[-1])
        return subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, reply[:255].hex(), *map(str, copies)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=copies,
            start_new_session=True,  # it outlives a terminal that is closed
        )


def _reply_to_all(connections: Iterable[socket.socket], frames: bytes) -> None:
    """Reply until all have gone. A reply too many does no harm: asking anew discards it."""
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            connection.setblocking(True)
            with suppress(OSError):
                connection.sendall(frames)  # its request may have been read, and not answered
                selector.register(connection, selectors.EVENT_READ, connection)
        while selector.get_map():
            for key, _ in selector.select():
                try:
                    asked = key.data.recv(1 << 16)
                    key.data.sendall(frames)
                except OSError:
                    asked = b""
                if not asked:
                    selector.unregister(key.data)


def _main() -> None:
    reply = bytes.fromhex(sys.argv[1])
    sys.stdin.read()
    # The empty frame that begins the envelope of a REP socket, and the last one.
    frames = bytes([1, 0, 0, len(reply)]) + reply
    _reply_to_all([socket.socket(fileno=int(number)) for number in sys.argv[2:]], frames)


if __name__ == "__main__":
    _main()
