"""Requests to end, other than Ctrl-C, treated as Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def stop_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on a request to end (SIGTERM, a closed terminal).

    What runs on its behalf (children, a simulator that waits for a reply) can then be told.
    Does nothing outside the main thread, where signals cannot be handled.
    """

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    if current_thread() is not main_thread():
        yield
        return
    before = {
        number: signal.signal(number, interrupt)
        for number in _ENDING
        if signal.getsignal(number) not in (signal.SIG_IGN, None)  # nohup has a reason
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
