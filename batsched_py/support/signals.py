"""Requests to end: Ctrl-C, SIGTERM and a closed terminal, all treated as Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_ENDING = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


class Terminated(KeyboardInterrupt):
    """A request to end that is no Ctrl-C: whoever made it does not stay to make a second one."""


class _Request:
    """A request to end, of which there is one for the process."""

    held = False
    """Whether it has to wait."""
    waits: type[KeyboardInterrupt] | None = None


def _interrupt(number: int, frame: object) -> None:
    kind = KeyboardInterrupt if number == signal.SIGINT else Terminated
    if not _Request.held:
        raise kind
    _Request.waits = kind


@contextmanager
def stop_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on a request to end, but not amid :class:`HeldSignals`.

    It is :class:`Terminated` unless somebody pressed Ctrl-C. What runs on its behalf (children, a
    simulator that waits for a reply) can then be told. Does nothing outside the main thread, where
    signals cannot be handled.
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
            if signal.getsignal(number) is _interrupt:  # not ignored since
                signal.signal(number, handler)


def ignore_stop_signals() -> None:
    """Let requests to end change nothing until the process is gone: its result is known.

    Docker Compose asks the other containers to end when the first one has; Python itself takes a
    while to end. Does nothing outside the main thread.
    """
    if current_thread() is main_thread():
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)


class HeldSignals:
    """A block in which a request to end waits; then KeyboardInterrupt is raised.

    It is for blocks of the main thread that no exception may tear apart; other threads see none.
    """

    __slots__ = ("_is_main",)

    def __enter__(self) -> None:
        self._is_main = current_thread() is main_thread()
        if self._is_main:
            _Request.held = True

    def __exit__(self, *error: object) -> None:
        if not self._is_main:
            return
        _Request.held = False
        kind = _Request.waits
        if kind is not None:
            _Request.waits = None
            raise kind
