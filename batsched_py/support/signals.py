"""Requests to end: Ctrl-C, SIGTERM and a closed terminal.

Python runs a handler of a signal only between two steps of Python code. A policy inside native code
(numpy, numba, a loop in C) can hold such a handler up for ever. So commands without a partner or
child processes leave requests to the system (:func:`default_stop_signals`): files are whole or
absent whenever the process ends. Commands that end other processes handle requests
(:func:`stop_signals`). If they also run a policy, they are :func:`killed_if_deaf`.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_ENDING = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))

_GRACE = 5.0
"""Seconds that :func:`killed_if_deaf` leaves between a request to end and SIGKILL."""


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

    It is :class:`Terminated` unless somebody pressed Ctrl-C. The block can then end children, or
    tell a simulator that waits for a reply. Does nothing outside the main thread, where signals
    cannot be handled.
    """
    with _handled_by(_interrupt):
        yield


@contextmanager
def default_stop_signals() -> Iterator[None]:
    """Let the system end the process on a request to end, whatever code it runs.

    The exit code is that of the signal: 130 for Ctrl-C and 143 for SIGTERM, as shells count. The
    system does not end process 1 of a container in this way: there it is :func:`stop_signals`.
    """
    with _handled_by(_interrupt if os.getpid() == 1 else signal.SIG_DFL):
        yield


@contextmanager
def kept_handlers() -> Iterator[None]:
    """Restore what the process does on a request to end, whatever plug-ins set in the block."""
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


@contextmanager
def killed_if_deaf() -> Iterator[None]:
    """Have the process killed if the block goes on for 5 s after a request to end.

    A helper process does it, so that native code cannot hold it up. It needs the main thread and
    :func:`stop_signals`, since it hears only of signals that Python handles. Does nothing on
    Windows.
    """
    if current_thread() is not main_thread() or not hasattr(os, "killpg"):
        yield
        return
    command = [sys.executable, "-I", "-S", __file__, str(os.getpid())]
    # In a group of its own, Ctrl-C in the terminal does not reach it. It ends with its input.
    with subprocess.Popen(command, stdin=subprocess.PIPE, process_group=0) as helper:
        assert helper.stdin is not None
        file = helper.stdin.fileno()
        os.set_blocking(file, False)
        before = signal.set_wakeup_fd(file, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)


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


def _kill_if_deaf(process: int) -> None:
    """Kill a process if its pipe to standard input stays open after a request to end.

    The pipe carries the numbers of the signals that the process has got.
    """
    while number := os.read(0, 1):
        if number[0] in _ENDING:
            break
    deadline = time.monotonic() + _GRACE
    while select.select([0], [], [], max(0.0, deadline - time.monotonic()))[0]:
        if not os.read(0, 1):
            return
    os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    _kill_if_deaf(int(sys.argv[1]))
