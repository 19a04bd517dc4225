"""Compares the recorded and the simulated backlog by hour, and utilisation by week."""

from __future__ import annotations

from math import nan

import msgspec
import numpy as np

from batsched_py.calibration.matched_jobs import MatchedJobs
from batsched_py.calibration.week_bootstrap import Sums, Weeks
from batsched_py.errors import InputError
from batsched_py.results.job_table import Column
from batsched_py.support.statistics import Interval
from batsched_py.support.step_functions import Intervals
from batsched_py.units import HOUR, WEEK

_MOST_YEARS = 50
_DIGITS = 4


class Series(msgspec.Struct, frozen=True):
    """A recorded and a simulated quantity, as means over equal parts of the time."""

    begin: float
    """Of the first part, seconds of the log."""
    step: float
    recorded: list[float]
    simulated: list[float]
    correlation: Interval
    """Pearson's; nan if either is constant."""


class Backlog(msgspec.Struct, frozen=True):
    """The waiting jobs and their work, averaged over each hour."""

    jobs: Series
    """Number of jobs."""
    work: Series
    """Processor-hours: processors x recorded run time of the jobs."""


class Utilisation(msgspec.Struct, frozen=True):
    """The share of the machine that the jobs use, the warm-up included."""

    recorded: float
    """From the first to the last measured submission; nan if these are one instant, or the size of
    the machine is unknown."""
    simulated: float
    weeks: Series


def measure_backlog(jobs: MatchedJobs) -> Backlog:
    """Return the recorded and simulated backlog of jobs, the warm-up included."""
    work = jobs.size * jobs.recorded_run / HOUR
    return Backlog(_waiting(jobs, np.ones(len(work))), _waiting(jobs, work))


def measure_utilisation(jobs: MatchedJobs, nb_processors: int | None) -> Utilisation:
    """Return the recorded and simulated utilisation of a machine, the warm-up included."""
    begin, end = _span(jobs)
    weight = jobs.size / (nan if nb_processors is None else nb_processors)
    recorded, simulated = jobs.submit + jobs.recorded, jobs.submit + jobs.simulated
    spans = (
        Intervals(recorded, recorded + jobs.recorded_run, weight),
        Intervals(simulated, simulated + jobs.simulated_run, weight),
    )
    of_all = [float(each.means(np.array([begin, end]))[0]) for each in spans]
    return Utilisation(of_all[0], of_all[1], _series(spans, begin, end, WEEK))


def _waiting(jobs: MatchedJobs, weight: Column) -> Series:
    begin, end = _span(jobs)
    recorded, simulated = jobs.submit + jobs.recorded, jobs.submit + jobs.simulated
    spans = Intervals(jobs.submit, recorded, weight), Intervals(jobs.submit, simulated, weight)
    return _series(spans, begin - begin % HOUR, end, HOUR)


def _span(jobs: MatchedJobs) -> tuple[float, float]:
    """Return the first and the last measured submission; raises :class:`InputError`."""
    submit = jobs.submit[jobs.measured]
    begin, end = float(submit.min()), float(submit.max())
    if end - begin > _MOST_YEARS * 52 * WEEK:
        raise InputError(
            f"submissions span {end - begin:g} s: expected a log of at most {_MOST_YEARS} years"
        )
    return begin, end


def _series(spans: tuple[Intervals, Intervals], begin: float, end: float, step: float) -> Series:
    nb = int((end - begin) / step)  # a part that ends later would be of other times too
    edges = begin + step * np.arange(nb + 1, dtype=np.float64)
    recorded, simulated = (each.means(edges) for each in spans)
    return Series(
        begin,
        step,
        np.round(recorded, _DIGITS).tolist(),
        np.round(simulated, _DIGITS).tolist(),
        _correlation(edges[:-1], recorded, simulated),
    )


def _correlation(times: Column, a: Column, b: Column) -> Interval:
    if not len(times):
        return Interval(nan, nan, nan, 0)
    a, b = a - a.mean(), b - b.mean()  # sums of squares keep more digits
    columns = {"n": np.ones(len(a)), "a": a, "b": b, "aa": a * a, "bb": b * b, "ab": a * b}
    weeks = Weeks(times)
    return weeks.estimate(_of_sums, weeks.sum_by_week(columns)).interval


def _of_sums(sums: Sums) -> Column:
    """Return Pearson's coefficient, nan where a side is constant."""
    n = sums["n"]
    squares = [sums[2 * name] - sums[name] ** 2 / n for name in ("a", "b")]
    known = np.minimum(*squares) > 1e-12 * n
    product = (sums["ab"] - sums["a"] * sums["b"] / n) / np.sqrt(squares[0] * squares[1])
    return np.where(known, np.clip(product, -1, 1), nan)
