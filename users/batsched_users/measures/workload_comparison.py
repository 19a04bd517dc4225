"""The measures of this package side by side, for several workloads."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from batsched_py.units import DAY, WEEK
from batsched_users.measures.daily_locality import bin_edges, daily_largest_shares
from batsched_users.measures.job_columns import JobColumns
from batsched_users.measures.marginals import jobs_by_hour_of_week, marginals
from batsched_users.measures.self_similarity import hurst
from batsched_users.measures.session_columns import cut_sessions
from batsched_users.measures.session_similarity import similarity
from batsched_users.measures.stack_depth import mean_depth, stack_depths

TOLERANCE = 0.05
"""Run times that differ by at most so much are the same for the stack."""
_STACKS = {"run_time": TOLERANCE, "requested_time": TOLERANCE, "size": 0.0}
_MEASURES = {"run_time": "median", "requested_time": "identical", "size": "mean"}
"""The measure of similarity by which each of the thesis's tables comes out."""


class Measure(msgspec.Struct, frozen=True):
    """One line: what it is, and its value for each workload (nan where it is not defined)."""

    name: str
    unit: str
    values: list[float]


def compare(workloads: Sequence[JobColumns]) -> list[Measure]:
    """Return the measures of each workload, by the choices that fit the thesis's tables best.

    Bins are those of the first workload. Sources are at the functions that measure.
    """
    lines: dict[tuple[str, str], list[float]] = {}
    for jobs in workloads:
        for key, value in _measures(jobs, workloads[0]).items():
            lines.setdefault(key, []).append(value)
    return [Measure(name, unit, values) for (name, unit), values in lines.items()]


def _measures(jobs: JobColumns, reference: JobColumns) -> dict[tuple[str, str], float]:
    sessions = cut_sessions(jobs)
    per_user = marginals(jobs, sessions)
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
        depths = stack_depths(jobs.attribute(name), tolerance=tolerance)
        measured[f"stack depth of {_words(name)}, mean", ""] = mean_depth(depths)
    for name in _STACKS:
        values = reference.attribute(name)
        if np.isnan(values).all():
            continue
        shares = daily_largest_shares(
            jobs.submit, jobs.attribute(name), calendar=jobs.calendar, edges=bin_edges(values)
        )
        measured[f"{_words(name)}: largest share of a day, median", "%"] = 100 * _median(shares)
    for name, measure in _MEASURES.items():
        alike = similarity(jobs.ran, name, measure)
        for nearer in (0, 1):
            where = "in a session" if nearer == 0 else "in the next session"
            share = alike.compare(nearer, nearer + 1)[0]
            measured[f"{_words(name)} most alike {where}, users", "%"] = 100 * share
    return measured


def _median(values: np.typing.NDArray[np.float64]) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _words(name: str) -> str:
    return name.replace("_", " ")
