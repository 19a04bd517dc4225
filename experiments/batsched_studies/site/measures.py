"""The measures of the study: waiting times, habits of users, and effects of limits.

Jobs are measured that are submitted in a time that is the same in all cases: the weeks for which
users are drawn, without the warm-up and the cool-down. Work is measured as on the present site:
on faster processors the same job has the same work.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from batsched_py import Result
from batsched_py.metrics import JobTable, busy_within, mean_bounded_slowdown
from batsched_py.results.job_table import Column, Mask
from batsched_py.support.quotient import ratio
from batsched_py.units import DAY, HOUR, MINUTE, WEEK
from batsched_users.behaviour.calendar import Calendar

AT_ONCE = MINUTE
"""Jobs that wait less start at once."""
SHORT = 10 * MINUTE
"""Jobs up to this run time are short: a user may wait for them at the screen."""
MORNING = 7 * HOUR
"""The end of the night, which begins at midnight."""
NARROW, WIDE = 1 / 32, 1 / 8
"""Shares of the present machine: jobs up to the first are narrow, jobs above the second wide."""
PARTITION = "partition"
USERS = "waits_of_users"
"""Under this name the mean wait of each user is stored among the metrics of a run."""


def measure(result: Result) -> dict[str, float]:
    """Return the numbers of a run by name; times in seconds, work in processor-seconds.

    ``wait_in_NAME`` is the mean wait of the ``jobs_in_NAME`` that ran in a partition. A refused job
    has no wait and no work; the work that it requested is in ``refused_weekly``. ``all_jobs`` are
    all submitted jobs, measured or not, refused or not. Waits of users are the means of each user's
    own jobs, stored with the run as :data:`USERS`. A replay of the whole log is also compared with
    the log (:func:`measure_fidelity`).
    """
    run = result.settings["run"]
    calendar = Calendar.of_clock(result.settings["unix_start_time"], result.settings["time_zone"])
    table = result.table_as_written()
    begin, end = find_span(table, run, calendar)
    inside = (table.submit >= begin) & (table.submit < end)
    weeks, speed = (end - begin) / WEEK, run["speed_factor"]
    jobs = _Jobs(table, inside)
    machine = float(table.nb_processors or nan)
    of_users = compute_user_waits(jobs.table)
    result.measured[USERS] = of_users
    return {
        **_waits(jobs, machine / run.get("node_factor", 1.0)),
        **_spread(np.array([*of_users.values()])),
        **_habits(jobs, calendar, speed),
        **_limits(jobs, weeks),
        "busy": busy_within(table, [(begin, end)]) / (machine * (end - begin)),
        "all_jobs": float(len(table.submit)),
        "jobs_weekly": len(jobs.submit) / weeks,
        "work_weekly": float(np.nansum(jobs.area)) * speed / weeks,
        **measure_fidelity(result, table),
    }


def find_span(table: JobTable, run: dict[str, Any], calendar: Calendar) -> tuple[float, float]:
    """Return from when until when submitted jobs are measured (seconds), the end excluded."""
    weeks = run["user_options"].get("weeks")
    if weeks is None:
        begin, end = float(table.submit.min()), float(np.nextafter(table.submit.max(), np.inf))
    else:
        begin = calendar.first_week
        end = begin + weeks * WEEK
    return begin + run["warm_up"], end - run["cool_down"]


class _Jobs:
    """The measured jobs: columns of shape (n,)."""

    def __init__(self, table: JobTable, inside: Mask) -> None:
        self.table = table.select(inside)
        self.submit = self.table.submit
        self.ran = self.table.ran
        self.wait: Column = self.table.waiting
        self.area: Column = self.table.area
        self.size = table.number_column("requested_number_of_resources")[inside]
        self.requested = table.number_column("requested_time")[inside]
        self.user = self.table.user_number
        self.partition = np.array(table.text_column(PARTITION), dtype=object)[inside]


def _waits(jobs: _Jobs, processors: float) -> dict[str, float]:
    """Return waits of the jobs that ran, in all, by width and by partition."""
    wait, size = jobs.wait[jobs.ran], jobs.size[jobs.ran]
    narrow, wide = size <= NARROW * processors, size > WIDE * processors
    half, nine_tenths = np.quantile(wait, (0.5, 0.9)) if len(wait) else (nan, nan)
    return {
        "wait": mean(wait),
        "wait_median": float(half),
        "wait_p90": float(nine_tenths),
        "at_once": mean(wait < AT_ONCE),
        "slowdown": mean_bounded_slowdown(jobs.table.only_ran) if len(wait) else nan,
        "wait_narrow": mean(wait[narrow]),
        "wait_medium": mean(wait[~narrow & ~wide]),
        "wait_wide": mean(wait[wide]),
        **dict(_waits_by_partition(jobs.partition[jobs.ran], wait)),
    }


def _waits_by_partition(
    partition: NDArray[np.object_], wait: Column
) -> Iterator[tuple[str, float]]:
    for name in np.unique(partition[partition != ""].astype(str)):
        inside = partition == name
        yield f"wait_in_{name}", mean(wait[inside])
        yield f"jobs_in_{name}", float(inside.sum())


def compute_user_waits(table: JobTable) -> dict[str, float]:
    """Return the mean wait (seconds) of each user whose jobs ran."""
    ran = table.only_ran
    known = ran.user_number >= 0
    number, wait = ran.user_number[known], ran.waiting[known]
    means = np.bincount(number, weights=wait) / np.bincount(number)
    names = dict.fromkeys(user for user in ran.user if user)  # in the order of their numbers
    return dict(zip(names, means.tolist(), strict=True))


def _spread(means: Column) -> dict[str, float]:
    """Return median and 90 % quantile of the users' mean waits, and how unequal these are."""
    half, nine_tenths = np.quantile(means, (0.5, 0.9)) if len(means) else (nan, nan)
    return {
        "user_wait_median": float(half),
        "user_wait_p90": float(nine_tenths),
        "user_wait_gini": gini(means),
    }


def gini(values: Column) -> float:
    """Return Gini's coefficient of values >= 0: 0 if all are equal, near 1 if one has everything.

    Source: C. Gini, 1912; here ``sum_i (2 i - n - 1) x_i / (n sum x)`` over the sorted ``x``.
    """
    ordered, n = np.sort(values), len(values)
    return ratio(float(((2 * np.arange(1, n + 1) - n - 1) * ordered).sum()), n * ordered.sum())


def _habits(jobs: _Jobs, calendar: Calendar, speed: float) -> dict[str, float]:
    """Return when users submit, and how much each; weekends only if the date is known."""
    clock = jobs.submit + calendar.at_origin
    users = len(np.unique(jobs.user[jobs.user >= 0]))
    run_time = jobs.table.execution[jobs.ran] * speed
    return {
        "active_users": float(users),
        "jobs_by_user": ratio(float((jobs.user >= 0).sum()), users),
        "night": mean(clock % DAY < MORNING),
        "weekend": mean(clock % WEEK >= 5 * DAY) if calendar.known else nan,
        "short": mean(run_time <= SHORT),
    }


def _limits(jobs: _Jobs, weeks: float) -> dict[str, float]:
    """Return the refused jobs and work, and the share of jobs that end at their walltime.

    A refused job requested its processors for its requested time; nan if a job requested no time.
    """
    refused = ~jobs.ran
    has_limit = jobs.ran & (jobs.requested > 0)
    asked = (jobs.size * np.where(jobs.requested > 0, jobs.requested, nan))[refused]
    at_limit = jobs.table.execution >= jobs.requested - 0.5
    return {
        "refused": mean(refused),
        "refused_weekly": float(asked.sum()) / weeks,
        "at_limit": mean(at_limit[has_limit]),
    }


def mean(values: NDArray[Any]) -> float:
    """Return the mean of some values; nan if there are none."""
    return float(values.mean()) if len(values) else nan


FIDELITY = "fidelity_"
"""Begins the names of the measures of fidelity; ``low_`` and ``high_`` follow for ends."""
INTERVALS = ("bias", "relative_bias", "rank_correlation", "share_explained", "near")
"""The measures of a calibration that are stored with their intervals."""


def measure_fidelity(result: Result, table: JobTable) -> dict[str, float]:
    """Return how well a replay of the log reproduces the waits that the log recorded.

    Empty for other runs, and for logs without recorded waits. The measures are those of
    :mod:`batsched_py.calibration`.
    """
    if result.settings["run"]["users"] != "rigid" or result.log is None:
        return {}
    from batsched_py.calibration import calibration
    from batsched_py.workload.logs.swf import read_swf
    from batsched_py.workload.machine_file import read_machine

    log = read_swf(result.log, skip_bad_lines=True)
    if not len(log.known_waits):
        return {}
    file = result.settings["run"].get("machine")
    found = calibration(log, table, None if file is None else read_machine(file))
    ends = {
        f"{FIDELITY}{end}_{name}": getattr(getattr(found.agreement, name), end)
        for name in INTERVALS
        for end in ("low", "high")
    }
    counts = {"weeks": found.weeks, "jobs_in_log": found.jobs.in_log}
    numbers = found.numbers | {name: float(count) for name, count in counts.items()}
    return {f"{FIDELITY}{name}": value for name, value in numbers.items()} | ends
