"""Handles requests to end: Ctrl-C, SIGTERM and a closed terminal.

Two rules. A command that has nobody to tell leaves requests to the system
(:func:`default_stop_signals`), which ends it whatever code it runs: files are whole or absent
whenever a process ends. A command with a partner or with processes of its own gets
KeyboardInterrupt (:func:`stop_signals`), and tells or ends them. Python raises it between two steps
of Python code: a plug-in in an endless loop of native code holds it up.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_ENDING = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


@contextmanager
def stop_signals() -> Iterator[None]:
    """Let a request to end raise KeyboardInterrupt, after any :class:`HeldSignals` block.

    Does nothing outside the main thread, where signals cannot be handled.
    """
    with _handled_by(HeldSignals.interrupt):
        yield


@contextmanager
def default_stop_signals() -> Iterator[None]:
    """Let a request to end make the system end the process at once.

    The exit code is that of the signal: 130 for Ctrl-C and 143 for SIGTERM, as shells count. The
    system does not end process 1 of a container in this way: there it is :func:`stop_signals`.
    """
    with _handled_by(HeldSignals.interrupt if os.getpid() == 1 else signal.SIG_DFL):
        yield


@contextmanager
def keep_handlers() -> Iterator[None]:
    """Restore the signal handlers at the end of the block, as plug-ins may set others."""
    before = {number: signal.getsignal(number) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is not handler:  # so this is the main thread
                signal.signal(number, handler)


@contextmanager
def _handled_by(handler: Callable[[int, object], None] | signal.Handlers) -> Iterator[None]:
    if current_thread() is not main_thread():
        yield
        return
    before = {
        number: signal.signal(number, handler)
        for number in _ENDING
        if signal.getsignal(number) not in (signal.SIG_IGN, None)  # nohup has a reason
    }
    try:
        yield
    finally:
        for number, earlier in before.items():
            if signal.getsignal(number) is handler:  # not ignored since
                signal.signal(number, earlier)


def ignore_stop_signals() -> None:
    """Ignore requests to end from now on, since the result of the process is known.

    Docker Compose asks the other containers to end when the first one has; Python itself takes a
    while to end. Does nothing outside the main thread.
    """
    if current_thread() is main_thread():
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)


class HeldSignals:
    """A block of the main thread that delays a request to end: KeyboardInterrupt comes after it.

    It is for blocks that no exception may tear apart; other threads see none.
    """

    _held = False
    _asked = False
    """Whether a request waits."""

    @staticmethod
    def interrupt(number: int, frame: object) -> None:
        """Raise KeyboardInterrupt, or remember the request inside a block."""
        if not HeldSignals._held:
            raise KeyboardInterrupt
        HeldSignals._asked = True

    def __enter__(self) -> None:
        if current_thread() is main_thread():
            HeldSignals._held = True

    def __exit__(self, *error: object) -> None:
        if current_thread() is main_thread():
            HeldSignals._held = False
            if HeldSignals._asked:
                HeldSignals._asked = False
                raise KeyboardInterrupt
