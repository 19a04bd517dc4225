"""CSV for people: a spreadsheet shows the texts of its cells, and computes none of them.

A spreadsheet takes a cell that begins with ``=`` for a formula, which may start programs and send
data away, and so it does with ``+``, ``-``, ``@`` and their wide forms. Names of users and jobs,
labels and titles are anybody's. An apostrophe before such a text says that it is one.

Tables that a program reads (Batsim's ``_jobs.csv`` and those beside it) have texts as they are.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

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


def as_text(value: T) -> T | str:
    """Return the value of a cell: a text that would be a formula with an apostrophe before it.

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
    writer.writerows(map(as_text, row) for row in chain([names], rows))
    return text.getvalue()


def csv_of(frame: pd.DataFrame) -> str:
    """Return a frame as CSV, with the names of its columns and without its index."""
    texts = frame.copy(deep=False)
    texts.columns = [as_text(name) for name in frame.columns]
    for at, kind in enumerate(frame.dtypes):
        if kind.kind not in _NO_TEXTS:
            values: list[Any] = [as_text(value) for value in frame.iloc[:, at]]
            texts.isetitem(at, np.array([*values, None], dtype=object)[:-1])
    return texts.to_csv(index=False)
