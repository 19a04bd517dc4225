"""Columns of CSV as texts, each as its fields are one by one."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.files.csv_text import (
    make_csv_line,
    make_csv_lines,
    quote_field,
    quote_fields,
    six_decimals,
)

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
