"""Writes CSV: tables for programs, with unchanged texts, and tables for spreadsheets.

A spreadsheet takes a cell that begins with ``=`` for a formula, which may start programs and send
data away, and so it does with ``+``, ``-``, ``@`` and their wide forms. Names of users and jobs,
labels and titles may come from anybody. In tables for readers an apostrophe before such a text says
that it is one.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
_NO_TEXTS = "biufcmM"
"""Kinds of numpy's types: numbers, and times."""
_FORMULA = re.compile(
    "[=+@\t\n\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    "\N{FULLWIDTH COMMERCIAL AT}\N{FULLWIDTH HYPHEN-MINUS}-].",
    re.DOTALL,
)
_MARKS = ',"\n\r'
_MUST_QUOTE = re.compile(f"[{_MARKS}]").search


def quote_field(text: str) -> str:
    """Return a field, quoted if it needs quotes (names of jobs may have commas).

    The ``csv`` of Python before 3.13 does not for a line break that does not end a line there.
    """
    return '"' + text.replace('"', '""') + '"' if _MUST_QUOTE(text) else text


def quote_fields(texts: list[str]) -> list[str]:
    """Return many fields, each quoted if it needs quotes."""
    together = "".join(texts)
    return list(map(quote_field, texts)) if any(mark in together for mark in _MARKS) else texts


def make_csv_line(texts: Iterable[str]) -> str:
    """Return a line of CSV, with quotes around the fields that need them."""
    return ",".join(quote_fields([*texts])) + "\n"


def make_csv_lines(*columns: list[str]) -> Iterator[str]:
    """Yield the lines of a table from columns of quoted fields."""
    *others, last = columns
    return map(",".join, zip(*others, [f"{text}\n" for text in last], strict=True))


def six_decimals(column: NDArray[np.float64]) -> list[str]:
    """Return numbers as texts with six decimals, as C's ``%.6f``; ``""`` for nan.

    A column is formatted at once, one of whole numbers without looking for decimals.
    """
    if len(there := np.flatnonzero(~np.isnan(column))) < len(column):
        texts = np.full(len(column), "", dtype=object)
        texts[there] = six_decimals(column[there])
        return texts.tolist()
    bits = column.view(np.int64)
    if len(column) and (bits == bits[0]).all():
        return [f"{column[0]:.6f}"] * len(column)
    with np.errstate(invalid="ignore"):  # of what is too large for an integer
        whole = column.astype(np.int64)
    if (whole.astype(np.float64).view(np.int64) == bits).all():  # and none is -0.0
        return _formatted("%d.000000", whole.tolist())
    return _formatted("%.6f", column.tolist())


def _formatted(form: str, values: list[int] | list[float]) -> list[str]:
    return (f"{form}\n" * len(values) % tuple(values)).split("\n")[:-1]


def protect_cell(value: T) -> T | str:
    """Return the value of a cell, with an apostrophe before a text that would be a formula.

    A carriage return, which would begin a row, is a line feed, which is quoted.
    """
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n") if "\r" in value else value
    if not _FORMULA.match(text):
        return text
    with suppress(ValueError):
        float(text)
        return text
    return f"'{text}"


def csv_of_rows(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV below the ``names`` of their columns; None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(map(protect_cell, row) for row in chain([names], rows))
    return text.getvalue()


def format_frame_csv(frame: pd.DataFrame) -> str:
    """Return a data frame as CSV, with the names of its columns and without its index."""
    texts = frame.copy(deep=False)
    texts.columns = [protect_cell(name) for name in frame.columns]
    for at, kind in enumerate(frame.dtypes):
        if kind.kind not in _NO_TEXTS:
            values: list[Any] = [protect_cell(value) for value in frame.iloc[:, at]]
            texts.isetitem(at, np.array([*values, None], dtype=object)[:-1])
    return texts.to_csv(index=False)
