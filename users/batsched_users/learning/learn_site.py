"""Learns the distributions of Site-Sim users from logs, and measures facts to check them.

The jobs of each user are in submission order (ties in log order). The think time after a job is the
submission of the user's next job minus its own recorded end. It is negative if the next job did not
wait. Source: Shmueli, Feitelson, TPDS 20(7), 2009, section 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from batsched_py.errors import UsageError
from batsched_py.options.option_values import one_of
from batsched_py.units import HOUR, MINUTE
from batsched_py.workload import Workload
from batsched_py.workload.logs.clock import local_hours
from batsched_users.behaviour import think_times as thinking
from batsched_users.behaviour.empirical_distributions import (
    About,
    Probabilities,
    Quantiles,
    learn_quantiles,
    learn_shares,
)
from batsched_users.behaviour.weekly_activity import EVENING, LONGEST_BREAK, MORNING
from batsched_users.learning.ideal_machine import require_run_time
from batsched_users.measures.job_columns import Column, JobColumns, columns_of_workload
from batsched_users.models.site import SiteDistributions

SESSION_END = 20 * MINUTE
"""Seconds; a think time from here on is a break, which ends the session."""
RESPONSES = (0.0, 1, 2, 5, 10, 20, 40, 60, 120, 240, 480, 960, float("inf"))
"""Edges of the bins of response times, minutes."""


def order_histories(workload: Workload) -> JobColumns:
    """Return the jobs of a log user by user in submission order, ties in log order.

    Load logs with ``make_rules(walltime="requested")``, so that ``requested_time`` is what users
    asked for; no other column has unknown values. Raises :class:`UsageError` for jobs without user
    or recorded end, and :class:`batsched_py.errors.WorkloadError` for unknown run times.
    """
    for job in workload.jobs:
        if job.user is None or job.finish_time is None:
            missing = "user" if job.user is None else "recorded end"
            raise UsageError(f"{workload.name}: job {job.id} has no {missing} to learn from")
        require_run_time(job, workload.profiles[job.profile])  # raises if it is unknown
    return columns_of_workload(workload).by_user()


def measure_runs(jobs: JobColumns, joined: NDArray[np.bool_]) -> Column:
    """Return the numbers of jobs in runs of one user's consecutive jobs.

    ``joined``, shape (n - 1,), is true for each job whose next job belongs to the same run.
    """
    starts = np.flatnonzero(np.append(True, ~(joined & jobs.same_user))[: len(jobs)])
    return np.diff(np.append(starts, len(jobs))).astype(float)


# What users draw ---------------------------------------------------------------------------------


def learn_site(
    workloads: Iterable[Workload],
    *,
    weight: str = "jobs",
) -> SiteDistributions:
    """Learn the distributions of Site-Sim users from all ``workloads`` together.

    ``weight`` is how logs are pooled: each value counts the same (``jobs``), so that a log of many
    jobs dominates, as in the paper; or each log counts the same (``logs``).

    A batch ends with a job whose think time is not negative. Think times and breaks are measured
    after the last job of a batch. Sizes and run times count once per job, not once per run of
    repetitions: users draw these runs independently of both, so that their jobs have the sizes and
    run times of the logs.

    Raises :class:`UsageError` for jobs without user or recorded end, and without values.
    """
    one_of("weight", weight, ("jobs", "logs"))
    workloads = list(workloads)
    logs = [order_histories(workload) for workload in workloads]
    pool = _Pool(tuple(workload.name for workload in workloads), weight)
    values = [collect_values(log) for log in logs]
    of = {name: [found[name] for found in values] for name in (*TIMES, *TABLES)}
    requests = [log.requested_time[np.isfinite(log.requested_time)] for log in logs]
    drawn: dict[str, Any] = {name: pool.quantiles(of[name], name, TIMES[name]) for name in TIMES}
    drawn |= {name: pool.table(of[name], name, *TABLES[name]) for name in TABLES}
    if any(map(len, requests)):
        description = "run time that a job asked for"
        drawn["requested_times"] = pool.quantiles(requests, "requested_times", description)
    return SiteDistributions(**drawn)


TABLES = {
    "batch_widths": ("jobs", "jobs of a user, each submitted before the one before it had ended"),
    "sizes": ("processors", "processors of a job"),
    "repetitions": ("jobs", "jobs of a user in succession with the same size"),
}
"""Distributions of counts -> unit and description."""
TIMES = {
    "think_times": "from the end of a job to the same user's next submission, 0 to 20 minutes",
    "breaks": "from the end of a job to the same user's next submission, 20 minutes to 8 hours",
    "run_times": "run time of a job",
}
"""Distributions of times in seconds -> description."""


def collect_values(log: JobColumns) -> dict[str, Column]:
    """Collect the values of one log for each distribution of :data:`TIMES` and :data:`TABLES`.

    ``log`` comes from :func:`order_histories`. Times are in seconds.
    """
    times = log.think_times
    return {
        "think_times": times[(times >= 0) & (times < SESSION_END)],
        "breaks": times[(times >= SESSION_END) & (times <= LONGEST_BREAK)],
        "batch_widths": measure_runs(log, times[:-1] < 0),
        "sizes": log.size,
        "run_times": log.run_time,
        "repetitions": measure_runs(log, log.size[1:] == log.size[:-1]),
    }


class _Pool(msgspec.Struct, frozen=True):
    """Learns distributions from several logs, given an array of values for each log."""

    sources: tuple[str, ...]
    weight: str

    def quantiles(self, parts: Sequence[Column], name: str, description: str) -> Quantiles:
        about = self._about(name, "seconds", description)
        return learn_quantiles(np.concatenate([*parts, []]), about, self._weights(parts))

    def table(
        self, parts: Sequence[Column], name: str, unit: str, description: str
    ) -> Probabilities:
        about = self._about(name, unit, description)
        return learn_shares(np.concatenate([*parts, []]), about, self._weights(parts))

    def _weights(self, parts: Sequence[Column]) -> Column:
        """Return the weight of each value."""
        each = [1.0 if self.weight == "jobs" else 1 / max(len(part), 1) for part in parts]
        return np.repeat(each, [len(part) for part in parts])

    def _about(self, name: str, unit: str, description: str) -> About:
        return About(
            name=name,
            unit=unit,
            description=description,
            sources=self.sources,
        )


# Facts -------------------------------------------------------------------------------------------


class SiteFacts(msgspec.Struct, frozen=True):
    """Facts that the paper reports of its logs, for one log; shares of jobs unless noted."""

    log: str
    nb_jobs: int
    nb_users: int
    negative_think_times: float
    """Share of the think times between two jobs of a user."""
    by_day: float
    """Share submitted from 7:30 to 17:30, local time with summer time."""
    on_weekdays: float
    """Share submitted from Monday to Friday, local time."""
    median_run_time: float
    """Seconds."""
    at_most_a_minute: float
    """Share of run times."""
    power_of_two: float
    """Share of sizes 1, 2, 4, 8, ..."""


def measure_facts(workload: Workload) -> SiteFacts:
    """Measure the facts of one log; raises :class:`UsageError` like :func:`order_histories`."""
    log = order_histories(workload)
    thoughts = log.think_times
    between = thoughts[np.isfinite(thoughts)]
    hours = local_hours(log.submit, workload.unix_start_time, workload.time_zone)
    of_day = hours % 24 * HOUR
    size = log.size.astype(np.int64)
    return SiteFacts(
        log=workload.name,
        nb_jobs=len(size),
        nb_users=len(np.unique(log.user)),
        negative_think_times=_share(between < 0),
        by_day=_share((of_day >= MORNING) & (of_day < EVENING)),
        on_weekdays=_share(hours < 5 * 24),
        median_run_time=float(np.median(log.run_time)),
        at_most_a_minute=_share(log.run_time <= MINUTE),
        power_of_two=_share((size & (size - 1)) == 0),
    )


class Continuation(msgspec.Struct, frozen=True):
    """Observed and expected share of sessions that continue after response times in one bin."""

    least: float
    """Minutes."""
    below: float
    """Minutes."""
    nb_jobs: int
    """Last jobs of batches with a response time in [least, below)."""
    observed: float
    """Share followed by a think time of less than 20 minutes; nan for no job."""
    expected: float
    """Mean of ``0.8 / (0.05 R + 1)`` over the same jobs; nan for no job."""


def compare_continuation(
    workloads: Iterable[Workload], edges: Sequence[float] = RESPONSES
) -> list[Continuation]:
    """Compare how often sessions continued in logs with the published probability.

    That is :func:`batsched_users.behaviour.think_times.continuation`. All logs count together,
    each job once. ``edges`` are ascending, in minutes. After a user's last job the session counts
    as ended. Raises like :func:`order_histories`.
    """
    responses, went_on = [], []
    for workload in workloads:
        log = order_histories(workload)
        thoughts = log.think_times
        waited = thoughts >= 0
        responses.append((log.end - log.submit)[waited] / MINUTE)
        went_on.append(thoughts[waited] < SESSION_END)
    response, on = np.concatenate([*responses, []]), np.concatenate([*went_on, []])
    expected = np.array([thinking.continuation(minutes) for minutes in response.tolist()])
    continuations = []
    for least, below in pairwise(edges):
        inside = (response >= least) & (response < below)
        continuations.append(
            Continuation(
                float(least),
                float(below),
                int(inside.sum()),
                _share(on[inside]),
                _share(expected[inside]),
            )
        )
    return continuations


def _share(flags: NDArray[np.bool_] | Column) -> float:
    return float(np.mean(flags)) if flags.size else float("nan")
