"""All metrics by name, with unit, jobs, source and the papers' short names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec
import numpy as np

from batsched_py.metrics import lateness, machine, saturation, sites, slowdown, users, waiting
from batsched_py.results.job_table import JobTable

RAN = "jobs that ran"
TOOK_TIME = "jobs that ran, without zero-length ones"
RECORDED = "recorded jobs"
OF_USERS = "jobs of known users"

COUNTS = ("nb_jobs", "nb_ran", "nb_rejected")
"""The counts that :func:`overall` returns before the metrics."""


class Metric(msgspec.Struct, frozen=True):
    """A metric: how it is computed, and over which jobs."""

    compute: Callable[[JobTable], float]
    """The function, whose docstring has formula, unit and source."""
    denominator: str
    meaning: str
    """What it measures, in words."""
    short: tuple[str, ...] = ()
    """Its names in papers, which are not unique."""
    needs_machine: bool = False
    """Whether it is defined only with :attr:`JobTable.nb_processors`."""
    needs_sites: bool = False
    """Whether it is about :attr:`JobTable.sites`; without these it is left out."""
    of_machine: bool = False
    """Whether it is over all jobs of a table, and not only :attr:`JobTable.only_measured`."""

    @property
    def formula(self) -> str:
        """The formula of the metric: the first line of its function's docstring."""
        return (self.compute.__doc__ or "").partition("\n")[0].replace("``", "")

    @property
    def unit(self) -> str:
        """The unit of the metric, from its function's docstring."""
        return self._stated[0]

    @property
    def source(self) -> str:
        """The source of the metric, from its function's docstring."""
        return self._stated[1]

    @property
    def _stated(self) -> tuple[str, str]:
        text = " ".join((self.compute.__doc__ or "").split())
        stated = re.search(r"Unit: (.*?)\. Source: (.*)\.$", text)
        return (stated[1], stated[2]) if stated else ("", "")

    def value(self, table: JobTable) -> float | None:
        """Return the metric over its jobs of a table, None if it is not defined."""
        rows = table if self.of_machine else table.only_measured
        if not len(rows.submit) or (self.denominator == RAN and not rows.ran.any()):
            return None
        if self.needs_machine and rows.nb_processors is None:
            return None
        if self.needs_sites and not rows.sites:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):  # what is not finite becomes None
            value = self.compute(rows)
        return value if np.isfinite(value) else None


_ALL = (
    # As they were first, in this order, so that _run.json only grows at its end
    Metric(
        machine.makespan, RAN, "time from the first submission to the last end", of_machine=True
    ),
    Metric(waiting.mean_waiting_time, RAN, "mean time from submission to start", ("AWT",)),
    Metric(waiting.max_waiting_time, RAN, "longest time from submission to start"),
    Metric(waiting.mean_turnaround_time, RAN, "mean time from submission to end", ("ART",)),
    Metric(
        slowdown.mean_slowdown,
        TOOK_TIME,
        "mean turnaround time as a multiple of the run time",
        ("SLD", "ASD"),
    ),
    Metric(
        slowdown.mean_bounded_slowdown,
        RAN,
        "mean slowdown, run times below 10 s counting as 10 s",
        ("BSLD",),
    ),
    Metric(lateness.mean_lateness, RECORDED, "mean delay of submissions against the log"),
    Metric(
        lateness.relative_lateness,
        RECORDED,
        "1 plus the mean lateness relative to the length of the log",
    ),
    Metric(lateness.additional_lateness, RECORDED, "lateness that each further job adds"),
    # Waiting and turnaround
    Metric(
        waiting.mean_waiting_time_by_width,
        RAN,
        "mean waiting time, weighted by processors",
        ("AWWT",),
    ),
    Metric(
        waiting.mean_turnaround_time_by_width,
        RAN,
        "mean turnaround time, weighted by processors",
        ("ARTwW", "AWRT"),
    ),
    Metric(
        waiting.mean_turnaround_time_by_area,
        RAN,
        "mean turnaround time, weighted by processors and run time",
        ("ARTwA", "AWRT"),
    ),
    Metric(
        waiting.area_turnaround_per_job, RAN, "sum of weighted turnaround times per job", ("AWRT",)
    ),
    Metric(
        waiting.area_turnaround_per_processor,
        RAN,
        "sum of weighted turnaround times per processor",
        ("AWRT",),
    ),
    Metric(waiting.mean_turnaround_time_to_1_min, RAN, "mean turnaround time of jobs up to 1 min"),
    Metric(
        waiting.mean_turnaround_time_1_to_10_min,
        RAN,
        "mean turnaround time of jobs from 1 to 10 min",
    ),
    Metric(
        waiting.mean_turnaround_time_over_10_min, RAN, "mean turnaround time of jobs over 10 min"
    ),
    # Slowdowns
    Metric(
        slowdown.mean_slowdown_by_width,
        TOOK_TIME,
        "mean slowdown, weighted by processors",
        ("SLDwW",),
    ),
    Metric(
        slowdown.mean_slowdown_by_area,
        RAN,
        "mean slowdown, weighted by processors and run time",
        ("SLDwA",),
    ),
    Metric(
        slowdown.mean_bounded_slowdown_60, RAN, "mean slowdown, times below 60 s counting as 60 s"
    ),
    Metric(
        slowdown.mean_bounded_slowdown_60_feitelson,
        RAN,
        "mean slowdown, run times below 60 s counting as 60 s",
    ),
    Metric(
        slowdown.mean_bounded_slowdown_60_keleher,
        RAN,
        "mean of 1 plus waiting time over run time, at least 60 s",
    ),
    Metric(
        slowdown.mean_per_processor_slowdown_60,
        RAN,
        "mean slowdown per processor, run times at least 60 s",
        ("ppSLD_60",),
    ),
    # The machine
    Metric(machine.last_end, RAN, "time of the last end", of_machine=True),
    Metric(machine.squashed_area, RAN, "work that was done", of_machine=True),
    Metric(machine.total_completion_time, RAN, "sum of the times of all ends"),
    Metric(
        machine.total_idle_time, RAN, "idle processor-seconds", needs_machine=True, of_machine=True
    ),
    Metric(machine.mean_busy_processors, RAN, "mean number of busy processors", of_machine=True),
    Metric(
        machine.utilisation,
        RAN,
        "share of busy processors until the last end",
        ("UTIL",),
        needs_machine=True,
        of_machine=True,
    ),
    Metric(
        machine.utilisation_to_last_submission,
        RAN,
        "share of busy processors until the last submission",
        needs_machine=True,
        of_machine=True,
    ),
    Metric(
        machine.loss_of_capacity,
        RAN,
        "share of processors that are idle while jobs wait",
        ("LOC",),
        needs_machine=True,
        of_machine=True,
    ),
    Metric(machine.throughput_per_hour, RAN, "jobs that ran per hour"),
    Metric(machine.mean_queue_length, RAN, "mean number of waiting jobs"),
    # Users
    Metric(users.sessions_per_user, OF_USERS, "mean number of sessions of a user"),
    Metric(users.jobs_per_session_arrival_60, OF_USERS, "mean number of jobs of a session"),
    Metric(users.jobs_per_session_think_20, OF_USERS, "mean number of jobs between long breaks"),
    Metric(users.mean_session_length_arrival_60, OF_USERS, "mean length of a session"),
    Metric(
        users.mean_activity_length,
        OF_USERS,
        "mean time between the first and the last job of a user",
    ),
    Metric(users.active_weeks_per_user, OF_USERS, "mean number of weeks in which a user submits"),
    Metric(users.throughput_per_user, OF_USERS, "jobs per hour in which their users are present"),
    # Users who stop at a horizon; too many users
    Metric(
        machine.throughput_to_last_submission,
        RAN,
        "jobs that ended by the last submission, per hour",
    ),
    Metric(
        saturation.backlog_growth,
        RAN,
        "growth of the number of unfinished jobs; above 1 is saturated",
        of_machine=True,
    ),
    # Several sites
    Metric(sites.nb_multi_site_jobs, RAN, "number of jobs on several grid sites", needs_sites=True),
    Metric(
        sites.multi_site_job_share, RAN, "share of jobs on several grid sites", needs_sites=True
    ),
    Metric(
        sites.multi_site_area_share,
        RAN,
        "share of the work of jobs on several grid sites",
        needs_sites=True,
    ),
    Metric(
        sites.away_area_share,
        RAN,
        "share of the work done away from the home of its user",
        needs_sites=True,
    ),
)

METRICS: dict[str, Metric] = {metric.compute.__name__: metric for metric in _ALL}
"""All metrics by name, in the order of ``_run.json``."""

_PER_USER = ("mean_waiting_time", "mean_lateness", "relative_lateness", "additional_lateness")
_PER_SITE = (
    "mean_waiting_time",
    "mean_waiting_time_by_width",
    "mean_turnaround_time_by_width",
    "mean_turnaround_time_by_area",
    "mean_lateness",
)


def overall(table: JobTable) -> dict[str, float | int | None]:
    """Return every metric of the whole table, None where it is not defined, and the counts.

    Metrics about sites are left out of tables without sites.
    Counts and metrics are over :attr:`JobTable.only_measured`, those of the machine over all jobs.
    """
    rows = table.only_measured
    ran = int(rows.ran.sum())
    counts = (len(rows.submit), ran, len(rows.submit) - ran)
    values: dict[str, float | int | None] = dict(zip(COUNTS, counts, strict=True))
    there = {name: m for name, m in METRICS.items() if table.sites or not m.needs_sites}
    return values | {name: metric.value(table) for name, metric in there.items()}


def per_user(
    table: JobTable, names: Sequence[str] = _PER_USER
) -> dict[str, dict[str, float | int | None]]:
    """Return metrics of each user's own jobs, by user in order of first appearance.

    All are over :attr:`JobTable.only_measured`, as none is about the machine as a whole.
    """
    table = table.only_measured
    order = np.argsort(table.user_number, kind="stable")
    numbers, by_user = table.user_number[order], table.select(order)
    nb_users = 1 + int(table.user_number.max(initial=-1))
    begins = np.searchsorted(numbers, np.arange(nb_users + 1)).tolist()
    return {
        by_user.user[begin]: _of_part(by_user.select(slice(begin, end)), names)
        for begin, end in pairwise(begins)
    }


def per_site(
    table: JobTable, names: Sequence[str] = _PER_SITE
) -> dict[str, dict[str, float | int | None]]:
    """Return metrics of each of :attr:`JobTable.sites` by its name; empty without sites.

    ``processors`` and ``speed``; ``nb_jobs``, ``nb_ran`` and the metrics ``names`` are of the jobs
    of its users, over :attr:`JobTable.only_measured`. ``work_of_users``, ``work_done``, ``given``,
    ``taken`` and ``balance`` (processor-seconds, see :class:`~batsched_py.metrics.sites.SiteWork`)
    and ``utilisation`` are about the machine, so over all jobs.
    """
    work = sites.site_work(table)
    columns = {name: getattr(work, name) for name in (*work.__struct_fields__, "balance")}
    used = sites.utilisation_of_sites(table, work) if table.ran.any() else None
    measured, result = table.only_measured, {}
    for number, site in enumerate(table.sites):
        values: dict[str, float | int | None] = {"processors": site.size, "speed": site.speed}
        values |= _of_part(measured.select(measured.home == number), names)
        values |= {name: float(column[number]) for name, column in columns.items()}
        values["utilisation"] = None if used is None else float(used[number])
        result[site.name] = values
    return result


def _of_part(part: JobTable, names: Sequence[str]) -> dict[str, float | int | None]:
    """Return the counts and some metrics of a part of the jobs."""
    values: dict[str, float | int | None] = {
        "nb_jobs": len(part.submit),
        "nb_ran": int(part.ran.sum()),
    }
    return values | {name: METRICS[name].value(part) for name in names}
