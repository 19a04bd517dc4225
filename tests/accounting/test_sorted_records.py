"""Sorting very many rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.accounting import sorted_records as module
from batsched_py.accounting.sorted_records import SortedRows

ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=60)


@given(rows=ROWS, in_memory=st.integers(1, 9), together=st.integers(1, 4))
def test_rows_ascend(rows: list[tuple[int, ...]], in_memory: int, together: int) -> None:
    """As Python sorts them; also the second time, and with rows that came after the first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "IN_MEMORY", in_memory)
        patch.setattr(module, "_TOGETHER", together)
        sorter = SortedRows()
        for row in rows:
            sorter.add(row)
        assert list(sorter) == sorted(rows)
        assert list(sorter) == sorted(rows)
        sorter.add((5, 5))
        assert list(sorter) == sorted([*rows, (5, 5)])
        assert sorter.nb_rows == len(rows) + 1
