"""Stack depth: the worked example, and a list as oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.errors import UsageError
from batsched_users.measures.stack_depth import find_stack_depths, mean_depth

NAN = float("nan")


def slow_depths(values: list[float], tolerance: float) -> list[int]:
    """The definition, with a list whose top comes first."""
    stack: list[float] = []
    depths = []
    for value in values:
        hits = [i for i, e in enumerate(stack) if abs(value - e) <= tolerance * e]
        depths.append(hits[0] if hits else -1)
        entry = stack.pop(hits[0]) if hits else value
        stack.insert(0, entry)
    return depths


@pytest.mark.parametrize(
    ("values", "tolerance", "depths"),
    [
        ([100, 97, 200, 104], 0.05, [-1, 0, -1, 1]),  # 104 meets 100
        ([100, 105, 95], 0.05, [-1, 0, 0]),  # the tolerance itself is within
        ([100, 111, 106], 0.05, [-1, -1, 0]),  # the topmost that fits, not the nearest
        ([0, 0, 1], 0.05, [-1, 0, -1]),  # nothing but 0 is like 0
        ([5, NAN, 5, NAN], 0, [-1, -1, 0, -1]),  # unknown values are no values
        ([], 0, []),
    ],
)
def test_depths(values: list[float], tolerance: float, depths: list[int]) -> None:
    measured = find_stack_depths(np.array(values, dtype=float), tolerance=tolerance)
    assert measured.tolist() == depths


def test_mean_depth_counts_what_was_found_only() -> None:
    assert mean_depth(find_stack_depths(np.array([4.0, 4, 8, 4, 16, 8, 8]))) == 0.75  # C7
    assert np.isnan(mean_depth(find_stack_depths(np.array([1.0, 2, 3]))))


@given(
    st.lists(st.integers(0, 60).map(float), max_size=80),
    st.sampled_from([0.0, 0.05, 0.5]),
)
def test_any_values_are_found_where_a_list_finds_them(
    values: list[float], tolerance: float
) -> None:
    measured = find_stack_depths(np.array(values), tolerance=tolerance)
    assert measured.tolist() == slow_depths(values, tolerance)


@pytest.mark.parametrize("tolerance", [0.0, 0.001])
def test_deep_stacks(tolerance: float) -> None:
    """Thousands of entries, so that the pieces below the top are looked at too."""
    values = np.random.default_rng(1).integers(1, 3_000, 6_000).astype(float)
    measured = find_stack_depths(values, tolerance=tolerance)
    assert measured.max() > 1_500
    assert measured.tolist() == slow_depths(values.tolist(), tolerance)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(UsageError, match="tolerance=5: expected a number from 0 to 1"):
        find_stack_depths(np.ones(2), tolerance=5)
