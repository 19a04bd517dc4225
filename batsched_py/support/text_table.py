"""Tables on a terminal and in a pipe, the same in all commands."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence

from batsched_py.support.terminal_text import one_line

GAP = "  "


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: Collection[str] = ()
) -> None:
    """Print columns of texts, those that are ``numeric`` to the right.

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
        print(GAP.join(cells).rstrip())


def print_pairs(pairs: Sequence[tuple[str, str]], indent: str = "") -> None:
    """Print names and what is said of each, below each other."""
    pairs = [(one_line(name), one_line(text)) for name, text in pairs]
    width = max((len(name) for name, _ in pairs), default=0)
    for name, text in pairs:
        print(f"{indent}{name:{width}}{GAP}{text}".rstrip())
