"""How values are shown."""

from __future__ import annotations

import math
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from batsched_py.report import Column, Report, Section, Table
from batsched_py.report.formatting import find_marked_cells, format_cell, format_rows, is_numeric
from batsched_py.report.forms.export_files import format_markdown
from batsched_py.report.forms.terminal import print_report
from helpers.made_up_report import published_table


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (10949.46239, None, "10949"),  # no digit before the point is dropped
        (325.5, None, "325.5"),
        (17.25, None, "17.25"),
        (0.00123456, None, "0.001235"),
        (1.5e-7, None, "1.500e-07"),
        (8.8e12, None, "8.800e+12"),
        (3430, None, "3430"),
        (np.int64(7), None, "7"),
        (-0.0045951, 3, "\N{MINUS SIGN}0.005"),
        (-0.0001, 2, "0.00"),  # not minus nothing
        (300.0, 0, "300"),
        (7, 2, "7.00"),
        (float("nan"), 2, "\N{EN DASH}"),
        (None, None, "\N{EN DASH}"),
        (pd.NA, None, "\N{EN DASH}"),
        (math.inf, None, "\N{INFINITY}"),
        (True, None, "yes"),
        (np.bool_(False), None, "no"),
        ("easy", 3, "easy"),
    ],
)
def test_a_value_is_shown(value: object, decimals: int | None, text: str) -> None:
    assert format_cell(value, decimals) == text


@given(st.floats(min_value=1e-4, max_value=1e8))
def test_four_significant_digits_are_enough_to_read_a_number_back(value: float) -> None:
    assert float(format_cell(value)) == pytest.approx(value, rel=6e-4)


def test_only_shown_columns_and_marks() -> None:
    assert format_rows(published_table())[1] == ["CTC", "325.5", "300", "0.085"]
    assert find_marked_cells(published_table()) == {(1, 1)}
    frame = pd.DataFrame({"a": [1.0, None], "b": ["a", None], "c": [None, None]})
    assert find_marked_cells(Table("t", "T", frame, (Column("a"),), marks=((0, "b"),))) == set()
    table = Table("t", "T", frame)  # a column of numbers may miss some
    assert [is_numeric(table, column) for column in table.shown] == [True, False, False]


def test_lines_below_a_value_stay_lines_in_every_form() -> None:
    """Of a campaign with replications: a change, its interval, and whether it is clear."""
    frame = pd.DataFrame({"wait": [10.0], "words": ["+5 %\n(\N{MINUS SIGN}1 to +11)\nwithin\x1b"]})
    table = Table("t", "T", frame, (Column("wait", below="words"),))
    change = "+5 %\n(\N{MINUS SIGN}1 to +11)\nwithin\\u001b"
    assert format_rows(table) == [[f"10.00\n{change}"]]
    report = Report("T", "", (Section("S", (table,)),))
    assert f"| 10.00 {' '.join(change.split(chr(10)))} |" in format_markdown(report)
    printed = StringIO()
    print_report(report, Console(file=printed, width=80))
    for line in ("10.00", *change.split("\n")):
        assert line in [printed_line.strip() for printed_line in printed.getvalue().splitlines()]
