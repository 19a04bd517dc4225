"""Where a simulation has forgotten that it began with an empty machine."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batsched_py.metrics import JobTable, mser5, warm_up_time
from helpers.schedules_by_hand import table_of

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def slow_mser(values: list[float], batch: int) -> int | None:
    """Return the same by the formula: squared deviations over the squared number of batches."""
    means = [
        sum(values[at : at + batch]) / batch for at in range(0, len(values) - batch + 1, batch)
    ]
    if len(means) < 2:
        return None
    found = []
    for first in range(len(means) - 1):
        kept = means[first:]
        mean = sum(kept) / len(kept)
        found.append(sum((value - mean) ** 2 for value in kept) / len(kept) ** 2)
    best = min(range(len(found)), key=lambda at: (round(found[at], 9), at))
    return best * batch if best <= len(means) // 2 else None


@pytest.mark.parametrize(
    ("values", "left_out"),
    [
        ([0, 0, 0, 0, 10, 10, 11, 9, 10, 10, 10, 10, 9, 11], 4),  # four zeros, then some ten
        ([5, 5, 5, 5, 5, 5], 0),  # nothing to forget
        ([1, 2, 3, 4, 5, 6, 7, 8], None),  # it drifts to the end
        ([3], None),
        ([], None),
    ],
)
def test_the_rule_value_by_value(values: list[float], left_out: int | None) -> None:
    assert mser5(values, batch=1) == left_out


def test_of_batches_of_five_the_mean_counts() -> None:
    """The fifth value is of the queue already; the batch that it is in is left out."""
    assert mser5([0, 0, 0, 0, 10, *[10, 9, 11, 10, 10] * 8]) == 5


@given(st.lists(st.integers(0, 50).map(float), max_size=60), st.integers(1, 6))
def test_it_is_the_rule_as_it_is_written(values: list[float], batch: int) -> None:
    assert mser5(values, batch) == slow_mser(values, batch)


def table(submit: Floats, start: Floats) -> JobTable:
    return table_of([(time, 1, 60.0) for time in submit.tolist()], start.tolist())


def test_a_queue_that_builds_up_in_the_first_day() -> None:
    """A job an hour; the first 20 wait for ever longer, those after them for about a day."""
    rng = np.random.default_rng(0)
    submit = 3600.0 * np.arange(400)
    wait = np.minimum(np.arange(400) / 20, 1) * 86400 + rng.normal(0, 600, 400).clip(-600, 600)
    start = submit + wait.clip(0)
    assert warm_up_time(table(submit, start)) == pytest.approx(20 * 3600, abs=5 * 3600)
    assert isnan(warm_up_time(table(submit[:9], start[:9])))
