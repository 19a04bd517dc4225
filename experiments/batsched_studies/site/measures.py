"""The measures of the study: waiting times, habits of users, and effects of limits.

Jobs are measured that are submitted in a time that is the same in all cases: the weeks for which
users are drawn, without the warm-up and the cool-down. What work is is as it was before anything
changed: on faster processors the same job has the same work.
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
"""Who waits less starts at once."""
SHORT = 10 * MINUTE
"""Jobs of so much run time, which somebody may wait for at the screen."""
MORNING = 7 * HOUR
"""When a night ends that begins at midnight."""
NARROW, WIDE = 1 / 32, 1 / 8
"""Jobs up to this share of the machine as it is are narrow, those above that one wide."""
PARTITION = "partition"
USERS = "waits_of_users"
"""Under this name the mean wait of each user is stored among the metrics of a run."""


def measure(result: Result) -> dict[str, float]:
    """Return the numbers of a run by name; times in seconds, work in processor-seconds.

    ``wait_in_NAME`` is the mean wait of the ``jobs_in_NAME`` that ran in a partition. A refused job
    has no wait, and does no work; what it asked for is ``refused_weekly``. ``all_jobs`` are all
    that were submitted, measured or not, refused or not. Waits of users are the means of each
    user's own jobs; they are stored with the run as :data:`USERS`. A run of all the log at recorded
    times is set beside it, too, by :func:`fidelity`.
    """
    run = result.settings["run"]
    calendar = Calendar.of_clock(result.settings["unix_start_time"], result.settings["time_zone"])
    table = result.table_as_written()
    begin, end = span(table, run, calendar)
    inside = (table.submit >= begin) & (table.submit < end)
    weeks, speed = (end - begin) / WEEK, run["speed_factor"]
    jobs = _Jobs(table, inside)
    machine = float(table.nb_processors or nan)
    of_users = waits_of_users(jobs.table)
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
        **fidelity(result, table),
    }


def span(table: JobTable, run: dict[str, Any], calendar: Calendar) -> tuple[float, float]:
    """Return when the jobs are submitted that are measured, seconds, the end not included."""
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


def waits_of_users(table: JobTable) -> dict[str, float]:
    """Return the mean wait of each user of whom a job ran."""
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
    """Return Gini's coefficient of values from 0 on: 0 if all are equal, towards 1 if one has all.

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
    """Return what is refused, and the share of jobs that end at the limit that they asked for.

    What a refused job asked for is its processors for the time that it requested; nan if one
    requested none.
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
    """Return the mean, nan of none."""
    return float(values.mean()) if len(values) else nan


FIDELITY = "fidelity_"
"""Begins the names of what :func:`fidelity` gives; ``low_`` and ``high_`` follow for ends."""
INTERVALS = ("bias", "relative_bias", "rank_correlation", "share_explained", "near")
"""Measures of a calibration of which the intervals are told, too."""


def fidelity(result: Result, table: JobTable) -> dict[str, float]:
    """Return how well a run of the log at its recorded times reproduces the waits that it recorded.

    None of other runs, and of logs that recorded no waits. As :mod:`batsched_py.calibration` has
    it.
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
