"""What every reader promises: a result, or an error of ours that says where, in time."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from batsched_py.errors import BatschedError
from batsched_py.support.terminal_text import make_message_line

SECONDS = 5.0
"""How long one input may keep the processor."""
MEGABYTES = 300
"""By so much memory may grow with one input."""
LONGEST = 100_000
"""Bytes of an input."""


class Target(NamedTuple):
    """Something that reads what others wrote."""

    name: str
    examples: Callable[[], Sequence[bytes]]
    """Small inputs that are right."""
    feed: Callable[[bytes], None]
    """Feeds an input to the reader, in the working directory, which is a folder for it. Raises
    :class:`Refused` if it was refused; anything else is a broken promise."""
    words: str = ""
    """Words of the format, with spaces between."""

    def check(self, data: bytes) -> str:
        """Return why an input was refused, empty if it was not."""
        try:
            self.feed(data)
        except Refused as refused:
            return str(refused)
        return ""


class Refused(Exception):  # noqa: N818 - it is none of the reader
    """An input was refused as it should be, with this message."""


class TooSlow(BaseException):
    """An input takes too long; no ``except Exception`` catches it."""


def each(feed: Callable[[Any], None], *values: Any) -> None:
    """Feed all values; raise the first refusal when all are done."""
    refusals = []
    for value in values:
        try:
            feed(value)
        except Refused as refused:
            refusals.append(refused)
    if refusals:
        raise refusals[0]


@contextmanager
def refusing(kind: type[BatschedError], *names: object) -> Iterator[None]:
    """Take errors of a kind for a refusal; their line must have these names."""
    try:
        yield
    except kind as error:
        raise Refused(_line_of(error, *map(str, names))) from None


def _line_of(error: BatschedError, *names: str) -> str:
    text = make_message_line(str(error))
    assert text.encode(), f"{type(error).__name__} without a message"
    assert "Traceback" not in text, "a traceback in a message"
    for name in names:
        assert name in text, f"{name} is not named in: {text[:300]!r}"
    return text


def same(before: Any, after: Any, what: str) -> None:
    """Assert that what was written and read again is what was read before."""
    assert before == after, f"{what}: read again it is another"


@contextmanager
def in_time(seconds: float = SECONDS) -> Iterator[None]:
    """Raise :class:`TooSlow` in what computes for longer; what others compute is not counted."""

    def stop(*_: Any) -> None:
        raise TooSlow(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
