"""Locality of sampling by stack depth: how soon values come again.

Source: N. Zakay, PhD thesis, chapter 3 (validation of resampled workloads).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from batsched_py.options.option_values import number

MISS = -1
_FIRST_LOOK = 128  # most values come again within the top of the stack


def find_stack_depths(values: NDArray[np.float64], *, tolerance: float = 0.0) -> NDArray[np.int64]:
    """Return the depth at which each value was found on a move-to-front stack, shape (n,).

    The top has depth 0. A value that is found moves to the top; one that is not is pushed, and its
    depth is -1 (:data:`MISS`). With a ``tolerance`` the topmost entry e with
    abs(value - e) <= tolerance * e is found, and goes to the top; whether it or the value does, the
    source leaves open. Unknown values (nan) are never found nor pushed.

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

    The top is looked at first, then ever larger pieces below it.
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
    """Return the mean depth over what was found, nan if nothing was.

    It is small where there is locality, and about half the size of the stack where there is none.
    """
    hits = depths[depths != MISS]
    return float(hits.mean()) if len(hits) else float("nan")
