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
from batsched_py.model.timeline import Timeline

NB_SAMPLED = 500
"""The most values from which these classes are made."""
REACHES = (2.0, 8.0)
"""How far ahead jobs are placed to find those that start now, in durations of the longest job: at
first, and if that is not far enough."""
NB_TIMES_ASKED = 16
"""Number of checks, while jobs are placed, whether they wait too long."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bounds = tuple[Floats, Floats, Floats]
"""The least values of classes of sizes and of durations, and the bound of starts for each pair."""
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
    line = CompiledTimeline(Timeline(1, 0.0), sizes, durations)
    find_starting(line.times, line.free, sizes, durations)
    place_below(line.times, line.free, sizes, durations, 0.0)
    place_all(line.times, line.free, sizes, durations)
    line.advance(0.0)
    line.occupy(0.0, 1.0, 1)
    line.replace_all(sizes, durations, np.zeros(1))


@_compiled
def _at(values: Floats, nb: int, value: float) -> int:
    """Return which of the ``nb`` ascending values is the last that is not above ``value``."""
    low = 0
    while nb > 1:  # without branches, which a processor could not foresee
        half = nb // 2
        low += half if values[low + half] <= value else 0
        nb -= half
    return low if values[0] <= value else -1


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
    """Return whether the earliest start is the beginning."""
    begin = times[0]
    end = begin + duration
    for segment in range(nb):
        if segment and times[segment] >= end:
            break
        if free[segment] < size:
            return False
    return True


@_compiled
def _insert(
    times: Floats, free: Integers, nb: int, at: int, time: float, stays: int
) -> tuple[int, int]:
    """Divide segment ``at - 1`` at ``time``; return the new segment, and the number of segments.

    The nearest segment that is like the one before it gives its place, and those between move. On
    the left it comes behind the segment ``stays``.
    """
    left, right = at - 1, at
    while right < nb and free[right] != free[right - 1]:
        if left > stays:
            if free[left] == free[left - 1]:
                for segment in range(left, at - 1):
                    times[segment], free[segment] = times[segment + 1], free[segment + 1]
                times[at - 1] = time
                return at - 1, nb
            left -= 1
        right += 1
    for segment in range(right, at, -1):
        times[segment], free[segment] = times[segment - 1], free[segment - 1]
    times[at], free[at] = time, free[at - 1]
    return at, max(nb, right + 1)


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
        at, nb = _insert(times, free, nb, at + 1, start, 0)
        behind = _at(times, nb, end)
        behind += times[behind] < end
    if end < inf and (behind == nb or times[behind] > end):
        behind, nb = _insert(times, free, nb, behind, end, at)
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
    times, free = _with_room(beginnings, len(sizes)), _with_room(numbers, len(sizes))
    starts = np.full(len(sizes), inf)
    jobs = sizes, durations, _classes(sizes), _classes(durations)
    nb = _place_all(times, free, len(beginnings), *jobs, starts, inf, False, _NOBODY, inf)
    return times[:nb], free[:nb], starts


def place_below(
    beginnings: Floats, numbers: Integers, sizes: Integers, durations: Floats, most: float
) -> Floats | None:
    """Place jobs as :func:`place_all`; return the starts, None if their waits exceed ``most``.

    They are seconds from the beginning, times processors. The jobs may all start at some time.
    """
    times, free = _with_room(beginnings, len(sizes)), _with_room(numbers, len(sizes))
    starts = np.full(len(sizes), inf)
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

    Its methods do the same as those of the same names. It keeps lower bounds of the starts of
    jobs by classes of sizes and durations. They are lowered only where more became free.
    """

    def __init__(self, line: Timeline, sizes: Integers, durations: Floats) -> None:
        """Make it from ``line``, for jobs of about these ``sizes`` and ``durations`` (seconds)."""
        self._nb = len(line.times)
        self._times = np.array(line.times, np.float64)
        self._free = np.array(line.free, np.int64)
        """Times and free processors in the first places, and room for more."""
        widths = np.unique(np.append(1.0, _quantiles(sizes)))
        lengths = np.unique(np.append(0.0, _quantiles(durations)))
        self._bounds = widths, lengths, np.full((len(widths), len(lengths)), -inf)

    def replace_all(self, sizes: Integers, durations: Floats, starts: Floats) -> Floats:
        """Take back jobs that begin at ``starts``, place each anew, and return the new starts."""
        starts = starts.copy()
        line = self._make_room(3 * len(starts))
        nb = _replace_all(*line, sizes, durations, starts, self._bounds)
        if nb < 0:
            return self._replaced_by_python(sizes, durations, starts)
        self._nb = nb
        return starts

    def _make_room(self, nb_more: int) -> tuple[Floats, Integers, int]:
        """Return times, free processors and their number, after having made room for more."""
        needed = self._nb + nb_more + 1
        if needed > len(self._times):
            self._times = _with_room(self._times, 2 * needed)
            self._free = _with_room(self._free, 2 * needed)
        return self._times, self._free, self._nb

    @property
    def times(self) -> Floats:
        """Times at which the number of free processors changes, the beginning first."""
        return self._times[: self._nb]

    @property
    def free(self) -> Integers:
        """Free processors from each of these times on."""
        return self._free[: self._nb]

    def _replaced_by_python(self, sizes: Integers, durations: Floats, starts: Floats) -> Floats:
        """Place jobs anew by Python, as more processors are taken than the machine has."""
        line = Timeline(0, 0.0)
        line.times, line.free = self.times.tolist(), self.free.tolist()
        new_starts = line.replace_all(sizes.tolist(), durations.tolist(), starts.tolist())
        self._times, self._free = np.array(line.times), np.array(line.free)
        self._nb = len(line.times)
        self._bounds[-1][:] = -inf
        return np.array(new_starts, np.float64)

    def occupy(self, start: float, end: float, size: int) -> None:
        """Take ``size`` processors in ``[start, end)`` whether they are free or not."""
        self._nb = _occupy(*self._make_room(2), start, end, size, self._bounds)

    def release(self, start: float, end: float, size: int) -> None:
        """Give back ``size`` processors in ``[start, end)``."""
        self.occupy(start, end, -size)

    def advance(self, now: float) -> None:
        """Let the timeline begin at ``now`` (seconds), and drop earlier times."""
        self._nb = _advance(self._times, self._free, self._nb, now)


def _with_room(values: NDArray[Any], nb_more: int) -> NDArray[Any]:
    """Return a copy with room for more values and one (compiling this takes seconds)."""
    return np.concatenate((values, np.empty(nb_more + 1, values.dtype)))


def _classes(values: NDArray[Any]) -> Floats:
    """Return some of the values, ascending, the least first.

    Of few values nothing is returned but 0, which all reach: finding classes takes longer.
    """
    return np.zeros(1) if len(values) < timeline.BOUNDS_PAY else _quantiles(values)


def _quantiles(values: NDArray[Any]) -> Floats:
    """Return some of the values, ascending, the least first (a sort compiles for seconds)."""
    some = np.sort(values[:: 1 + len(values) // NB_SAMPLED])
    if len(some) < len(values):
        some[0] = values.min()
    return some[:: 1 + len(some) // timeline.NB_CLASSES].astype(np.float64)


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
def _lower_bounds(
    times: Floats, free: Integers, nb: int, start: float, end: float, known: Bounds
) -> None:
    """Lower the bounds of the jobs that may start earlier since more is free in ``[start, end)``.

    Those start where enough is free for long enough, if a part of that time lies in it.
    """
    widths, lengths, bounds = known
    begin = _at(times, nb, start)
    for row in range(len(widths)):
        width, at, fits = widths[row], begin, False
        while at > 0 and free[at] >= width and free[at - 1] >= width:
            at -= 1
        while at < nb and times[at] < end:
            if free[at] < width:
                at += 1
                continue
            fits = True
            first, column = times[at], 0
            while column < len(lengths):
                until = first + lengths[column]
                while at < nb and times[at] < until and free[at] >= width:
                    at += 1
                if at < nb and times[at] < until:
                    break
                bounds[row, column] = min(bounds[row, column], first)
                column += 1
            while at < nb and times[at] < end and free[at] >= width:
                at += 1
        if not fits:
            break


@_compiled
def _occupy(
    times: Floats, free: Integers, nb: int, start: float, end: float, size: int, known: Bounds
) -> int:
    """Subtract ``size`` in ``[start, end)``, from the beginning on; return the number of segments.

    A negative ``size`` lowers bounds.
    """
    start = max(start, times[0])
    if start < end:
        at, behind = _at(times, nb, start), _at(times, nb, end)
        behind += times[behind] < end
        nb = _take(times, free, nb, start, at, end, behind, size)
        if size < 0:
            _lower_bounds(times, free, nb, start, end, known)
    return nb


@_compiled
def _advance(times: Floats, free: Integers, nb: int, now: float) -> int:
    """Drop what is before ``now``, and steps without a change; return the number of segments."""
    first = max(0, _at(times, nb, now))
    times[first] = max(times[first], now)
    left = 0
    for segment in range(first, nb):
        if segment == first or free[segment] != free[left - 1]:
            times[left], free[left] = times[segment], free[segment]
            left += 1
    return left


@_compiled
def _replace_all(
    times: Floats,
    free: Integers,
    nb: int,
    sizes: Integers,
    durations: Floats,
    starts: Floats,
    known: Bounds,
) -> int:
    """Place jobs anew; return the number of segments, -1 if anything is taken that is not there.

    A job can only move to where others leave enough until it begins: only what it moves by is
    taken and given back. It begins where it fits as a whole, not before its bound, or where
    enough is free from then on until it begins now.
    """
    if free[:nb].min() < 0:
        return -1
    widths, lengths, bounds = known
    for job in range(len(sizes)):
        start, size, duration = starts[job], sizes[job], durations[job]
        end = start + duration
        latest, last = inf, nb
        if start < end:
            latest, last = start, _at(times, nb, start)
            last += times[last] < start
            while last > 0 and free[last - 1] >= size:
                last -= 1
        row, column = _at(widths, len(widths), size), _at(lengths, len(lengths), duration)
        at = last
        if last == nb or bounds[row, column] < times[last]:
            at = max(0, _at(times, last, bounds[row, column]))
            at, behind = _fit(times, free, last, at, size, duration, inf)
        begin = times[at] if at < nb else inf
        until = min(begin + duration, latest)
        row, column = row + (widths[row] < size), column + (lengths[column] < duration)
        _raise_bounds(bounds, row, column, begin)
        starts[job] = min(begin, latest)
        if begin >= latest:
            continue
        if at == last:
            behind = _at(times, nb, until)
            behind += times[behind] < until
        if begin < until:
            nb = _take(times, free, nb, begin, at, until, behind, size)
        if start < end:
            start = max(start, begin + duration)
            nb = _occupy(times, free, nb, start, end, -size, known)
    return nb
