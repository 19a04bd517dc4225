"""The timeline in code that numba compiles: a whole plan in one call.

The twin of :meth:`~batsched_py.model.timeline.Timeline.place_all` on arrays, with the same
operations on floats in the same order, so that the starts are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from batsched_py.model import timeline
from batsched_py.model.timeline import MANY, Timeline

NB_CLASSES = 20
"""The most classes of sizes and of durations: see ``timeline.LatestStarts``."""
NB_SAMPLED = 500
"""The most values from which these classes are made."""
REACHES = (2.0, 8.0)
"""How far ahead jobs are placed to find those that start now, in durations of the longest job: at
first, and if that is not far enough."""
NB_TIMES_ASKED = 16
"""Number of checks, while jobs are placed, whether they wait too long."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_NOBODY = np.empty(0, np.intp)
_F = TypeVar("_F", bound=Callable[..., Any])


_ALL: list[Any] = []


def _compiled(function: _F) -> _F:
    """Compile at the first call."""
    _ALL.append(numba.njit(function))
    return cast(_F, _ALL[-1])


def cache_compiled_code() -> None:
    """Store compiled code in a cache folder, and use it, if the folder can be written."""
    with suppress(RuntimeError):  # there is no such folder
        for function in _ALL:
            function.enable_caching()


def compile_all() -> None:
    """Compile all functions now, so that an error of numba shows at once."""
    sizes, durations = np.ones(1, np.int64), np.ones(1)
    line = CompiledTimeline(Timeline(1, 0.0))
    find_starting(line.times, line.free, sizes, durations)
    place_below(line.times, line.free, sizes, durations, 0.0)
    place_all(line.times, line.free, sizes, durations)
    line.replace_all(sizes, durations, np.zeros(1))


@_compiled
def _at(values: Floats, nb: int, value: float) -> int:
    """Return which of the ``nb`` ascending values is the last that is not above ``value``."""
    low, high = 0, nb
    while low < high:
        middle = (low + high) // 2
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - 1


@_compiled
def _fit(
    times: Floats, free: Integers, nb: int, at: int, size: int, duration: float, latest: float
) -> tuple[int, int]:
    """Return where the earliest start from segment ``at`` on is, and behind which segment its
    end; ``nb`` if there is none before ``latest``, from when on there is enough.
    """
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
        behind = _at(times, nb, end)
        behind += times[behind] < end
    if end < inf and (behind == nb or times[behind] > end):
        nb = _insert(times, free, nb, behind, end)
    for segment in range(at, behind):
        free[segment] -= size
    return nb


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


def place_all(
    beginnings: Floats, numbers: Integers, sizes: Integers, durations: Floats
) -> tuple[Floats, Integers, Floats]:
    """Place jobs one after another; see ``Timeline.place_all``.

    ``beginnings`` and ``numbers`` are a timeline's ``times`` (seconds) and ``free`` as arrays of
    float64 and int64, ``sizes`` and ``durations`` (seconds) arrays of these types, shape (n,).
    Returns the new timeline's ``times`` and ``free``, and the starts.
    """
    nb_jobs = len(sizes)
    times, free = _with_room(beginnings, nb_jobs), _with_room(numbers, nb_jobs)
    starts = np.full(nb_jobs, inf)
    jobs = sizes, durations, _classes(sizes), _classes(durations)
    nb = _place_all(times, free, len(beginnings), *jobs, starts, inf, False, _NOBODY, inf)
    return times[:nb], free[:nb], starts


def place_below(
    beginnings: Floats, numbers: Integers, sizes: Integers, durations: Floats, most: float
) -> Floats | None:
    """Place jobs as :func:`place_all`; return the starts, None if their waits exceed ``most``.

    They are seconds from the beginning, times processors. The jobs may all start at some time.
    """
    nb_jobs = len(sizes)
    times, free = _with_room(beginnings, nb_jobs), _with_room(numbers, nb_jobs)
    starts = np.full(nb_jobs, inf)
    jobs = sizes, durations, _classes(sizes), _classes(durations)
    order = durations.argsort()
    nb = _place_all(times, free, len(beginnings), *jobs, starts, inf, False, order, most)
    return None if nb < 0 else starts


def find_starting(
    beginnings: Floats, numbers: Integers, sizes: Integers, durations: Floats
) -> Integers:
    """Return the jobs that start at the beginning if all are placed; see ``Timeline``.

    Arguments are those of :func:`place_all`.
    """
    may: Integers = (sizes <= numbers[0]).nonzero()[0]
    if not len(may):
        return may
    sizes, durations = sizes[: may[-1] + 1], durations[: may[-1] + 1]
    jobs = sizes, durations, _classes(sizes), _classes(durations)
    begin, longest = float(beginnings[0]), float(durations.max())
    for known in (*(begin + reach * longest for reach in REACHES), inf):
        times, free = _with_room(beginnings, len(sizes)), _with_room(numbers, len(sizes))
        starts = np.full(len(sizes), inf)
        nb = len(beginnings)
        if _place_all(times, free, nb, *jobs, starts, known, True, _NOBODY, inf) >= 0:
            break
    begun: Integers = (starts == begin).nonzero()[0]
    return begun


class CompiledTimeline:
    """A compiled :class:`~batsched_py.model.timeline.Timeline` whose reservations stay.

    Its methods do the same as those of the same names.
    """

    def __init__(self, line: Timeline) -> None:
        self.times = np.array(line.times, np.float64)
        self.free = np.array(line.free, np.int64)

    def replace_all(self, sizes: Integers, durations: Floats, starts: Floats) -> Floats:
        """Take back jobs that begin at ``starts``, place each anew, and return the new starts."""
        if self.free.min() < 0:
            return self._replaced_by_python(sizes, durations, starts)
        if len(sizes) >= MANY and starts.min() == inf:
            self.times, self.free, starts = place_all(self.times, self.free, sizes, durations)
            return starts
        starts = starts.copy()
        times, free = (
            _with_room(self.times, 3 * len(starts)),
            _with_room(self.free, 3 * len(starts)),
        )
        nb = _replace_all(times, free, len(self.times), sizes, durations, starts)
        self.times, self.free = times[:nb], free[:nb]
        return starts

    def _replaced_by_python(self, sizes: Integers, durations: Floats, starts: Floats) -> Floats:
        """Place jobs anew by Python, as more processors are taken than the machine has."""
        line = Timeline(0, 0.0)
        line.times, line.free = self.times.tolist(), self.free.tolist()
        new_starts = line.replace_all(sizes.tolist(), durations.tolist(), starts.tolist())
        self.times, self.free = np.array(line.times), np.array(line.free)
        return np.array(new_starts, np.float64)

    def occupy(self, start: float, end: float, size: int) -> None:
        """Take ``size`` processors in ``[start, end)`` whether they are free or not."""
        start = max(start, float(self.times[0]))
        if start < end:
            at = int(self.times.searchsorted(start, "right")) - 1
            behind = int(self.times.searchsorted(end))
            times, free = _with_room(self.times, 1), _with_room(self.free, 1)
            nb = _take(times, free, len(self.times), start, at, end, behind, size)
            self.times, self.free = times[:nb], free[:nb]

    def release(self, start: float, end: float, size: int) -> None:
        """Give back ``size`` processors in ``[start, end)``."""
        self.occupy(start, end, -size)

    def advance(self, now: float) -> None:
        """Let the timeline begin at ``now`` (seconds), and drop earlier times."""
        at = max(0, self.times.searchsorted(now, "right") - 1)
        times, free = self.times[at:], self.free[at:]
        changes = np.append(True, free[1:] != free[:-1]).nonzero()[0]
        self.times, self.free = times[changes], free[changes]
        self.times[0] = max(self.times[0], now)


def _with_room(values: NDArray[Any], nb_more: int) -> NDArray[Any]:
    """Return a copy with room for more values and one (compiling this takes seconds)."""
    return np.concatenate((values, np.empty(nb_more + 1, values.dtype)))


def _classes(values: NDArray[Any]) -> Floats:
    """Return some of the values, ascending, the least first (a sort compiles for seconds).

    Of few values nothing is returned but 0, which all reach: finding classes takes longer.
    """
    if len(values) < timeline.BOUNDS_PAY:
        return np.zeros(1)
    some = np.sort(values[:: 1 + len(values) // NB_SAMPLED])
    if len(some) < len(values):
        some[0] = values.min()
    return some[:: 1 + len(some) // NB_CLASSES].astype(np.float64)


@_compiled
def _least_waits(
    times: Floats,
    free: Integers,
    nb: int,
    sizes: Integers,
    durations: Floats,
    shortest_first: Integers,
    placed: int,
) -> float:
    """Return a lower bound of the waits of all but the first jobs, times their processors.

    As if work could be divided at will: then the shortest jobs come first. A job is not in the
    middle of its time before the middle of its work.
    """
    waits, segment, time = 0.0, 0, 0.0
    for job in shortest_first:
        work = sizes[job] * durations[job]
        if job < placed or work == 0:
            continue
        middles, left = 0.0, work
        while segment + 1 < nb:
            until = times[segment + 1] - times[0]
            done = max(0, free[segment]) * (until - time)
            if done >= left:
                break
            middles += done * (time + until) / 2
            left -= done
            segment, time = segment + 1, until
        until = time + left / free[segment]
        middles += left * (time + until) / 2
        time = until
        waits += sizes[job] * (middles / work - durations[job] / 2)
    return waits


@_compiled
def _place_all(
    times: Floats,
    free: Integers,
    nb: int,
    sizes: Integers,
    durations: Floats,
    widths: Floats,
    lengths: Floats,
    starts: Floats,
    known: float,
    now_only: bool,
    shortest_first: Integers,
    most: float,
) -> int:
    """Place jobs one after another; return the number of segments.

    Jobs that start from ``known`` on are not placed. Any of them may put off a job that starts
    before and ends later: then only what is before its start is known from there on. -1: it is
    not known which jobs start at the beginning. With ``now_only``, the rest is left out once no
    further job can start there. -1 also if the processors of all jobs wait longer than ``most``,
    as is asked now and then.
    """
    begin, waits, asked = times[0], 0.0, len(sizes) // NB_TIMES_ASKED
    bounds = np.empty((len(widths), len(lengths)))
    bounds[:] = -inf
    last = len(sizes) - 1
    for job in range(len(sizes)):
        if most < inf and job > asked:
            asked += 1 + len(sizes) // NB_TIMES_ASKED
            left = _least_waits(times, free, nb, sizes, durations, shortest_first, job)
            if most < waits + left < inf:
                return -1
        while (
            now_only
            and last >= job
            and not _fits_first(times, free, nb, sizes[last], durations[last])
        ):
            last -= 1
        if last < job:
            break
        size, duration = sizes[job], durations[job]
        row, column = _at(widths, len(widths), size), _at(lengths, len(lengths), duration)
        if bounds[row, column] >= known:
            continue
        at = max(0, _at(times, nb, bounds[row, column]))
        at, behind = _fit(times, free, nb, at, size, duration, known)
        starts[job] = start = times[at] if at < nb else known
        if start < known < start + duration:
            known = start
        if known <= times[0]:
            return -1
        waits += size * (start - begin)
        if start < known and start < start + duration:
            nb = _take(times, free, nb, start, at, start + duration, behind, size)
        row, column = row + (widths[row] < size), column + (lengths[column] < duration)
        _raise_bounds(bounds, row, column, start)
    return nb


@_compiled
def _replace_all(
    times: Floats, free: Integers, nb: int, sizes: Integers, durations: Floats, starts: Floats
) -> int:
    """Place jobs anew; return the number of segments.

    A job can only move to where others leave enough until it begins: only what it moves by is
    taken and given back.
    """
    for job in range(len(sizes)):
        start, size, duration = starts[job], sizes[job], durations[job]
        end = start + duration
        latest = start if start < end else inf
        at, behind = _fit(times, free, nb, 0, size, duration, latest)
        if at < nb:
            starts[job] = begin = times[at]
            until = min(begin + duration, latest)
            if begin < until:
                nb = _take(times, free, nb, begin, at, until, behind, size)
            if start < end:
                start = max(start, begin + duration)
                at, behind = _at(times, nb, start), _at(times, nb, end)
                behind += times[behind] < end
                nb = _take(times, free, nb, start, at, end, behind, -size)
    return nb
