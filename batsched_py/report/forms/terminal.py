"""Prints a report on a terminal: verdicts and tables, without figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.segment import Segments
from rich.table import Table as RichTable
from rich.text import Text as RichText

from batsched_py.report.document import Kind, Report, Table, Text, Verdict
from batsched_py.report.formatting import (
    SYMBOLS,
    WORDS,
    find_marked_cells,
    format_answer,
    format_full_headings,
    format_method,
    format_rows,
    format_verdict,
    is_numeric,
)
from batsched_py.support.terminal_text import one_line

_STYLES = {True: "green", False: "red", None: "yellow"}
_KINDS: dict[Kind, str] = {"": "", "ours": "bold", "published": "cyan", "difference": "dim"}
_MARKS = {"mark": "reverse", "better": "green", "worse": "red"}
_STAR = "* "
_GAP = 2
"""Blanks between two columns."""
_UNLIMITED = 10_000
_OF_FILES = 100
"""Width of tables in a pipe or a file."""
_TEXT = 24
"""Words of a text are broken into lines of this width, if there is not room for more."""


class _Column(msgspec.Struct, frozen=True):
    """A column of a table as texts."""

    title: str
    kind: Kind
    numeric: bool
    cells: list[str]
    marks: dict[int, str]
    """Rows to emphasise, and how."""

    @property
    def wide(self) -> int:
        """The width in which nothing is broken."""
        return max(cell_len(line) for text in (self.title, *self.cells) for line in _lines(text))

    @property
    def narrow(self) -> int:
        """The width below which numbers or words would be broken."""
        cells = max((cell_len(line) for text in self.cells for line in _lines(text)), default=0)
        words = max(map(cell_len, self.title.split()), default=0)
        return max(words, cells if self.numeric else min(cells, _TEXT))


def _lines(text: str) -> list[str]:
    return text.splitlines() or [""]


def print_report(report: Report, console: Console) -> None:
    """Print title, answer, verdicts, the tables that are not only for reference, and the method."""
    console.print(RichText(one_line(report.title), style="bold"))
    _markdown("\n\n".join((format_answer(report), *report.cautions)), console)
    _print_verdicts(report.verdicts, console)
    for section in report.sections:
        shown = [part for part in section.parts if isinstance(part, Table | Text)]
        if not shown or section.for_reference:
            continue
        console.print()
        console.print(RichText(one_line(section.title), style="bold underline"))
        for part in shown:
            if isinstance(part, Text):
                _markdown(part.markdown, console)
            else:
                print_table(part, console)
    _markdown(format_method(report), console)
    if report.source:
        console.print(RichText(report.source, style="dim"))


def print_table(table: Table, console: Console) -> None:
    """Print a table with its note.

    If the terminal is too narrow, headings are broken first, then the columns stand in several
    blocks below each other. A pipe or a file counts as a terminal of 100 characters.
    """
    width = console.width if console.is_terminal else _OF_FILES
    numbers = {column.name for column in table.shown if is_numeric(table, column)}
    starred = not console.is_terminal and any(name in numbers for _, name in table.marks)
    for number, block in enumerate(_blocks(_columns(table, starred), width)):
        console.print()
        title = one_line(table.title) + (" (continued)" if number else "")
        console.print(RichText(title, style="italic"))
        _print_block(block, width, console)
    if starred:
        console.print(_STAR.strip() + ": marked.")
    _markdown(table.note, console)


def _columns(table: Table, starred: bool) -> list[_Column]:
    """Return the columns of a table; ``starred``: a star shows marks where styles are not seen."""
    texts = list(zip(*format_rows(table), strict=True)) or [()] * len(table.shown)
    emphasised = find_marked_cells(table)
    return [
        _Column(
            title,
            column.kind,
            is_numeric(table, column),
            [_star(text, emphasised.get((row, place)), starred) for row, text in enumerate(cells)],
            {row: kind for (row, at), kind in emphasised.items() if at == place},
        )
        for place, (title, column, cells) in enumerate(
            zip(format_full_headings(table), table.shown, texts, strict=True)
        )
    ]


def _star(text: str, kind: str | None, starred: bool) -> str:
    return _STAR + text if starred and kind == "mark" else text


def _is_room(columns: Sequence[_Column], width: int) -> bool:
    return sum(column.narrow + _GAP for column in columns) <= width


def _blocks(columns: Sequence[_Column], width: int) -> Iterator[list[_Column]]:
    """Yield columns that fit side by side; the labels at the left stand in every block."""
    if _is_room(columns, width):
        yield list(columns)
        return
    first_value = next((at for at, c in enumerate(columns) if c.numeric or c.kind), len(columns))
    labels = list(columns[:first_value])
    while labels and not _is_room(labels, width // 2):
        labels.pop()
    block = list(labels)
    for column in columns[len(labels) :]:
        if len(block) > len(labels) and not _is_room([*block, column], width):
            yield block
            block = list(labels)
        block.append(column)
    yield block


def _print_block(columns: Sequence[_Column], width: int, console: Console) -> None:
    """Print columns in a width, and in more than that if one alone needs it."""
    rich = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column, wide in zip(columns, _widths(columns, width), strict=True):
        rich.add_column(
            RichText(column.title),
            justify="right" if column.numeric else "left",
            style=_KINDS[column.kind],
            width=wide,
        )
    for at, cells in enumerate(zip(*(column.cells for column in columns), strict=True)):
        rich.add_row(
            *(
                RichText(text, style=_MARKS[column.marks[at]] if at in column.marks else "")
                for text, column in zip(cells, columns, strict=True)
            )
        )
    needed = console.options.update(width=_UNLIMITED, max_width=_UNLIMITED)
    lines = console.render(rich, needed)
    console.print(Segments(lines), crop=False, no_wrap=True, overflow="ignore", end="")


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """Return the widths of columns: as wide as they like, the widest ones narrowed to fit."""
    most = max((column.wide for column in columns), default=0)
    for limit in range(most, 0, -1):
        widths = [max(column.narrow, min(column.wide, limit)) for column in columns]
        if sum(widths) + _GAP * len(widths) <= width:
            return widths
    return [column.narrow for column in columns]


def _print_verdicts(verdicts: tuple[Verdict, ...], console: Console) -> None:
    if not verdicts:
        return
    console.print()
    console.print(RichText("Claims", style="bold"))
    for judged in verdicts:
        if judged.holds is not None:
            on = f" ({judged.log})" if judged.log else ""
            line = RichText()
            line.append(f"{format_verdict(judged)}: ", style=_STYLES[judged.holds])
            line.append(f"{judged.claim}{on}")
            console.print(line)
            _markdown(judged.reasons, console, indent=4)
    unknown = sum(judged.holds is None for judged in verdicts)
    if unknown:
        line = RichText(f"{SYMBOLS[None]} {WORDS[None]}", style=_STYLES[None])
        line.append(f": {unknown} more; the HTML report shows what is missing")
        console.print(line)


def _markdown(text: str, console: Console, indent: int = 0) -> None:
    if text.strip():
        console.print(Padding(Markdown(text), (0, 0, 0, indent)))
