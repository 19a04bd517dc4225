"""Formats the values, headings and Markdown of a report, for all its forms."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report.document import Column, Report, Table, Verdict
from batsched_py.support.terminal_text import one_line

NOTHING = "\N{EN DASH}"
"""The text of a missing value."""
DIGITS = 4
"""Significant digits of a number, if the column says nothing else."""
_LARGE = 1e9  # from here on, and below _SMALL, with an exponent
_SMALL = 1e-4
WORDS = {True: "holds", False: "does not hold", None: "inconclusive"}
SYMBOLS = {True: "\N{CHECK MARK}", False: "\N{BALLOT X}", None: "?"}


def format_cell(value: Any, decimals: int | None = None) -> str:
    """Return a value of a table as text, or a dash if there is none.

    Integers as they are; other numbers with ``decimals`` digits after the point, or with four
    significant digits. No digit before the point is ever dropped.
    """
    if is_nothing(value):
        return NOTHING
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, Real):
        return _number(value, decimals)
    return str(value)


def format_value(value: Any, column: Column) -> str:
    """Return a value of a column as text, in the unit of the column."""
    if column.scale != 1 and isinstance(value, Real) and not is_nothing(value):
        value = float(value) / column.scale
    return format_cell(value, column.decimals)


def to_words(name: str) -> str:
    """Return the name of a metric or an axis as words."""
    return one_line(name.replace("_", " "))


def escape_markdown(name: str) -> str:
    """Return a name as Markdown that shows each character unchanged."""
    return re.sub(r"[*\\`[\]]", r"\\\g<0>", name)


def to_italics(name: str) -> str:
    """Return a name as Markdown in italics."""
    return f"*{escape_markdown(name)}*"


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values by dotted names: ``{"run": {"seed": 1}}`` gives ``{"run.seed": 1}``."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        is_nested = isinstance(value, Mapping)
        flat |= flatten(value, f"{prefix}{name}.") if is_nested else {f"{prefix}{name}": value}
    return flat


def listed(items: Iterable[Any]) -> str:
    """Return items as a list in words: "a, b and c"."""
    texts = list(map(str, items))
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def is_nothing(value: Any) -> bool:
    """Return whether a value is None, nan, NaT or pandas' NA."""
    if value is None:
        return True
    missing = pd.isna(value)
    return missing if isinstance(missing, bool) else False


def is_numeric(table: Table, column: Column) -> bool:
    """Return whether a column holds numbers only, so that it is aligned to the right."""
    values = [value for value in table.frame[column.name] if not is_nothing(value)]
    return bool(values) and all(
        isinstance(value, Real) and not isinstance(value, bool) for value in values
    )


def format_heading(column: Column) -> str:
    """Return the heading of a column."""
    return one_line(column.title or column.name)


def format_headings(table: Table) -> list[str]:
    """Return the headings of a table; equal ones get the kind of their column."""
    titles = [format_heading(column) for column in table.shown]
    return [
        f"{title}, {column.kind}" if column.kind and titles.count(title) > 1 else title
        for title, column in zip(titles, table.shown, strict=True)
    ]


def format_full_headings(table: Table) -> list[str]:
    """Return headings that are clear alone: on a narrow screen columns do not stand side by side.

    A published number and a difference begin with the heading of the simulated number.
    """
    headings, group = [], ""
    for column, heading in zip(table.shown, format_headings(table), strict=True):
        title = format_heading(column)
        if column.kind == "ours":
            group = title
        is_of_group = column.kind in ("published", "difference") and group not in ("", title)
        headings.append(f"{group}: {title}" if is_of_group else heading)
    return headings


def format_rows(table: Table) -> list[list[str]]:
    """Return the shown cells of all rows as texts."""
    columns = [
        [
            "\n".join(map(one_line, (format_value(value, column), *below.splitlines())))
            for value, below in zip(
                table.frame[column.name], list_texts_below(table, column), strict=True
            )
        ]
        for column in table.shown
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def list_texts_below(table: Table, column: Column) -> list[str]:
    """Return the small text below each value of a column."""
    return table.frame[column.below].tolist() if column.below else [""] * len(table.frame)


def find_marked_cells(table: Table) -> dict[tuple[int, int], str]:
    """Return the emphasised cells by numbers of the row and of the shown column, and how.

    They are ``better`` or ``worse``, or a neutral ``mark``.
    """
    at = {column.name: number for number, column in enumerate(table.shown)}
    kinds = {"mark": table.marks, "better": table.better, "worse": table.worse}
    return {
        (row, at[name]): kind for kind, cells in kinds.items() for row, name in cells if name in at
    }


def format_verdict(judged: Verdict) -> str:
    """Return a verdict as symbol and words."""
    return f"{SYMBOLS[judged.holds]} {WORDS[judged.holds]}"


def count_verdicts(verdicts: tuple[Verdict, ...]) -> str:
    """Return the number of verdicts of each kind: "2 of 4 claims hold, 1 does not"."""
    hold, fail, unknown = (
        sum(judged.holds is answer for judged in verdicts) for answer in (True, False, None)
    )
    if not verdicts:
        return "no claims"
    if unknown == len(verdicts) > 1:
        return f"all {unknown} claims are inconclusive"
    claims = f"claim{'s' if len(verdicts) > 1 else ''} hold{'s' if hold == 1 else ''}"
    parts = [f"{hold or 'none'} of {len(verdicts)} {claims}"]
    parts += [f"{fail} do{'es' if fail == 1 else ''} not"] if fail else []
    parts += [f"{unknown} {'are' if unknown > 1 else 'is'} inconclusive"] if unknown else []
    return ", ".join(parts)


def format_answer(report: Report) -> str:
    """Return what a report begins with, as Markdown: its answer and the number of its claims.

    The default answer is the first claim that holds or does not; without claims, the summary.
    """
    if not report.verdicts:
        return report.answer or report.summary
    tally = count_verdicts(report.verdicts)
    answer = report.answer
    decided = [of for of in report.verdicts if of.holds is not None]
    first, *_ = [*decided, *report.verdicts]
    if not answer and (decided or first.effect):
        on = f" on {first.log}" if first.log else ""
        effect = f" ({first.effect})" if first.effect else ""
        answer = f"{WORDS[first.holds].capitalize()}{on}: {first.claim.rstrip('.')}{effect}."
    return f"**{tally[0].upper()}{tally[1:]}.** {answer}".rstrip()


def format_method(report: Report) -> str:
    """Return how a report was made (Markdown), "" if :func:`format_answer` has it already."""
    return report.summary if report.answer or report.verdicts else ""


def _number(value: Real, decimals: int | None) -> str:
    number = float(value)
    if math.isinf(number):
        return "\N{INFINITY}" if number > 0 else "\N{MINUS SIGN}\N{INFINITY}"
    if decimals is not None:
        text = f"{number:.{decimals}f}"
    elif isinstance(value, Integral):
        text = str(int(value))
    elif number and not _SMALL <= abs(number) < _LARGE:
        text = f"{number:.{DIGITS - 1}e}"
    else:
        text = _significant(number)
    if not float(text):  # -0.00
        text = text.removeprefix("-")
    return text.replace("-", "\N{MINUS SIGN}", 1) if text.startswith("-") else text


def _significant(number: float) -> str:
    if not number:
        return "0"
    before = math.floor(math.log10(abs(number))) + 1
    return f"{number:.{max(0, DIGITS - before)}f}"
