"""Intervals by weeks, ranks and series: against slow twins, and what holds for any waits."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import spearmanr

from batsched_py.calibration.agreement import estimate_agreement
from batsched_py.calibration.matched_jobs import match_jobs
from batsched_py.calibration.time_series import measure_backlog, measure_utilisation
from batsched_py.calibration.week_bootstrap import (
    RESAMPLES,
    Weeks,
    _draws,
    correlate_ranks,
    estimate_rank_correlation,
)
from batsched_py.units import DAY, HOUR, WEEK
from helpers.calibrated import PROCESSORS, log_of, table_of
from helpers.examples import few_examples

waits = st.lists(
    st.tuples(*2 * [st.one_of(st.just(0.0), st.integers(0, 10**6).map(float))]),
    min_size=2,
    max_size=60,
)


@given(waits)
def test_the_rank_correlation_is_that_of_scipy(pairs: list[tuple[float, float]]) -> None:
    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    found = correlate_ranks(a, b)
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert isnan(found)
    else:
        assert found == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)


@settings(few_examples)
@given(waits)
def test_measures_are_bounded_and_change_sides_as_they_should(
    pairs: list[tuple[float, float]],
) -> None:
    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    weeks = Weeks(np.linspace(0, 6 * WEEK, len(a)))
    there, back = estimate_agreement(weeks, a, b), estimate_agreement(weeks, b, a)
    for name in ("at_once_recorded", "at_once_simulated", "at_once_agree", "near"):
        interval = there[name].interval
        assert 0 <= interval.value <= 1
        assert not interval.is_known or 0 <= interval.low <= interval.value <= interval.high <= 1
    assert there["bias"].value == pytest.approx(-back["bias"].value, abs=1e-6)
    for name in ("near", "at_once_agree", "rank_correlation"):
        assert there[name].value == pytest.approx(back[name].value, nan_ok=True)
    assert not there["share_explained"].value > 1
    assert not abs(there["rank_correlation"].value) > 1


def test_resampled_ranks_have_the_spread_of_the_exact_ones() -> None:
    """Half of the jobs start at once; the twin ranks every job of each resample anew."""
    rng = np.random.default_rng(3)
    nb, nb_weeks = 1_500, 12
    times = np.sort(rng.uniform(0, nb_weeks * WEEK, nb))
    level = rng.normal(size=nb_weeks)[(times // WEEK).astype(int)]
    a = np.where(rng.random(nb) < 0.5, 0.0, np.exp(6 + level + rng.normal(size=nb)))
    b = np.where(rng.random(nb) < 0.3, a, np.exp(5 + rng.normal(size=nb)))
    weeks = Weeks(times)
    found = estimate_rank_correlation(weeks, a, b)
    rows = [np.flatnonzero(weeks.number == week) for week in range(weeks.nb)]
    for draw in range(0, RESAMPLES, 50):
        drawn = np.concatenate(
            [np.tile(rows[week], int(times)) for week, times in enumerate(_draws(weeks.nb)[draw])]
        )
        exact = correlate_ranks(a[drawn], b[drawn])
        assert found.drawn[draw] == pytest.approx(exact, abs=0.01)


def test_a_rest_at_the_end_is_of_the_week_before_and_empty_weeks_do_not_count() -> None:
    assert Weeks(np.array([0.0, 6, 7, 13, 16]) * DAY).number.tolist() == [0, 0, 1, 1, 1]
    assert Weeks(np.array([0.0, 30, 31]) * DAY).nb == 2
    assert Weeks(np.array([0.0, 3]) * DAY).nb == 1


Job = tuple[int, int, int, int, int]
jobs = st.lists(
    st.tuples(
        st.integers(0, 40 * 3600),  # submission
        st.integers(0, 30 * 3600),  # recorded wait
        st.integers(0, 30 * 3600),  # simulated wait
        st.integers(0, 20 * 3600),  # run time
        st.integers(1, 4),  # processors
    ),
    min_size=1,
    max_size=12,
)


def overlap(begin: float, end: float, low: float, high: float) -> float:
    """Return for how long two intervals are both there."""
    return max(0.0, min(end, high) - max(begin, low))


@given(jobs)
def test_the_backlog_is_the_sum_over_jobs_of_their_time_in_each_hour(drawn: list[Job]) -> None:
    drawn = sorted(drawn)
    submit, recorded, simulated, run, size = (
        np.array(column, float) for column in zip(*drawn, strict=True)
    )
    log = log_of(recorded.tolist(), submit_time=submit, run_time=run, requested_processors=size)
    found = measure_backlog(match_jobs(log, table_of(log, simulated.tolist()))[0])
    columns: list[tuple[list[float], NDArray[np.float64]]] = [
        (found.jobs.recorded, recorded),
        (found.jobs.simulated, simulated),
    ]
    for series, wait in columns:
        for hour, value in enumerate(series):
            low = found.jobs.begin + hour * HOUR
            there = [
                overlap(begin, begin + waited, low, low + HOUR) / HOUR
                for begin, waited in zip(submit, wait, strict=True)
            ]
            assert value == pytest.approx(sum(there), abs=1e-3)
    weights = size * run / HOUR
    for work in found.work.simulated[:1]:  # there is none of a log that is shorter
        expected = [
            weight * overlap(begin, begin + waited, found.work.begin, found.work.begin + HOUR)
            for begin, waited, weight in zip(submit, simulated, weights, strict=True)
        ]
        assert work == pytest.approx(sum(expected) / HOUR, abs=1e-3)


def test_the_utilisation_by_week_is_of_whole_weeks() -> None:
    """A job of 8 of 16 processors runs all the first of two weeks; it began a day too late."""
    log = log_of(
        [0.0, 0, 0],
        submit_time=[0, WEEK, 2 * WEEK + DAY],
        run_time=[WEEK, 1, 1],
        requested_processors=8,
    )
    jobs, _ = match_jobs(log, table_of(log, [DAY, 0, 0]))
    found = measure_utilisation(jobs, PROCESSORS)
    assert found.weeks.recorded == pytest.approx([0.5, 0], abs=1e-4)
    assert found.weeks.simulated == pytest.approx([0.5 * 6 / 7, 0.5 / 7], abs=1e-4)
    assert found.recorded == pytest.approx(0.5 * 7 / 15, abs=1e-4)
    assert isnan(measure_utilisation(jobs, None).recorded)
