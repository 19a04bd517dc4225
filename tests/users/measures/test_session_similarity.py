"""Similarity by session distance: by hand, against all pairs, and under shuffling."""

from __future__ import annotations

from itertools import combinations, product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import batsched_users.measures.session_similarity as module
from batsched_py.errors import UsageError
from batsched_users.measures.job_columns import JobColumns
from batsched_users.measures.session_similarity import MEASURES, measure_similarity
from helpers.drawn_sessions import job_columns

NAN = float("nan")
Sessions = list[list[float]]


def columns(users: list[Sessions]) -> JobColumns:
    """Jobs of users 0, 1, ... from the values in each of their sessions, two hours apart."""
    rows = [
        (user, 7_200.0 * number, value)
        for user, sessions in enumerate(users)
        for number, session in enumerate(sessions)
        for value in session
    ]
    rows.sort(key=lambda row: row[1])
    user, submit, value = np.array(rows, dtype=float).reshape(-1, 3).T
    return job_columns(user, submit, size=value, run_time=value)


def slow_ratio(a: float, b: float) -> float:
    return 1.0 if a == b else min(a, b) / max(a, b)


def slow_measure(ratios: list[float], measure: str) -> float:
    if measure == "mean":
        return fmean(ratios)
    if measure == "median":
        return sorted(ratios)[len(ratios) // 2]
    return fmean(r == 1 for r in ratios)


def slow_similarity(sessions: Sessions, measure: str, distance: int) -> float | None:
    """All pairs, one by one."""
    values = [[value for value in session if value == value] for session in sessions]
    ratios: list[float] = []
    for one, other in zip(values, values[distance:], strict=False):
        pairs = product(one, other) if distance else combinations(one, 2)
        ratios += [slow_ratio(a, b) for a, b in pairs]
    return slow_measure(ratios, measure) if ratios else None


VALUES = st.sampled_from([0.0, 1.0, 2.0, 3.0, 7.0, 50.0, NAN])
SESSIONS = st.lists(st.lists(VALUES, min_size=1, max_size=5), min_size=1, max_size=6)


@given(st.lists(SESSIONS, min_size=1, max_size=3), st.sampled_from(MEASURES))
def test_every_pair_counts(users: list[Sessions], measure: str) -> None:
    alike = measure_similarity(columns(users), "size", measure, min_sessions=3)
    expected = {}
    for user, sessions in enumerate(users):
        values = [slow_similarity(sessions, measure, distance) for distance in (0, 1, 2)]
        if len(sessions) >= 3 and None not in values:
            expected[user] = values
    assert alike.user.tolist() == list(expected)
    for row, values in zip(alike.value, expected.values(), strict=True):
        assert row == pytest.approx(values, abs=1e-12)


def test_medians_of_many_pairs_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """With little room, the median is found in two looks, and is the same number."""
    draws = np.random.default_rng(0)
    users = [[draws.integers(0, 99, n).astype(float).tolist() for n in (40, 1, 60, 7, 30)]]
    users.append([[5.0] * 30] * 3)
    whole = measure_similarity(columns(users), "size", "median", min_sessions=3)
    monkeypatch.setattr(module, "_CHUNK", 50)
    pieces = measure_similarity(columns(users), "size", "median", min_sessions=3)
    np.testing.assert_array_equal(pieces.value, whole.value)
    assert whole.value[1].tolist() == [1, 1, 1]


def test_who_wins() -> None:
    """User 0 repeats within sessions only, 1 never changes, 2 alternates; 3 has no pair inside."""
    users: list[Sessions] = [
        [[1, 1], [2, 2], [4, 4]],
        [[8, 8], [8], [8]],
        [[1, 9], [1, 9], [1, 9]],
        [[1], [2], [3]],
    ]
    alike = measure_similarity(columns(users), "size", "identical", min_sessions=3)
    assert alike.user.tolist() == [0, 1, 2]
    np.testing.assert_allclose(alike.value, [[1, 0, 0], [1, 1, 1], [0, 0.5, 0.5]])
    assert alike.compare(0, 1) == (1 / 3, 1 / 3, 1 / 3)
    assert alike.compare(1, 2) == (0, 1, 0)
    nobody = measure_similarity(columns(users), "size")
    assert len(nobody.user) == 0, "nobody has 6 sessions"
    assert np.isnan(nobody.compare(0, 1)).all()


def test_rounding_makes_no_winner() -> None:
    """A user who never changes, also after one with values that swallow small ones in sums."""
    giant: Sessions = [[1e12 / 3, 1e12 / 7] * 3] * 9
    small: Sessions = [[3.7e-5] * 7, [3.7e-5] * 11, [3.7e-5] * 13] * 3
    alike = measure_similarity(columns([giant, small]), "run_time", "mean")
    np.testing.assert_allclose(alike.value[1], 1, rtol=1e-12)
    assert alike.compare(0, 1)[1] >= 0.5
    assert alike.compare(1, 2) == (0, 1, 0)


def test_wrong_use_is_refused() -> None:
    jobs = columns([[[1.0], [2.0]]])
    with pytest.raises(UsageError, match=r"measure=modus.*expected one of mean"):
        measure_similarity(jobs, "size", "modus")
    with pytest.raises(UsageError, match="min_sessions=0"):
        measure_similarity(jobs, "size", min_sessions=0)
