"""Metrics of a schedule, each with its formula, unit and source.

All work on a :class:`JobTable`: numpy columns of one simulation, a row per job. ``a`` is the
submission time, ``s`` the start, ``f`` the finish, ``l`` the lateness (replayed minus recorded
submission). Rejected jobs have no start and finish: metrics of times exclude them, metrics of
lateness include them; :data:`METRICS` says for each which jobs are its denominator.

Source, unless said otherwise: Madon et al. 2024, section 4 (replay with feedback).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

DAY = 86_400.0
MONTH = 30 * DAY
BOUND = 10.0
"""Threshold tau of the bounded slowdown, seconds."""

Column = NDArray[np.float64]


class JobTable(msgspec.Struct):
    """Columns of one simulation, each of shape (n,); times in seconds, nan = none."""

    submit: Column
    start: Column
    finish: Column
    execution: Column
    """Time from start to finish; at least 1e-5 s, as Batsim writes it."""
    size: Column
    original_submit: Column
    user: list[str]
    """User of each job, ``""`` where unknown."""

    @property
    def ran(self) -> NDArray[np.bool_]:
        """Which jobs ran, that is were not rejected; shape (n,)."""
        return np.isfinite(self.finish)

    @property
    def lateness(self) -> Column:
        """Replayed minus recorded submission time, seconds; shape (n,)."""
        return self.submit - self.original_submit

    def select(self, rows: NDArray[Any]) -> JobTable:
        """Return the table of the given rows (indices or mask)."""
        return JobTable(
            submit=self.submit[rows],
            start=self.start[rows],
            finish=self.finish[rows],
            execution=self.execution[rows],
            size=self.size[rows],
            original_submit=self.original_submit[rows],
            user=np.asarray(self.user, dtype=object)[rows].tolist(),
        )


class Metric(msgspec.Struct, frozen=True):
    """A metric: how it is computed, in which unit, over which jobs."""

    compute: Callable[[JobTable], float]
    unit: str
    denominator: str


def makespan(table: JobTable) -> float:
    """``max f - min a`` in seconds; Batsim's makespan is the absolute last end instead."""
    return float(np.nanmax(table.finish) - np.min(table.submit))


def mean_waiting_time(table: JobTable) -> float:
    """Mean of ``s - a`` in seconds over the jobs that ran."""
    return float(np.nanmean(table.start - table.submit))


def max_waiting_time(table: JobTable) -> float:
    """Maximum of ``s - a`` in seconds over the jobs that ran."""
    return float(np.nanmax(table.start - table.submit))


def mean_turnaround_time(table: JobTable) -> float:
    """Mean of ``f - a`` in seconds over the jobs that ran."""
    return float(np.nanmean(table.finish - table.submit))


def mean_slowdown(table: JobTable) -> float:
    """Mean of ``(f - a) / (f - s)`` over the jobs that ran (Batsim's stretch).

    A job of no length counts with a run time of 1e-5 s and outweighs all others if it waits: use
    :func:`mean_bounded_slowdown` where there are such jobs.
    """
    return float(np.nanmean((table.finish - table.submit) / table.execution))


def mean_bounded_slowdown(table: JobTable) -> float:
    """Mean of ``max(1, (f - a) / max(f - s, 10 s))`` over the jobs that ran.

    Source: Feitelson, "Metrics for parallel job scheduling and their convergence", JSSPP 2001.
    """
    run_time = np.maximum(table.execution, BOUND)
    return float(np.nanmean(np.maximum(1.0, (table.finish - table.submit) / run_time)))


def mean_lateness(table: JobTable) -> float:
    """Mean of ``l`` in seconds over all jobs, rejected ones included."""
    return float(table.lateness.mean())


def relative_lateness(table: JobTable) -> float:
    """``1 + mean l / (last - first recorded submission)``; nan if all came at one instant."""
    span = float(np.ptp(table.original_submit))
    return 1 + mean_lateness(table) / span if span else float("nan")


def additional_lateness(table: JobTable) -> float:
    """``2 * mean l / (n - 1)`` in seconds per job of the log; nan for fewer than two jobs."""
    n = len(table.submit)
    return 2 * mean_lateness(table) / (n - 1) if n > 1 else float("nan")


METRICS: dict[str, Metric] = {
    function.__name__: Metric(function, unit, denominator)
    for function, unit, denominator in (
        (makespan, "s", "jobs that ran"),
        (mean_waiting_time, "s", "jobs that ran"),
        (max_waiting_time, "s", "jobs that ran"),
        (mean_turnaround_time, "s", "jobs that ran"),
        (mean_slowdown, "1", "jobs that ran"),
        (mean_bounded_slowdown, "1", "jobs that ran"),
        (mean_lateness, "s", "all jobs"),
        (relative_lateness, "1", "all jobs"),
        (additional_lateness, "s", "all jobs"),
    )
}

_PER_USER = ("mean_waiting_time", "mean_lateness", "relative_lateness", "additional_lateness")


def overall(table: JobTable) -> dict[str, float | int | None]:
    """Return every metric of the whole table, None where it is not defined, and the counts."""
    ran = int(table.ran.sum())
    values: dict[str, float | int | None] = {
        "nb_jobs": len(table.submit),
        "nb_ran": ran,
        "nb_rejected": len(table.submit) - ran,
    }
    for name, metric in METRICS.items():
        values[name] = _value(metric, table, ran)
    return values


def per_user(table: JobTable) -> dict[str, dict[str, float | int | None]]:
    """Return the metrics of each user's own jobs, by user in order of first appearance."""
    rows: dict[str, list[int]] = {}
    for row, user in enumerate(table.user):
        rows.setdefault(user, []).append(row)
    rows.pop("", None)
    result = {}
    for user, own in rows.items():
        part = table.select(np.asarray(own))
        ran = int(part.ran.sum())
        values: dict[str, float | int | None] = {"nb_jobs": len(own), "nb_ran": ran}
        result[user] = values | {name: _value(METRICS[name], part, ran) for name in _PER_USER}
    return result


def window(table: JobTable, start: float, length: float) -> dict[str, float]:
    """Return throughput (jobs ended per day) and utilisation (mean busy processors).

    The window is ``[start, start + length)``, in seconds from the first submission; its length
    is the denominator of both.
    """
    begin = float(np.min(table.submit)) + start
    end = begin + length
    ran = table.ran
    started, finished, size = table.start[ran], table.finish[ran], table.size[ran]
    ended = int(((finished >= begin) & (finished < end)).sum())
    busy = np.clip(finished, begin, end) - np.clip(started, begin, end)
    return {
        "start": start,
        "length": length,
        "throughput_per_day": ended / (length / DAY),
        "mean_busy_processors": float((busy * size).sum()) / length,
    }


def windows(
    table: JobTable, start: float = 14 * DAY, months: Sequence[float] = (4, 6, 8)
) -> list[dict[str, float]]:
    """Return :func:`window` for windows of some ``months`` of 30 days (paper, Fig. 9).

    They begin two weeks after the first submission; those that do not end before the last job
    does are left out.
    """
    if not table.ran.any():
        return []
    span = makespan(table)
    return [window(table, start, n * MONTH) for n in months if start + n * MONTH <= span]


def _value(metric: Metric, table: JobTable, ran: int) -> float | None:
    if not len(table.submit) or (metric.denominator == "jobs that ran" and not ran):
        return None
    value = metric.compute(table)
    return value if np.isfinite(value) else None
