"""The timeline compiled by numba: a whole plan in one call.

The twin of :meth:`~batsched_py.model.timeline.Timeline.place_all` on arrays, with the same
operations on floats in the same order, so that the starts are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

NB_CLASSES = 32
"""Into how many classes sizes and durations are divided: see ``timeline.LatestStarts``."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_F = TypeVar("_F", bound=Callable[..., Any])


def _compiled(function: _F) -> _F:
    """Compile at the first call, and keep what was compiled where a folder can be written."""
    compiled: Any
    try:
        compiled = numba.njit(cache=True)(function)
    except RuntimeError:  # there is no such folder
        compiled = numba.njit(function)
    return cast(_F, compiled)


@_compiled
def _fit(
    times: Floats, free: Integers, nb: int, at: int, size: int, duration: float, latest: float
) -> tuple[int, int]:
    """Return where the earliest start from segment ``at`` on is, and behind which segment its
    end; ``nb`` if there is none before ``latest``, from when on there is enough."""
    while True:
        while at < nb and free[at] < size:
            at += 1
        if at == nb or times[at] >= latest:
            return nb, nb
        end = min(times[at] + duration, latest)
        behind = at + 1
        while behind < nb and times[behind] < end and free[behind] >= size:
            behind += 1
        if behind == nb or times[behind] >= end:
            return at, behind
        at = behind


@_compiled
def _fits_first(times: Floats, free: Integers, nb: int, size: int, duration: float) -> bool:
    """Tell whether the earliest start is the beginning."""
    begin = times[0]
    end = begin + duration
    for segment in range(nb):
        if segment and times[segment] >= end:
            break
        if free[segment] < size:
            return False
    return True


@_compiled
def _insert(times: Floats, free: Integers, nb: int, at: int, time: float) -> int:
    """Divide segment ``at - 1`` at ``time``, and return the number of segments.

    The next segments move up to one that is like the segment before it, and takes its place.
    """
    last = at
    while last < nb and free[last] != free[last - 1]:
        last += 1
    for segment in range(last, at, -1):
        times[segment] = times[segment - 1]
        free[segment] = free[segment - 1]
    times[at], free[at] = time, free[at - 1]
    return max(nb, last + 1)


@_compiled
def _take(
    times: Floats,
    free: Integers,
    nb: int,
    start: float,
    at: int,
    end: float,
    behind: int,
    size: int,
) -> int:
    """Subtract ``size`` in ``[start, end)``; return the number of segments."""
    if times[at] < start:
        at += 1
        nb = _insert(times, free, nb, at, start)
        behind = at + np.searchsorted(times[at:nb], end)
    if end < inf and (behind == nb or times[behind] > end):
        nb = _insert(times, free, nb, behind, end)
    for segment in range(at, behind):
        free[segment] -= size
    return nb


@_compiled
def _classes(values: NDArray[Any]) -> NDArray[Any]:
    """Return some of the values, ascending, the least first."""
    ascending = np.sort(values)
    chosen = ascending[:NB_CLASSES].copy()
    nb = 0
    for number in range(len(chosen)):
        value = ascending[number * len(ascending) // len(chosen)]
        if nb == 0 or value > chosen[nb - 1]:
            chosen[nb] = value
            nb += 1
    return chosen[:nb]


@_compiled
def _raise_bounds(bounds: Floats, row: int, column: int, start: float) -> None:
    """Let nothing of these classes, or of larger ones, start before ``start``."""
    for wider in range(row, bounds.shape[0]):
        if column < bounds.shape[1] and bounds[wider, column] >= start:
            break
        for longer in range(column, bounds.shape[1]):
            if bounds[wider, longer] >= start:
                break
            bounds[wider, longer] = start


@_compiled
def place_all(
    beginnings: Floats, numbers: Integers, sizes: Integers, durations: Floats, now_only: bool
) -> tuple[Floats, Integers, Floats]:
    """Place jobs one after another; see ``Timeline.place_all``.

    ``beginnings`` and ``numbers`` are a timeline's ``times`` (seconds) and ``free`` as arrays of
    float64 and int64, ``sizes`` and ``durations`` (seconds) arrays of these types, shape (n,).
    Returns the new timeline's ``times`` and ``free``, and the starts.
    """
    nb, nb_jobs = len(beginnings), len(sizes)
    times, free = np.empty(nb + nb_jobs + 1), np.empty(nb + nb_jobs + 1, np.int64)
    times[:nb], free[:nb] = beginnings, numbers
    starts = np.empty(nb_jobs)
    widths, lengths = _classes(sizes), _classes(durations)
    bounds = np.full((len(widths), len(lengths)), -inf)
    last = nb_jobs - 1
    for job in range(nb_jobs):
        if now_only:
            while last >= job and not _fits_first(times, free, nb, sizes[last], durations[last]):
                last -= 1
            if last < job:
                return times[:nb], free[:nb], starts[:job]
        size, duration = sizes[job], durations[job]
        row = np.searchsorted(widths, size, side="right") - 1
        column = np.searchsorted(lengths, duration, side="right") - 1
        bound = bounds[row, column]
        at = np.searchsorted(times[:nb], bound, side="right") - 1 if bound > times[0] else 0
        at, behind = _fit(times, free, nb, at, size, duration, inf)
        start = times[at] if at < nb else inf
        starts[job] = start
        _raise_bounds(
            bounds,
            row if widths[row] == size else row + 1,
            column if lengths[column] == duration else column + 1,
            start,
        )
        if start < start + duration:
            nb = _take(times, free, nb, start, at, start + duration, behind, size)
    return times[:nb], free[:nb], starts


@_compiled
def replace_all(
    beginnings: Floats, numbers: Integers, sizes: Integers, durations: Floats, starts: Floats
) -> tuple[Floats, Integers, Floats]:
    """Place jobs anew that have places; see ``Timeline.replace_all``.

    Arguments are those of :func:`place_all`, nowhere less than nothing free, and the ``starts`` so
    far, none before the beginning. A job can only move to where others leave enough until it
    begins: only what it moves by is taken and given back. Returns what :func:`place_all` does.
    """
    nb, nb_jobs = len(beginnings), len(sizes)
    times, free = np.empty(nb + 3 * nb_jobs + 1), np.empty(nb + 3 * nb_jobs + 1, np.int64)
    times[:nb], free[:nb] = beginnings, numbers
    new_starts = starts.copy()
    for job in range(nb_jobs):
        start, size, duration = starts[job], sizes[job], durations[job]
        end = start + duration
        latest = start if start < end else inf
        at, behind = _fit(times, free, nb, 0, size, duration, latest)
        if at < nb:
            new_starts[job] = begin = times[at]
            until = min(begin + duration, latest)
            if begin < until:
                nb = _take(times, free, nb, begin, at, until, behind, size)
            if start < end:
                start = max(start, begin + duration)
                at = np.searchsorted(times[:nb], start, side="right") - 1
                behind = np.searchsorted(times[:nb], end)
                nb = _take(times, free, nb, start, at, end, behind, -size)
    return times[:nb], free[:nb], new_starts
