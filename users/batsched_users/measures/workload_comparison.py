"""Compares workloads by the measures of this package, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError
from batsched_py.units import DAY, WEEK
from batsched_users.behaviour.calendar import Calendar
from batsched_users.measures.job_columns import JobColumns
from batsched_users.measures.marginals import jobs_by_hour_of_week, measure_marginals
from batsched_users.measures.self_similarity import hurst
from batsched_users.measures.session_columns import cut_sessions
from batsched_users.measures.session_similarity import measure_similarity
from batsched_users.measures.stack_depth import find_stack_depths, mean_depth

NB_BINS = 16


def make_bin_edges(values: NDArray[np.float64], nb_bins: int = NB_BINS) -> NDArray[np.float64]:
    """Return the inner edges of bins with equally many values each, shape (nb_bins - 1,).

    If one value is more frequent than a bin (small sizes, round requests), edges coincide and the
    bins between them stay empty. Unknown values (nan) are left out. Raises :class:`UsageError`
    without known values, and for less than one bin.
    """
    numbers = values[~np.isnan(values)]
    if nb_bins < 1 or not len(numbers):
        raise UsageError(f"{nb_bins} bins of {len(numbers)} known values: expected at least 1 each")
    return np.quantile(numbers, np.arange(1, nb_bins) / nb_bins, method="inverted_cdf")


def measure_daily_shares(
    submit: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    calendar: Calendar | None = None,
    edges: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the share of jobs in the fullest bin, for each day with jobs; shape (days,).

    ``submit`` (seconds) and ``values`` have shape (n,). A value on an edge is in the bin below it.
    Days begin at midnight of ``calendar``, by default at multiples of 24 h. The default ``edges``
    are :func:`make_bin_edges` of the values; pass the edges of one log to compare another with it.
    Each share is in [1 / bins, 1]; without locality it is near the lower end on busy days.
    """
    edges = make_bin_edges(values) if edges is None else edges
    is_known = ~np.isnan(values)
    origin = (calendar or Calendar()).at_origin
    day = np.floor((submit[is_known] + origin) / DAY).astype(np.int64)
    if not len(day):
        return np.empty(0)
    day -= day.min()
    nb_bins = len(edges) + 1
    place = np.searchsorted(edges, values[is_known], side="left")
    counts = np.bincount(day * nb_bins + place, minlength=(int(day.max()) + 1) * nb_bins)
    counts = counts.reshape(-1, nb_bins)
    jobs = counts.sum(axis=1)
    shares: NDArray[np.float64] = counts.max(axis=1)[jobs > 0] / jobs[jobs > 0]
    return shares


TOLERANCE = 0.05
"""Relative difference up to which run times are the same for stack depths."""
_STACKS = {"run_time": TOLERANCE, "requested_time": TOLERANCE, "size": 0.0}
_MEASURES = {"run_time": "median", "requested_time": "identical", "size": "mean"}
"""Attribute -> measure of similarity that reproduces the tables of the thesis."""


class Measure(msgspec.Struct, frozen=True):
    """A measure with its value for each workload (nan if it is not defined)."""

    name: str
    unit: str
    values: list[float]


def compare_workloads(workloads: Sequence[JobColumns]) -> list[Measure]:
    """Measure each workload, with the choices that fit the tables of Zakay's thesis best.

    Bins are those of the first workload. The functions that measure name their sources.
    """
    lines: dict[tuple[str, str], list[float]] = {}
    for jobs in workloads:
        for key, value in _measures(jobs, workloads[0]).items():
            lines.setdefault(key, []).append(value)
    return [Measure(name, unit, values) for (name, unit), values in lines.items()]


def _measures(jobs: JobColumns, reference: JobColumns) -> dict[tuple[str, str], float]:
    sessions = cut_sessions(jobs)
    per_user = measure_marginals(jobs, sessions)
    hours = jobs_by_hour_of_week(jobs)
    span = float(np.ptp(jobs.submit)) if len(jobs) else 0.0
    measured = {
        ("jobs", ""): float(len(jobs)),
        ("length", "weeks"): span / WEEK,
        ("users", ""): float(len(per_user.jobs)),
        ("sessions", ""): float(len(sessions.user)),
        ("jobs of a user, median", ""): _median(per_user.jobs),
        ("sessions of a user, median", ""): _median(per_user.sessions),
        ("activity of a user, median", "days"): _median(per_user.activity) / DAY,
        ("busiest hour of the week", "%"): 100 * float(hours.max()) / max(1, len(jobs)),
        ("self-similarity (Hurst)", ""): hurst(jobs.submit) if span else float("nan"),
    }
    for name, tolerance in _STACKS.items():
        depths = find_stack_depths(jobs.attribute(name), tolerance=tolerance)
        measured[f"stack depth of {_words(name)}, mean", ""] = mean_depth(depths)
    for name in _STACKS:
        values = reference.attribute(name)
        if np.isnan(values).all():
            continue
        shares = measure_daily_shares(
            jobs.submit, jobs.attribute(name), calendar=jobs.calendar, edges=make_bin_edges(values)
        )
        measured[f"{_words(name)}: largest share of a day, median", "%"] = 100 * _median(shares)
    for name, measure in _MEASURES.items():
        alike = measure_similarity(jobs.ran, name, measure)
        for nearer in (0, 1):
            where = "in a session" if nearer == 0 else "in the next session"
            share = alike.compare(nearer, nearer + 1)[0]
            measured[f"{_words(name)} most alike {where}, users", "%"] = 100 * share
    return measured


def _median(values: np.typing.NDArray[np.float64]) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _words(name: str) -> str:
    return name.replace("_", " ")
