"""A report on a terminal: verdicts and tables. Figures are in the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markdown import Markdown
from rich.measure import Measurement
from rich.segment import Segments
from rich.table import Table as RichTable
from rich.text import Text as RichText

from batsched_py.report.cells import headings, is_numeric, marked, rows_of, tally, verdict
from batsched_py.report.document import Table, Text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from batsched_py.report.document import Report, Verdict

_STYLES = {True: "green", False: "red", None: "yellow"}
_KINDS = {"": "", "ours": "bold", "published": "cyan", "difference": "dim"}


def print_report(report: Report, console: Console) -> None:
    """Print title, summary, verdicts and all tables.

    A table that is wider than the terminal is printed whole all the same: its lines are long.
    """
    console.print(RichText(report.title, style="bold"))
    console.print(RichText(report.source, style="dim"))
    _markdown(report.summary, console)
    _print_verdicts(report.verdicts, console)
    for section in report.sections:
        shown = [part for part in section.parts if isinstance(part, Table | Text)]
        if not shown:
            continue
        console.print()
        console.print(RichText(section.title, style="bold underline"))
        for part in shown:
            if isinstance(part, Text):
                _markdown(part.markdown, console)
            else:
                print_table(part, console)


def print_table(table: Table, console: Console) -> None:
    """Print a table whole, however wide it is, with its note."""
    rich = RichTable(title=RichText(table.title), title_justify="left", box=box.SIMPLE_HEAD)
    for title, column in zip(headings(table), table.shown, strict=True):
        rich.add_column(
            RichText(title),
            justify="right" if is_numeric(table, column) else "left",
            style=_KINDS[column.kind],
            no_wrap=True,
        )
    emphasised = marked(table)
    for at, row in enumerate(rows_of(table)):
        rich.add_row(
            *(
                RichText(text, style="reverse" if (at, place) in emphasised else "")
                for place, text in enumerate(row)
            )
        )
    console.print()
    _whole(rich, console)
    _markdown(table.note, console)


def _whole(rich: RenderableType, console: Console) -> None:
    """Print something in the width that it needs, be that more than the terminal has."""
    endless = console.options.update(width=10_000, max_width=10_000)
    needed = max(Measurement.get(console, endless, rich).maximum, 1)
    drawn = console.render(rich, endless.update(width=needed, max_width=needed))
    console.print(Segments(drawn), crop=False, no_wrap=True, overflow="ignore", end="")


def _print_verdicts(verdicts: tuple[Verdict, ...], console: Console) -> None:
    if not verdicts:
        return
    console.print()
    console.print(RichText(f"Claims of the paper: {tally(verdicts)}", style="bold"))
    for said in verdicts:
        on = f" ({said.log})" if said.log else ""
        line = RichText()
        line.append(f"{verdict(said)}: ", style=_STYLES[said.holds])
        line.append(f"{said.claim}{on}")
        console.print(line)
        _markdown(said.evidence, console, indent=4)


def _markdown(text: str, console: Console, indent: int = 0) -> None:
    if text.strip():
        from rich.padding import Padding

        console.print(Padding(Markdown(text), (0, 0, 0, indent)))
