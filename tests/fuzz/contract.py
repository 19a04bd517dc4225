"""What every reader promises: a result, or an error of ours that says where, in time."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    seeds: Callable[[], Sequence[bytes]]
    """Small inputs that are right."""
    feed: Callable[[bytes], str]
    """Feeds an input to the reader, in the working directory, which is a folder for it. Returns
    or raises why it was refused, empty if it was not; raises anything else for a broken promise."""
    tokens: Sequence[str] = ()
    """Words of the format."""

    def check(self, data: bytes) -> str:
        """Return why an input was refused, empty if it was not."""
        return reason(self.feed, data)


def words(text: str) -> list[str]:
    """Return the words of a text, for a list that is long."""
    return text.split()


class Refused(Exception):  # noqa: N818 - it is none of the reader
    """An input was refused as it should be, with this message."""


def reason(check: Callable[..., str], *arguments: Any) -> str:
    """Return what a check returns, or why it was refused."""
    try:
        return check(*arguments)
    except Refused as refused:
        return str(refused)


def reasons(check: Callable[..., str], values: Iterable[Any]) -> str:
    """Return why an input was refused with each of some values."""
    return " / ".join(reason(check, value) for value in values)


class TooSlow(BaseException):
    """An input takes too long; no ``except Exception`` catches it."""


@contextmanager
def refusing(kind: type[BatschedError], *names: object) -> Iterator[None]:
    """Take errors of a kind that have these names for a refusal."""
    try:
        yield
    except kind as error:
        raise Refused(refusal(error, *map(str, names))) from None


def refusal(error: BatschedError, *names: str) -> str:
    """Return the line that the command prints of an error; assert that it has the names."""
    text = make_message_line(str(error))
    assert text, f"{type(error).__name__} without a message"
    assert text.encode(), "a line that cannot be printed"
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
