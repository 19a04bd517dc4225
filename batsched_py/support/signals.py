"""Requests to end: Ctrl-C, SIGTERM and a closed terminal, all treated as Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_ENDING = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


class _Request:
    """A request to end, of which there is one for the process."""

    held = False
    """Whether it has to wait."""
    waits = False


def _interrupt(number: int, frame: object) -> None:
    if not _Request.held:
        raise KeyboardInterrupt
    _Request.waits = True


@contextmanager
def stop_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on a request to end, but not amid :func:`held_signals`.

    What runs on its behalf (children, a simulator that waits for a reply) can then be told.
    Does nothing outside the main thread, where signals cannot be handled.
    """
    if current_thread() is not main_thread():
        yield
        return
    before = {
        number: signal.signal(number, _interrupt)
        for number in _ENDING
        if signal.getsignal(number) not in (signal.SIG_IGN, None)  # nohup has a reason
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore_stop_signals() -> None:
    """Let requests to end change nothing any more: the process is ending, its result is known.

    Docker Compose asks the other containers to end when the first one has.
    """
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def held_signals() -> Iterator[None]:
    """Let a request to end wait until the block is over, then raise KeyboardInterrupt.

    It is for blocks of the main thread that no exception may tear apart; other threads see none.
    """
    if current_thread() is not main_thread():
        yield
        return
    _Request.held = True
    try:
        yield
    finally:
        _Request.held = False
        if _Request.waits:
            _Request.waits = False
            raise KeyboardInterrupt
