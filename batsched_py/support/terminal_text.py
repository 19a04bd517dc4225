"""Prints text on a terminal so that control characters in it have no effect.

Names of users, jobs, hosts and files, labels, notes and messages come from files, which may be
anybody's. A terminal obeys control characters in them: they may overwrite what stands there, or
turn around what is read. So the command line prints through :func:`standard_streams`, which shows
each as its number (``\\u001b``). What is printed as one line is to be made one by :func:`one_line`.

A stream may know fewer characters than a text has, as in a locale that is not UTF-8. Characters
that it does not know are replaced: signs by similar ones, others by ``?``.

A reader that has gone (``| head``) is no error: the work goes on, and its files are written.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from batsched_py.errors import OutputError

if TYPE_CHECKING:
    from rich.console import Console

_OBEYED = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
"""Control characters but tab and line feed, what turns the direction of writing, and halves of
characters, which no stream can write."""
_CONTROL = re.compile(f"[{_OBEYED}]")
_CONTROL_IN_LINE = re.compile(f"[{_OBEYED}\t\n]")
_LONGEST_MESSAGE = 4000
"""Characters, some fifty lines of a terminal; file names of the system have as many."""
_SIMILAR = str.maketrans(
    {
        "\N{MINUS SIGN}": "-",
        "\N{EN DASH}": "-",
        "\N{EM DASH}": "-",
        "\N{PLUS-MINUS SIGN}": "+-",
        "\N{MULTIPLICATION SIGN}": "x",
        "\N{INFINITY}": "inf",
        "\N{BULLET}": "*",
        "\N{HORIZONTAL ELLIPSIS}": "...",
        "\N{CHECK MARK}": "+",
        "\N{BALLOT X}": "x",
        "\N{BOX DRAWINGS LIGHT HORIZONTAL}": "-",
        "\N{BOX DRAWINGS HEAVY HORIZONTAL}": "-",
        "\N{BOX DRAWINGS LIGHT VERTICAL}": "|",
        "\N{FULL BLOCK}": "#",
    }
)
"""Signs of our own tables, and what stands for each where a stream does not know it."""
_GAP = "  "
"""Between the columns of a table."""
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def escape_controls(text: str) -> str:
    """Return a text with its control characters escaped, except tabs and line ends."""
    return _CONTROL.sub(_escaped, text)


def one_line(text: str) -> str:
    """Return a text as one line, with all control characters escaped."""
    return _CONTROL_IN_LINE.sub(_escaped, text)


def make_message_line(message: str) -> str:
    """Return an error message as one line; the middle of a very long one is left out."""
    line = one_line(" ".join(message.split()))
    if len(line) <= _LONGEST_MESSAGE:
        return line
    return f"{line[: _LONGEST_MESSAGE - 600]} ... {line[-500:]}"


def _escaped(match: re.Match[str]) -> str:
    return _SHORT.get(match[0]) or f"\\u{ord(match[0]):04x}"


def say(text: str) -> None:
    """Print a line for the user on standard error; results go to standard output."""
    print(one_line(text), file=sys.stderr, flush=True)


def print_exactly(text: str, end: str = "\n") -> None:
    """Print JSON or CSV for another program, every character unchanged.

    One that the stream does not know is written as JSON writes it, ``\\u2022``.
    """
    print(_known_to(sys.stdout, text, "as JSON"), end=end, file=unwrap_stream(sys.stdout))


def _known_to(stream: TextIO, text: str, errors: str) -> str:
    """Return a text whose characters a stream knows, by one of the ways registered below."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, errors).decode(encoding)


def _similar(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    other = error.object[error.start].translate(_SIMILAR)
    return other if other.isascii() else "?", error.start + 1


def _as_json(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start])[1:-1], error.start + 1


codecs.register_error("similar", _similar)
codecs.register_error("as JSON", _as_json)


def unwrap_stream(stream: TextIO) -> TextIO:
    """Return a stream that prints control characters, unlike :func:`standard_streams`."""
    return cast(TextIO, stream.exact) if isinstance(stream, _Stream) else stream


def console(*, stderr: bool = False) -> Console:
    """Return a console of rich that escapes control characters in its texts."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Showing(Console):
        """Shows control characters in what it renders."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else escape_controls(text), style, control)

    return Showing(file=unwrap_stream(sys.stderr if stderr else sys.stdout))


@contextmanager
def standard_streams() -> Iterator[None]:
    """Escape control characters in all output, and ignore a pipe that was closed.

    A process that was started without standard streams gets streams that lead nowhere. Raises
    :class:`OutputError` if what was printed cannot be written, such as on a full disk.
    """
    _open_closed()
    before = sys.stdout, sys.stderr
    sys.stdout = cast(TextIO, _Stream(sys.stdout, "standard output"))
    sys.stderr = cast(TextIO, _Stream(sys.stderr))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class _Stream:
    """A stream whose text is shown, and with ``exact`` the same one, whose text is as it is.

    It has a name if it matters that it cannot be written.
    """

    def __init__(self, stream: TextIO, name: str = "", *, is_exact: bool = False) -> None:
        self._stream = stream
        self._name = name
        self._is_exact = is_exact
        self.exact = self if is_exact else _Stream(stream, name, is_exact=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        # which takes no bytes, as click asks
        printed = text if self._is_exact else escape_controls(text)
        if text:  # it also writes nothing, and hears no failure
            with self._written():
                self._stream.write(_known_to(self._stream, printed, "similar"))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with self._written():
            self._stream.flush()

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            _lead_nowhere(self._stream)
            if self._name and not isinstance(error, BrokenPipeError):
                reason = error.strerror or error
                raise OutputError(f"{self._name} cannot be written: {reason}") from None


def _lead_nowhere(stream: TextIO) -> None:
    """Let a stream take all that is written, also what it still holds and writes at its end."""
    with suppress(OSError, ValueError):  # it has no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _open_closed() -> None:
    """Open standard streams that are closed, lest the next file that is opened becomes one."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            # it gets the lowest number that is free
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: Collection[str] = ()
) -> None:
    """Print a table; ``numeric`` columns are aligned to the right.

    Only a terminal has a rule below the headings: in a pipe each line but the first is a row.
    """
    headings, *rows = [list(map(one_line, line)) for line in (headings, *rows)]
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    lines = [headings, *rows]
    if sys.stdout.isatty():
        lines.insert(1, ["─" * width for width in widths])
    for line in lines:
        cells = (
            text.rjust(width) if heading in numeric else text.ljust(width)
            for heading, text, width in zip(headings, line, widths, strict=True)
        )
        print(_GAP.join(cells).rstrip())


def print_pairs(pairs: Sequence[tuple[str, str]], indent: str = "") -> None:
    """Print names and their descriptions in two columns."""
    pairs = [(one_line(name), one_line(text)) for name, text in pairs]
    width = max((len(name) for name, _ in pairs), default=0)
    for name, text in pairs:
        print(f"{indent}{name:{width}}{_GAP}{text}".rstrip())
