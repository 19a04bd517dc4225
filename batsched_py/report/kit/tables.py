"""Makes tables and sections of a report; empty ones are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from batsched_py.report.document import Column, Kind, Part, Section, Table

Rows = Sequence[Mapping[str, Any]] | pd.DataFrame
"""The rows of a table or a chart."""


def columns(
    *names: str | Mapping[str, str], decimals: int | None = None, kind: Kind = "", **titles: str
) -> tuple[Column, ...]:
    """Return columns with the same options; titles are given as ``name=title``.

    Columns whose names are no Python names are given as a mapping from names to titles.
    """
    headings: dict[str, str] = {}
    for name in names:
        headings |= {name: ""} if isinstance(name, str) else name
    headings |= titles
    return tuple(Column(name, title, decimals, kind) for name, title in headings.items())


def table(
    name: str,
    title: str,
    rows: Rows,
    shown: Iterable[Column],
    note: str = "",
    marks: Iterable[tuple[int, str]] = (),
) -> Table | None:
    """Return a table of ``rows``, None if there are none."""
    frame = pd.DataFrame(rows)
    return Table(name, title, frame, tuple(shown), note, tuple(marks)) if len(frame) else None


def where_known(rows: Rows, shown: Iterable[Column]) -> tuple[Column, ...]:
    """Return the ``shown`` columns, except columns of published numbers that no row has."""
    frame, shown = pd.DataFrame(rows), tuple(shown)
    about = [column for column in shown if column.kind in ("published", "difference")]
    nothing = {c.name for c in about if c.name not in frame or frame[c.name].isna().all()}
    return tuple(column for column in shown if column.name not in nothing)


def sections(
    parts: Iterable[tuple[str, Iterable[Part | None]]], *, for_reference: bool = False
) -> Iterator[Section]:
    """Yield a section for each title that has parts; parts that are None are left out."""
    for title, given in parts:
        there = tuple(part for part in given if part is not None)
        if there:
            yield Section(title, there, for_reference)
