"""CSV: what a spreadsheet makes of it, and columns as texts, each as its fields one by one."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.files.csv_text import (
    csv_of_rows,
    format_frame_csv,
    make_csv_line,
    make_csv_lines,
    protect_cell,
    quote_field,
    quote_fields,
    six_decimals,
)


def test_a_formula_becomes_a_text_and_all_else_stays() -> None:
    formulas = "=1+1", "+cmd|' /C calc'!A0", "@SUM(1)", "-2+3", "\t=1", "\n=1", "-x"
    for text in (*formulas, "\N{FULLWIDTH EQUALS SIGN}1"):
        assert protect_cell(text) == f"'{text}"
    for value in ("", "-", "=", "-5", "+1.5", "-1e-9", "a=b", "user 7", -5, None):
        assert protect_cell(value) is value
    assert protect_cell("\r=1") == "'\n=1", "a carriage return begins no row"
    rows = [("=x", None, 1.5), ("a\r=1", -2, 'q"')]
    text = '\'=a,b,c\n\'=x,,1.5\n"a\n=1",-2,"q"""\n'
    assert csv_of_rows(("=a", "b", "c"), rows) == text
    assert format_frame_csv(pd.DataFrame(rows, columns=["=a", "b", "c"])) == text.replace(
        "-2", "-2.0"
    )


def test_a_table_without_formulas_is_that_of_pandas() -> None:
    frame = pd.DataFrame({"b": [1.5, nan]}, index=[7, 7])
    plain = frame.assign(when=pd.Timestamp("2026-01-05"), yes=True)
    assert format_frame_csv(plain) == plain.to_csv(index=False)


# Fields -------------------------------------------------------------------------------------------

WHOLE = st.integers(-(2**70), 2**70).map(float)
NUMBERS = st.one_of(
    st.lists(WHOLE),
    st.lists(st.floats()),
    st.lists(WHOLE | st.sampled_from([-0.0, 0.0, nan])),
    st.builds(lambda value, count: [value] * count, st.floats(), st.integers(0, 3)),
)


@given(NUMBERS)
def test_six_decimals_are_those_of_each_number(values: list[float]) -> None:
    expected = ["" if isnan(value) else f"{value:.6f}" for value in values]
    assert six_decimals(np.array(values, dtype=np.float64)) == expected


TEXTS = st.lists(st.text('ab,"\n\r', max_size=3), min_size=2, max_size=2)


@given(st.lists(TEXTS))
def test_columns_are_quoted_as_lines(rows: list[list[str]]) -> None:
    columns = [[row[at] for row in rows] for at in range(2)]
    assert [quote_fields(column) for column in columns] == [
        list(map(quote_field, c)) for c in columns
    ]
    assert list(make_csv_lines(*map(quote_fields, columns))) == [make_csv_line(row) for row in rows]
