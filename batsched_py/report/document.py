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
"""The content of a column: a simulated value (``ours``), a published one, or their difference."""


class Column(msgspec.Struct, frozen=True):
    """A shown column of a table, with its format; the CSV file of the table has all digits."""

    name: str
    """The name of the column in :attr:`Table.frame`."""
    title: str = ""
    """Its heading, with the unit; the name if empty."""
    decimals: int | None = None
    """Digits after the point; None for four significant digits (integers as they are)."""
    kind: Kind = ""
    scale: float = 1.0
    """The value is divided by this number: 3600 shows seconds as hours."""
    below: str = ""
    """A column of texts to show below these values, in small type; none if empty."""


class Table(msgspec.Struct, frozen=True):
    """A table: a data frame, with the columns to show and their formats."""

    name: str
    title: str
    frame: pd.DataFrame
    columns: tuple[Column, ...] = ()
    """The columns to show, in order; all if empty."""
    note: str = ""
    """Markdown below the table, for example units."""
    marks: tuple[tuple[int, str], ...] = ()
    """Cells to emphasise: row number in the frame, name of the column."""
    better: tuple[tuple[int, str], ...] = ()
    """Cells to show as an improvement, as in :attr:`marks`; a text in them says so, too."""
    worse: tuple[tuple[int, str], ...] = ()
    """Cells to show as the opposite."""

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

    HTML shows it with tooltips and zoom. Files have it as PNG and SVG, and its data as CSV.
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
"""A part of a section."""


class Section(msgspec.Struct, frozen=True):
    """A part of a report with a heading."""

    title: str
    parts: tuple[Part, ...]
    for_reference: bool = False
    """Whether readers only look things up there: HTML and files have it, a terminal does not."""


class Verdict(msgspec.Struct, frozen=True):
    """The verdict of the runs on a claim of the paper."""

    claim: str
    """The claim, as a sentence."""
    holds: bool | None
    """None if it is inconclusive: there are too few runs, or none about the claim."""
    evidence: str
    """The numbers behind it, in a sentence or two (Markdown)."""
    log: str = ""
    """On which log, if that matters."""
    effect: str = ""
    """The number that decides the verdict, with its interval and its number of runs."""
    reading: str = ""
    """The interpretation of the source that it depends on, if there are several."""

    def __post_init__(self) -> None:
        if self.holds is not None:  # a comparison of arrays gives numpy's
            msgspec.structs.force_setattr(self, "holds", bool(self.holds))

    @property
    def reasons(self) -> str:
        """Effect, interpretation and evidence of the verdict, in this order (Markdown)."""
        effect = f"**{self.effect}**." if self.effect else ""
        interpretation = f"Interpretation: {self.reading}." if self.reading else ""
        return " ".join(filter(None, (effect, interpretation, self.evidence)))


class Report(msgspec.Struct, frozen=True):
    """A report: an answer, verdicts, sections of tables, figures and texts, and a summary.

    It begins with the answer, the number of claims that hold, and one figure.
    """

    title: str
    source: str
    """The publication, as one cites it."""
    sections: tuple[Section, ...]
    verdicts: tuple[Verdict, ...] = ()
    summary: str = ""
    """Markdown: how the report was made. Without an answer it comes first."""
    terms: tuple[tuple[str, str], ...] = ()
    """Words that the report uses, each with what it means (Markdown)."""
    answer: str = ""
    """Markdown: the result in one or two sentences with numbers."""
    cautions: tuple[str, ...] = ()
    """What restricts the answer, each a short paragraph of Markdown."""
    figure: str = ""
    """The name of the figure below the answer; the first one if empty."""

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts if not isinstance(part, Text)]
        if self.figure and self.figure not in names:
            raise ValueError(f"report {self.title!r}: there is no figure {self.figure!r}")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"report {self.title!r}: several parts have the name {twice[0]!r}")

    def __repr__(self) -> str:
        """Return the title, the answer, and the names of tables and figures."""
        lines = [self.title, *filter(None, [self.answer or self.summary])]
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

    @property
    def main_figure(self) -> Figure | None:
        """The figure below the answer."""
        wanted = (of for of in self.figures if self.figure in ("", of.name))
        return next(wanted, None)


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise ValueError(f"name {name!r}: expected small letters, digits and underscores")
