"""A scheduler that listens for Batsim, of either version, and says what it was told to say."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import zmq

NEXT_FRAME = b"<next frame>"


@contextmanager
def scheduler(*replies: bytes | None, kind: int = zmq.REP) -> Iterator[str]:
    """Listen, yield the address, and say the replies in turn; None: no reply.

    After the last one the connection is closed. ``{now}`` stands for the time of the message.
    """
    context = zmq.Context()
    listening = context.socket(kind)
    listening.setsockopt(zmq.RCVTIMEO, 60_000)
    port = listening.bind_to_random_port("tcp://127.0.0.1")
    over = threading.Event()

    def listen() -> None:
        try:
            for reply in replies:
                now = _time(listening.recv())
                if reply is None:
                    over.wait(10)
                    break
                frames = reply.replace(b"{now}", str(now).encode()).split(NEXT_FRAME)
                listening.send_multipart(frames)
        finally:  # nobody may ask: then the end would wait for the socket for ever
            listening.close(linger=1000)

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{port}"
    finally:
        over.set()
        thread.join()
        context.term()


def _time(raw: bytes) -> float:
    """Return the time of a message; Batsim 5's first frame, which is none, is said at 0."""
    begin = raw.find(b'{"now"')
    return 0.0 if begin < 0 else float(json.loads(raw[begin:].removesuffix(b"\0"))["now"])
