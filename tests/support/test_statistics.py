"""Statistics over replications: by hand, against scipy, how often intervals and tests are right."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, isnan, log, nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from batsched_py.report.kit import all_hold, deciding
from batsched_py.support import statistics
from batsched_py.support.statistics import (
    FEWEST,
    Interval,
    compare_published,
    jackknife,
    mean_interval,
    median_interval,
    median_ratio,
    paired_difference,
    paired_ratio,
    quantiles,
    share_interval,
    spread_test,
    trimmed_mean,
)

Rng = np.random.Generator


def test_quantiles_and_trimmed_means() -> None:
    """Linear between two values; what is not defined is left out, and of nothing is nothing."""
    for values, at, expected in (
        ([1, 2, 3, 4, 5], (0.0, 0.25, 0.4, 1.0), [1, 2, 2.6, 5]),
        ([1, None, nan, 3], (0.5,), [2]),
        ([], (0.5,), [nan]),
    ):
        assert quantiles(values, at) == pytest.approx(expected, nan_ok=True)
    assert isnan(trimmed_mean([1.0, 2.0]))
    assert trimmed_mean([1000, 1, 2, 3, 4, -1000, 5, 6, 7, 8]) == 4.5  # without both ends
    for interval in (mean_interval([]), median_interval([]), paired_ratio([], [])):
        assert (interval.nb, isnan(interval.value)) == (0, True)
    assert (compare_published([], 6.0).rank, isnan(compare_published([], 6.0).p)) == ("", True)


# Intervals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("nb", range(1, FEWEST + 1))
def test_few_values_have_no_interval(nb: int) -> None:
    """Four values have a mean; how normal they are nobody can see."""
    for interval in (mean_interval(range(nb)), paired_difference(range(nb), [0] * nb)):
        assert (interval.value, interval.nb) == ((nb - 1) / 2, nb)
        assert interval.is_known is (nb >= FEWEST)
        assert isnan(interval.high) is (nb < FEWEST)
    if nb < FEWEST:
        ours = compare_published([5.0] * nb, 6.0)
        assert (ours.rank, isnan(ours.z), isnan(ours.p)) == (f"{nb} of {nb}", True, True)
    assert not median_interval(range(nb)).is_known  # five leave out the median in one case of 16


def test_a_mean_has_the_interval_of_student() -> None:
    """1, 2, 3, 4, 5: mean 3, standard error sqrt(2.5 / 5), t with 4 degrees of freedom 2.776."""
    interval = mean_interval([1, 2, nan, 3, 4, 5])
    assert paired_difference([2, 4, nan, 6, 8, 10], [1, 2, 3, 3, 4, 5]) == interval
    assert str(mean_interval([1.0] * 5)) == "1 (1 to 1)"
    assert jackknife([*range(9), 1000.0], trimmed_mean) == jackknife([*range(10)], trimmed_mean)
    assert (interval.value, interval.nb) == (3, 5)
    assert interval.high - 3 == pytest.approx(2.776445 * sqrt(0.5), rel=1e-6)
    assert interval.low == pytest.approx(6 - interval.high)


def test_a_ratio_is_done_on_its_logarithm() -> None:
    """All pairs have a ratio of 2 but one: 95 % of logs, so it cannot reach below 0."""
    ratio = paired_ratio([2, 4, 6, 8, 200], [1, 2, 3, 4, 5])
    assert ratio.value == 220 / 15
    assert ratio.low > 0
    assert log(ratio.high / ratio.value) == pytest.approx(log(ratio.value / ratio.low))
    negative = paired_ratio([-1.0] * 6, [1.0] * 6)
    assert (negative.value, negative.is_known) == (-1, False)
    assert isnan(paired_ratio([1.0] * 6, [0.0] * 6).value)


@given(st.lists(st.floats(1e-3, 1e6), min_size=6, max_size=60))
@example([1.0, 1.0, *[994570.0910041846] * 4])  # a part and the rest of it may be more than both
def test_a_median_is_inside_its_interval_and_that_inside_the_values(values: list[float]) -> None:
    interval = median_interval(values)
    assert min(values) <= interval.low <= interval.value <= interval.high <= max(values)
    shifted = median_interval([log(value) for value in values])
    if len(values) % 2:  # a middle value is the middle of any scale
        assert exp(shifted.value) == pytest.approx(interval.value)


@given(st.lists(st.tuples(st.floats(1, 1e3), st.floats(1, 1e3)), min_size=5, max_size=20))
def test_the_other_way_round_is_the_reciprocal(pairs: list[tuple[float, float]]) -> None:
    ours, base = np.array(pairs).T
    there, back = paired_ratio(ours, base), paired_ratio(base, ours)
    assert there.value * back.value == pytest.approx(1)
    assert there.low * back.high == pytest.approx(1, rel=1e-6)


def _pair(rng: Rng, nb: int) -> tuple[Any, Any]:
    """Return 10 % more than the base, of people who differ by a factor of three."""
    people = rng.lognormal(0, 1, nb)
    return people * rng.lognormal(log(1.1), 0.1, nb), people * rng.lognormal(0, 0.1, nb)


def _wilder(deviates: Any) -> Interval:
    """Return the ratio of spreads of two sides, shape (2, n); the second is twice as wild."""
    return spread_test(*np.exp(np.array([[0.2], [0.4]]) * deviates)).ratio


def _another(sides: Any) -> Interval:
    """Return where the mean of other values is to be, as seen from it; shape (2, n)."""
    ours, theirs = sides
    found = mean_interval(ours).of_another(len(theirs))
    ends = np.array([found.value, found.low, found.high]) - theirs.mean()
    return Interval(*ends.tolist(), found.nb)


COVERED: dict[str, tuple[Callable[[Rng, int], Interval], float]] = {
    "mean": (lambda rng, nb: mean_interval(rng.normal(10, 2, nb)), 10.0),
    "mean, skewed": (lambda rng, nb: mean_interval(rng.lognormal(0, 0.7, nb)), exp(0.245)),
    "trimmed": (lambda rng, nb: jackknife(rng.normal(10, 2, nb), trimmed_mean), 10.0),
    "another mean": (lambda rng, nb: _another(rng.normal(10, 3, (2, nb))), 0.0),
    "ratio": (lambda rng, nb: paired_ratio(*_pair(rng, nb)), 1.1),
    "median": (lambda rng, nb: median_interval(rng.lognormal(0, 1, nb)), 1.0),
    "median of ratios": (lambda rng, nb: median_ratio(*_pair(rng, nb)), 1.1),
    "spreads": (lambda rng, nb: _wilder(rng.normal(0, 1, (2, nb))), 0.5),
    "spreads, skewed": (lambda rng, nb: _wilder(rng.exponential(1, (2, nb))), 0.5),
}


EXPECTED = {"trimmed": 0.89, "ratio": 0.91, "spreads, skewed": 0.91, "mean, skewed": 0.9}
"""The error of what few values decide is underestimated."""


@pytest.mark.parametrize("what", COVERED)
def test_intervals_hold_what_they_are_of_as_often_as_they_say(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Of 2,000 samples 95 % hold it, give or take 2 (a percentile bootstrap of six: 85 %)."""
    monkeypatch.setattr(statistics, "PERMUTATIONS", 1)  # the test beside the interval of spreads
    make, true = COVERED[what]
    nb = 10 if "median" in what else 5
    rng = np.random.default_rng(nb)
    inside = [(drawn := make(rng, nb)).low <= true <= drawn.high for _ in range(2000)]
    assert np.mean(inside) == pytest.approx(EXPECTED.get(what, 0.95), abs=0.02)


@pytest.mark.parametrize(
    ("number", "of", "low", "high"),
    [
        (0, 250, 0, 1 - 0.025 ** (1 / 250)),  # nothing in 250 if the share is that, in 2.5 %
        (7, 250, *stats.binomtest(7, 250).proportion_ci(method="exact")),
        (0.5, 40, 0, 0.1109),  # half a draw, between none and one
        (3, 4, nan, nan),
    ],
)
def test_a_share_has_the_exact_interval(number: float, of: int, low: float, high: float) -> None:
    share = share_interval(number, of)
    assert (share.value, share.nb) == (number / of, of)
    assert (share.low, share.high) == pytest.approx((low, high), abs=1e-4, nan_ok=True)


@pytest.mark.parametrize("of", [5, 250])
def test_a_share_is_in_its_interval_in_95_of_100_cases_at_least(of: int) -> None:
    """All that may be drawn, each as often as it is."""
    ends = [share_interval(number, of) for number in range(of + 1)]
    for true in (0.01, 0.025, 0.3, 0.5, 0.975):
        holding = [number for number, share in enumerate(ends) if share.low <= true <= share.high]
        assert stats.binom.pmf(holding, of, true).sum() >= 0.95


# Spreads -----------------------------------------------------------------------------------------


def test_who_varies_less() -> None:
    """Ten and twenty per cent around other levels; each as the logarithms say."""
    rng = np.random.default_rng(0)
    calm, wild = 5 * rng.lognormal(0, 0.1, 40), rng.lognormal(0, 0.4, 40)
    found = spread_test(calm, wild)
    assert found.ours == pytest.approx(np.log(calm).std(ddof=1))
    assert found.ratio.value == pytest.approx(found.ours / found.base)
    assert found.ratio.high < 0.5
    assert found.p < 0.001
    turned = spread_test(wild, calm)
    assert turned.ratio.value == pytest.approx(1 / found.ratio.value)
    assert turned.p == pytest.approx(found.p, abs=0.001)


def test_equal_spreads_are_found_different_in_one_case_of_twenty_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two systems of other levels, with the same people in each pair: 400 campaigns."""
    monkeypatch.setattr(statistics, "PERMUTATIONS", 499)
    rng = np.random.default_rng(2)
    found = []
    for _ in range(400):
        people = rng.normal(0, 0.3, 10)
        ours, base = (np.exp(level + people + rng.normal(0, 0.3, 10)) for level in (0, 2))
        found.append(spread_test(ours, base).p <= 0.05)
    assert 0.01 <= np.mean(found) <= 0.075


@pytest.mark.parametrize("ours", [[], [1.0], [2.0] * 6, [3.0, 4.0, 5.0, 6.0, 7.0, 0.0]])
def test_what_does_not_vary_or_has_no_logarithm_is_not_tested(ours: list[float]) -> None:
    """A wait of 0 among others is the most extreme of all, and is not left out unseen."""
    found = spread_test(ours, [float(at) for at in range(1, len(ours) + 1)])
    assert isnan(found.p)
    assert not found.ratio.is_known
    assert found.ratio.nb == len(ours)


# Beside a published number -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "published", "rank", "z", "p"),
    [
        (list(range(101)), 50, "50.5 of 101", 0.0, 1.0),
        (list(range(5)), 10, "5 of 5", 8 / sqrt(2.5 * 1.2), 2 * stats.t.sf(8 / sqrt(3), 4)),
        ([5.0] * 5, 6.0, "5 of 5", inf, 0.0),  # no spread at all
        ([5.0] * 5, 5.0, "2.5 of 5", 0.0, 1.0),
    ],
)
def test_beside_a_published_number(
    values: list[float], published: float, rank: str, z: float, p: float
) -> None:
    ours = compare_published(values, published)
    assert (ours.rank, ours.z, ours.p) == (rank, pytest.approx(z), pytest.approx(p))
    assert ours.difference == pytest.approx((ours.ours - published) / abs(published))


def test_one_more_of_ours_is_far_out_in_one_case_of_twenty() -> None:
    """Ten runs and one more of the same kind, 1,000 times. Outside the ten: every sixth."""
    samples = np.random.default_rng(5).normal(0, 1, (1000, 11))
    found = [compare_published(sample[:-1], sample[-1]) for sample in samples]
    assert 0.03 <= np.mean([ours.p < 0.05 for ours in found]) <= 0.07
    outside = np.mean([ours.below in (0, 10) for ours in found])
    assert outside == pytest.approx(2 / 11, abs=0.04)


# Answers ----------------------------------------------------------------------------------------


@given(
    st.tuples(st.floats(-2, 2), st.floats(-2, 2)).map(sorted),
    st.tuples(st.floats(-2, 2), st.floats(-2, 2)).map(sorted),
)
def test_an_answer_is_that_of_all_values_of_the_interval(
    ends: list[float], bounds: list[float]
) -> None:
    """The slow twin: each value that may be is asked, and where they agree that is the answer."""
    interval, values = Interval(ends[0], *ends, 5), np.linspace(*ends, 50)
    found = {bool(bounds[0] <= value <= bounds[1]) for value in values}
    answer = interval.within(*bounds)
    assert answer is None or found == {answer}
    assert answer is not None or not bounds[0] <= ends[0] <= ends[1] <= bounds[1]
    more, less = (values > bounds[0]).tolist(), (values < bounds[0]).tolist()
    equal = (values == bounds[0]).tolist()
    for asked, holds in ((interval.above, more), (interval.below, less)):
        others = less if holds is more else more
        none = not any(holds) and (any(others) or any(equal))
        assert asked(bounds[0]) is (True if all(holds) else False if none else None)
    unknown = Interval(1, nan, nan, 5)
    assert unknown.above(0) is unknown.below(0) is unknown.within(0, 2) is None


@pytest.mark.parametrize(
    ("answers", "all_do", "those"),
    [
        ({}, None, []),
        ({"a": True, "b": True}, True, ["a", "b"]),
        ({"a": True, "b": None, "c": None}, None, ["b", "c"]),
        ({"a": None, "b": np.False_, "c": True, "d": False}, False, ["b", "d"]),
    ],
)
def test_whether_all_hold_and_what_decides_it(
    answers: dict[str, bool | None], all_do: bool | None, those: list[str]
) -> None:
    assert all_hold(answers.values()) is all_do
    assert deciding(answers) == those
