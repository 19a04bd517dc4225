"""CSV that programs read back: every text as it is, whatever is in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

_MARKS = ',"\n\r'
_MUST_QUOTE = re.compile(f"[{_MARKS}]").search


def field(text: str) -> str:
    """Quote a field if it needs it (a job may be called anything).

    The ``csv`` of Python before 3.13 does not for a line break that is no end of a line there.
    """
    return '"' + text.replace('"', '""') + '"' if _MUST_QUOTE(text) else text


def fields(texts: list[str]) -> list[str]:
    """Quote those of many fields that need it."""
    together = "".join(texts)
    return list(map(field, texts)) if any(mark in together for mark in _MARKS) else texts


def csv_line(texts: Iterable[str]) -> str:
    """Return fields as a line."""
    return ",".join(map(field, texts)) + "\n"


def csv_lines(*columns: list[str]) -> Iterator[str]:
    """Yield the lines of columns of fields, quoted by now where they need it."""
    *others, last = columns
    return map(",".join, zip(*others, [f"{text}\n" for text in last], strict=True))


def six_decimals(column: NDArray[np.float64]) -> list[str]:
    """Return numbers as texts with six decimals, as C's ``%.6f``; nothing for nan.

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
