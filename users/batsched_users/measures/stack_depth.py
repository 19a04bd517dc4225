"""Measures the locality of sampling by stack depth: how soon values recur.

Source: N. Zakay, PhD thesis, chapter 3 (validation of resampled workloads).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from batsched_py.options.option_values import number

MISS = -1
_FIRST_LOOK = 128  # most values recur within the top of the stack


def find_stack_depths(values: NDArray[np.float64], *, tolerance: float = 0.0) -> NDArray[np.int64]:
    """Return the depth of each value on a move-to-front stack when it recurs, shape (n,).

    The top has depth 0. A value that is found moves to the top; a new value is pushed, with depth
    -1 (:data:`MISS`). With a ``tolerance``, the topmost entry e with
    abs(value - e) <= tolerance * e is found and moves to the top. (The source does not say whether
    e or the value goes there.) Unknown values (nan) are neither found nor pushed.

    Raises :class:`batsched_py.errors.UsageError` for a tolerance not in [0, 1].
    """
    number("tolerance", tolerance, 0, 1)
    stack = np.empty(len(values))  # the top is at the end
    depths = np.full(len(values), MISS, dtype=np.int64)
    size = 0
    for index, value in enumerate(values.tolist()):
        if value != value:
            continue
        place = _topmost(stack, size, value, tolerance)
        if place < 0:
            size += 1
        else:
            depths[index] = size - 1 - place
            value = float(stack[place])
            stack[place : size - 1] = stack[place + 1 : size]
        stack[size - 1] = value
    return depths


def _topmost(stack: NDArray[np.float64], size: int, value: float, tolerance: float) -> int:
    """Return the place of the topmost entry that matches, -1 if there is none.

    The search begins at the top, and continues in larger and larger pieces below it.
    """
    high, step = size, _FIRST_LOOK
    while high > 0:
        low = max(0, high - step)
        piece = stack[low:high]
        match = abs(piece - value) <= tolerance * piece if tolerance else piece == value
        last = len(piece) - 1 - int(match[::-1].argmax())
        if match[last]:
            return low + last
        high, step = low, step * 8
    return -1


def mean_depth(depths: NDArray[np.int64]) -> float:
    """Return the mean stack depth of the values that recurred, nan if none did.

    It is small with locality, and about half the size of the stack without.
    """
    hits = depths[depths != MISS]
    return float(hits.mean()) if len(hits) else float("nan")
