"""CSV: what a spreadsheet makes of it, and columns as texts, each as its fields one by one."""

from __future__ import annotations

import io
from math import isnan, nan

import numpy as np
import pandas as pd
import pytest
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


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+cmd|' /C calc'!A0",
        "@SUM(1)",
        "-2+3",
        "\t=1",
        "\n=1",
        "\N{FULLWIDTH EQUALS SIGN}1",
        "-x",
    ],
)
def test_a_formula_becomes_a_text(text: str) -> None:
    assert protect_cell(text) == f"'{text}"


def test_a_carriage_return_begins_no_row() -> None:
    assert protect_cell("\r=1") == "'\n=1"
    frame = pd.DataFrame({"a": ["x\r=1", "y\r\nz"]})
    assert format_frame_csv(frame) == 'a\n"x\n=1"\n"y\nz"\n'


@pytest.mark.parametrize("value", ["", "-", "=", "-5", "+1.5", "-1e-9", "a=b", "user 7", -5, None])
def test_all_else_stays(value: object) -> None:
    assert protect_cell(value) is value


def test_names_of_columns_and_cells_of_any_type() -> None:
    frame = pd.DataFrame(
        {
            "=a": ["=x", None, "y"],
            "list": [None, [1, 2], 7],
            "b": [1.5, float("nan"), -2.0],
            "c": [1, "-q", -3],
        },
        index=[7, 7, 9],
    )
    frame.insert(3, "b", [1, 2, 3], allow_duplicates=True)
    frame["d"] = pd.Categorical(["+a", "b", "b"])
    assert format_frame_csv(frame) == (
        "'=a,list,b,b,c,d\n'=x,,1.5,1,1,'+a\n,\"[1, 2]\",,2,'-q,b\ny,7,-2.0,3,-3,b\n"
    )
    plain = frame[["b"]].iloc[:, :1].assign(when=pd.Timestamp("2026-01-05"), yes=True)
    assert format_frame_csv(plain) == plain.to_csv(index=False)
    assert pd.read_csv(io.StringIO(format_frame_csv(frame)))["b"].tolist()[2] == -2.0


def test_rows_are_written_as_a_frame_of_them() -> None:
    rows = [("=x", None, 1.5), ("a\rb", -2, 'q"')]
    assert csv_of_rows(("=a", "b", "c"), rows) == '\'=a,b,c\n\'=x,,1.5\n"a\nb",-2,"q"""\n'


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
