"""Measures how similar a user's jobs are, by the distance between their sessions.

Source: N. Zakay, PhD thesis, chapter 3: the nearer two sessions, the more similar are their jobs,
which is why workloads are resampled by users, not by sessions or jobs. The similarity of two values
a and b is r = min(a, b) / max(a, b), from 0 to 1; for 0 and 0 it is 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.options.option_values import number, one_of
from batsched_users.measures.job_columns import Column, JobColumns, Rows
from batsched_users.measures.session_columns import SessionRows, cut_sessions

MEASURES = ("mean", "median", "identical")
DISTANCES = (0, 1, 2)
"""0: two jobs of one session; 1: of neighbouring sessions; 2: with one session between them."""

_SAME = 1e-9  # differences up to here are rounding
_CHUNK = 4_000_000  # ratios held at once
_STEPS = 65_536  # of the first pass for a median


class Similarity(msgspec.Struct, frozen=True):
    """How similar the jobs of each of k users are, by the distance of their sessions."""

    user: NDArray[np.int64]
    """Numbers of the users, shape (k,)."""
    value: Column
    """Shape (k, 3), one column for each of :data:`DISTANCES`; in [0, 1]."""

    def compare(self, nearer: int, farther: int) -> tuple[float, float, float]:
        """Return the shares of users with more, equal and less similarity at the nearer distance.

        Values that differ by at most 1e-9 are equal, as they may differ by rounding.
        """
        gain = self.value[:, nearer] - self.value[:, farther]
        if not len(gain):
            return (float("nan"),) * 3
        shares = (gain > _SAME, abs(gain) <= _SAME, gain < -_SAME)
        wins, ties, losses = (float(share.mean()) for share in shares)
        return wins, ties, losses


def measure_similarity(
    columns: JobColumns,
    attribute: str,
    measure: str = "mean",
    *,
    min_sessions: int = 6,
) -> Similarity:
    """Measure how similar each user's jobs are in ``attribute``, at each distance of sessions.

    A pair is two different jobs of one session, or of two sessions of a user. The ``measure`` is
    the ``mean`` of r, its ``median`` (the upper one for an even number of pairs) or the share of
    ``identical`` values, over all pairs at that distance. Jobs of unknown value delimit sessions,
    but are in no pair.

    Users with fewer than ``min_sessions`` sessions, or without a pair at some distance, are left
    out; 6 gives the numbers of users in the thesis's tables. Sessions are cut by arrival:60:>.

    Raises :class:`UsageError` for unknown names.
    """
    users = _users_of(columns, attribute, measure)
    number("min_sessions", min_sessions, 1)
    per_distance = [users.measure(measure, distance) for distance in DISTANCES]
    value = np.stack(per_distance, axis=1)
    kept = (np.diff(users.bounds) >= min_sessions) & ~np.isnan(value).any(axis=1)
    return Similarity(users.number[kept], value[kept])


def _users_of(columns: JobColumns, attribute: str, measure: str) -> _SessionsOfUsers:
    """Return the sessions without the jobs of unknown value; some may then be empty."""
    values = columns.attribute(attribute)
    one_of("measure", measure, MEASURES)
    sessions = cut_sessions(columns)
    is_known = ~np.isnan(values[sessions.rows])
    before = np.concatenate(([0], is_known.cumsum()))
    with_value = SessionRows(sessions.rows[is_known], before[sessions.bounds], sessions.user)
    return _SessionsOfUsers(values[with_value.rows], with_value)


class _SessionsOfUsers:
    """The values of the jobs of all sessions, session by session, users one after the other."""

    def __init__(self, values: Column, sessions: SessionRows) -> None:
        self.values = values
        self.sessions = sessions
        self.nb_jobs = sessions.nb_jobs
        self.number, first = np.unique(sessions.user, return_index=True)
        self.bounds = np.append(first, len(sessions.user))
        self.owner = np.repeat(np.arange(len(self.number)), np.diff(self.bounds))

    def measure(self, measure: str, distance: int) -> Column:
        """Return a number for each user, nan where there is no pair of jobs; shape (k,)."""
        left = np.flatnonzero(self.owner[: len(self.owner) - distance] == self.owner[distance:])
        right = left + distance
        count = self._nb_pairs(left, right, distance)
        left, right, count = left[count > 0], right[count > 0], count[count > 0]
        owner = self.owner[left]
        if measure == "median":
            return self._medians(left, right, owner, distance)
        k = len(self.number)
        total = np.bincount(owner, self._sums(left, right, distance, measure), minlength=k)
        with np.errstate(invalid="ignore"):
            return np.asarray(total / np.bincount(owner, count, minlength=k))

    def _nb_pairs(self, left: Rows, right: Rows, distance: int) -> Column:
        a, b = self.nb_jobs[left].astype(np.float64), self.nb_jobs[right]
        return a * b if distance else a * (a - 1) / 2

    def _sums(self, left: Rows, right: Rows, distance: int, measure: str) -> Column:
        """Return the sum of r, or the number of identical pairs, of each pair of sessions.

        It is the sum over both sessions together, less the sums within each of them.
        """
        per_session = sum_within_groups(self.values, self.sessions.bounds, measure)
        if not distance:
            return per_session[left]
        place = _ranges(self.sessions.bounds, np.stack((left, right), axis=1).ravel())
        size = self.nb_jobs[left] + self.nb_jobs[right]
        both = sum_within_groups(self.values[place], np.concatenate(([0], size.cumsum())), measure)
        return both - per_session[left] - per_session[right]

    def _medians(self, left: Rows, right: Rows, owner: Rows, distance: int) -> Column:
        medians = np.full(len(self.number), np.nan)
        cuts = np.flatnonzero(np.diff(owner, prepend=-1, append=-1))
        for low, high in pairwise(cuts.tolist()):
            pairs = list(zip(left[low:high].tolist(), right[low:high].tolist(), strict=True))
            medians[owner[low]] = self._median(pairs, distance)
        return medians

    def _median(self, pairs: list[tuple[int, int]], distance: int) -> float:
        """Return the upper median of r over pairs of sessions; many pairs take two passes.

        The first pass counts ratios in steps, the second sorts the ratios of the middle step.
        """
        left, right = np.array(pairs, dtype=np.intp).T
        total = int(self._nb_pairs(left, right, distance).sum())
        middle = total // 2
        if total <= _CHUNK:
            every = np.concatenate(list(self._ratios(pairs, distance)))
            return float(np.partition(every, middle)[middle])
        counts = np.zeros(_STEPS + 1, dtype=np.int64)
        for ratios in self._ratios(pairs, distance):
            counts += np.bincount((ratios * _STEPS).astype(np.int64), minlength=_STEPS + 1)
        below = counts.cumsum()
        step = int(np.searchsorted(below, middle, side="right"))
        inside = np.concatenate(
            [r[(r * _STEPS).astype(np.int64) == step] for r in self._ratios(pairs, distance)]
        )
        rank = middle - int(below[step] - counts[step])
        return float(np.partition(inside, rank)[rank])

    def _ratios(self, pairs: list[tuple[int, int]], distance: int) -> Iterator[Column]:
        """Yield r of all pairs of jobs of the pairs of sessions, in chunks."""
        bounds = self.sessions.bounds
        for first, second in pairs:
            a = self.values[bounds[first] : bounds[first + 1]]
            b = self.values[bounds[second] : bounds[second + 1]]
            rows = max(1, _CHUNK // len(b))
            for low in range(0, len(a), rows):
                ratios = ratio(a[low : low + rows, None], b[None, :])
                if distance:
                    yield ratios.ravel()
                else:  # each job with the later ones
                    yield ratios[np.arange(len(b)) > np.arange(low, low + len(ratios))[:, None]]


def ratio(a: Column, b: Column) -> Column:
    """Return the similarity r = min / max of values >= 0 elementwise; for 0 and 0 it is 1."""
    larger = np.maximum(a, b)
    zero = larger == 0
    return np.asarray(np.where(zero, 1.0, np.minimum(a, b) / np.where(zero, 1.0, larger)))


def sum_within_groups(values: Column, bounds: Rows, measure: str) -> Column:
    """Sum the similarity r over all pairs in each group, or count its ``identical`` pairs.

    Group i is ``values[bounds[i]:bounds[i + 1]]``. Takes O(n log n): among ascending values, r of
    a pair is the earlier value divided by the later one, so running sums are enough.
    """
    size = np.diff(bounds)
    group = np.repeat(np.arange(len(size)), size)
    order = np.lexsort((values, group))
    value, rank = values[order], np.arange(len(values)) - np.repeat(bounds[:-1], size)
    if measure == "identical":
        opens = (np.diff(group, prepend=-1) != 0) | (np.diff(value, prepend=np.nan) != 0)
        run = np.flatnonzero(opens)
        gain = np.arange(len(value)) - run[opens.cumsum() - 1]  # equal ones before this one
    else:
        before = _sums_before(value, rank)
        gain = np.where(value > 0, before / np.where(value > 0, value, 1.0), rank)
    return np.bincount(group, gain, minlength=len(size)).astype(np.float64)


def _sums_before(values: Column, rank: Rows) -> Column:
    """Return for each value the sum of the values before it in its group; ``rank`` is its place.

    Sums of 1, 2, 4, ... values are joined, never across groups: rounding of one running sum over
    all groups would distort the sums of a later group with small values.
    """
    sums = np.where(rank > 0, np.concatenate(([0.0], values[:-1])), 0.0)[: len(values)]
    step, longest = 1, int(rank.max(initial=0))
    while step <= longest:
        sums[step:] += np.where(rank[step:] >= step, sums[:-step], 0.0)
        step *= 2
    return sums


def _ranges(bounds: Rows, sessions: Rows) -> Rows:
    """Return the rows of the jobs of these sessions, session by session."""
    size = bounds[sessions + 1] - bounds[sessions]
    begin = np.concatenate(([0], size.cumsum()))[:-1]
    return np.repeat(bounds[sessions] - begin, size) + np.arange(int(size.sum()))
