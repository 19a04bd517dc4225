"""The parts of a report: sections with tables, figures and texts, and verdicts.

Texts are Markdown. Tables and figures have a ``name``, which becomes the name of their files: it
is unique within a report, in small letters, digits and underscores.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["", "ours", "published", "difference"]
"""What a column holds: ours and published ones are set beside each other."""


class Column(msgspec.Struct, frozen=True):
    """A shown column of a table, with its format; the CSV file of the table has all digits."""

    name: str
    """Of the column in :attr:`Table.frame`."""
    title: str = ""
    """Its heading, with the unit; the name if empty."""
    decimals: int | None = None
    """Digits after the point; None for four significant digits (integers as they are)."""
    kind: Kind = ""
    scale: float = 1.0
    """What is shown is the frame's number divided by this: 3600 for hours of seconds."""
    below: str = ""
    """A column of texts that stand below these values, in small type; none if empty."""


class Table(msgspec.Struct, frozen=True):
    """A table: a data frame, with the columns to show and their formats."""

    name: str
    title: str
    frame: pd.DataFrame
    columns: tuple[Column, ...] = ()
    """Those shown, in order; all if empty."""
    note: str = ""
    """Markdown below the table: units, over what, what differs."""
    marks: tuple[tuple[int, str], ...] = ()
    """Cells to emphasise: row number in the frame, name of the column."""

    def __post_init__(self) -> None:
        _check_name(self.name)
        names = [name for column in self.columns for name in (column.name, column.below) if name]
        missing = [name for name in names if name not in self.frame]
        if missing:
            raise ValueError(f"table {self.name}: its frame has no columns {missing}")

    @property
    def shown(self) -> tuple[Column, ...]:
        """The data of the shown columns."""
        return self.columns or tuple(Column(str(name)) for name in self.frame.columns)


class Figure(msgspec.Struct, frozen=True, dict=True):
    """A figure: a Vega-Lite chart, of altair or as a dictionary, with its data.

    One can hover and zoom it in HTML; it is written as PNG, SVG and the CSV of its data as well.
    """

    name: str
    title: str
    chart: Any
    caption: str = ""
    """Markdown: what the figure shows, and which figure of the paper it repeats."""

    def __post_init__(self) -> None:
        _check_name(self.name)

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification, which is not to be changed."""
        if isinstance(self.chart, dict):
            return self.chart
        made: dict[str, Any] = self.chart.to_dict()
        return made


class Text(msgspec.Struct, frozen=True):
    """Paragraphs of Markdown."""

    markdown: str


Part = Table | Figure | Text
"""What a section has."""


class Section(msgspec.Struct, frozen=True):
    """A part of a report with a heading."""

    title: str
    parts: tuple[Part, ...]
    for_reference: bool = False
    """Whether it is there to be looked up: it is on the page and in files, not in a terminal."""


class Verdict(msgspec.Struct, frozen=True):
    """The verdict of the runs on a claim of the paper."""

    claim: str
    """The claim, as a sentence."""
    holds: bool | None
    """None if it is inconclusive: too few runs, or none about the claim."""
    evidence: str
    """The numbers behind it, in a sentence or two (Markdown)."""
    log: str = ""
    """On which log, if that matters."""
    effect: str = ""
    """The number that decides the verdict, with its interval and how many runs it is from."""
    reading: str = ""
    """The interpretation of the source that it depends on, if there are several."""

    def __post_init__(self) -> None:
        if self.holds is not None:  # a comparison of arrays gives numpy's
            msgspec.structs.force_setattr(self, "holds", bool(self.holds))

    @property
    def reasons(self) -> str:
        """Effect, interpretation and evidence of the verdict, in this order (Markdown)."""
        told = [f"**{self.effect}**." if self.effect else ""]
        told += [f"Reading: {self.reading}." if self.reading else "", self.evidence]
        return " ".join(part for part in told if part)


class Report(msgspec.Struct, frozen=True):
    """A report: title, summary, verdicts, and sections of tables, figures and texts."""

    title: str
    source: str
    """The publication, as one cites it."""
    sections: tuple[Section, ...]
    verdicts: tuple[Verdict, ...] = ()
    summary: str = ""
    """Markdown at the top: what was done, and what came out."""
    terms: tuple[tuple[str, str], ...] = ()
    """Words that the report uses, each with what it means (Markdown)."""

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts if not isinstance(part, Text)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"report {self.title!r}: several parts have the name {twice[0]!r}")

    def __repr__(self) -> str:
        """Return the title, the summary, and the names of tables and figures."""
        lines = [self.title, *([self.summary] if self.summary else [])]
        for kind, parts in (("tables", self.tables), ("figures", self.figures)):
            lines.append(f"{kind}: {', '.join(part.name for part in parts) or 'none'}")
        return "\n  ".join(lines)

    @property
    def parts(self) -> list[Part]:
        """The parts of all sections."""
        return [part for section in self.sections for part in section.parts]

    @property
    def tables(self) -> list[Table]:
        """The tables of all sections."""
        return [part for part in self.parts if isinstance(part, Table)]

    @property
    def figures(self) -> list[Figure]:
        """The figures of all sections."""
        return [part for part in self.parts if isinstance(part, Figure)]


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise ValueError(f"name {name!r}: expected small letters, digits and underscores")
