"""The summary of a log."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.workload.percentiles import percentile


@given(st.lists(st.integers(0, 10**6), min_size=1), st.integers(0, 100))
def test_percentiles_are_those_of_numpy(values: list[int], at: int) -> None:
    assert percentile(np.sort(np.array(values, float)), at) == np.percentile(values, at)
