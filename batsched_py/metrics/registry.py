"""All metrics by name, with unit, jobs, source and the papers' short names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

import msgspec
import numpy as np

from batsched_py.metrics import (
    energy,
    lateness,
    machine,
    saturation,
    sites,
    slowdown,
    users,
    waiting,
    withdrawals,
)
from batsched_py.results.job_table import JobTable

RAN = "jobs that ran"
TOOK_TIME = "jobs that ran, without zero-length ones"
RECORDED = "recorded jobs"
OF_USERS = "jobs of known users"
SUBMITTED = "submitted jobs"
WITHDRAWN = "withdrawn jobs"
WAITED = "started or withdrawn jobs"
WITH_DEADLINE = "jobs with a deadline"

COUNTS = ("nb_jobs", "nb_ran", "nb_rejected")
"""The counts that :func:`overall` returns before the metrics. Submitted jobs that neither ran nor
were rejected were withdrawn."""


class Metric(msgspec.Struct, frozen=True):
    """A metric: how it is computed, and over which jobs."""

    compute: Callable[[JobTable], float]
    """The function, whose docstring has formula, unit and source."""
    denominator: str
    short: tuple[str, ...] = ()
    """Its names in papers, which are not unique."""
    needs_machine: bool = False
    """Whether it is defined only with :attr:`JobTable.nb_processors`."""
    only_with: Literal["", "sites", "withdrawals", "deadlines", "power"] = ""
    """What it is about; :func:`overall` leaves it out for tables that have none."""
    of_machine: bool = False
    """Whether it is over all jobs of a table, and not only :attr:`JobTable.only_measured`."""

    @property
    def meaning(self) -> str:
        """What the metric measures, in words."""
        return _MEANINGS[self.compute.__name__]

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

    def is_about(self, table: JobTable) -> bool:
        """Return whether a table has what the metric is about; for most it needs nothing."""
        there = {
            "sites": table.sites,
            "withdrawals": len(table.withdrawal),
            "deadlines": len(table.on_time),
            "power": table.power is not None,
        }
        return bool(there.get(self.only_with, True))

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
        if self.only_with in ("sites", "power") and not self.is_about(rows):
            return None
        with np.errstate(divide="ignore", invalid="ignore"):  # infinities become None
            value = self.compute(rows)
        return value if np.isfinite(value) else None


_ALL = (
    # As they were first, in this order, so that _run.json only grows at its end
    Metric(machine.makespan, RAN, of_machine=True),
    Metric(waiting.mean_waiting_time, RAN, ("AWT",)),
    Metric(waiting.max_waiting_time, RAN),
    Metric(waiting.mean_turnaround_time, RAN, ("ART",)),
    Metric(slowdown.mean_slowdown, TOOK_TIME, ("SLD", "ASD")),
    Metric(slowdown.mean_bounded_slowdown, RAN, ("BSLD",)),
    Metric(lateness.mean_lateness, RECORDED),
    Metric(lateness.relative_lateness, RECORDED),
    Metric(lateness.additional_lateness, RECORDED),
    # Waiting and turnaround
    Metric(waiting.mean_waiting_time_by_width, RAN, ("AWWT",)),
    Metric(waiting.mean_turnaround_time_by_width, RAN, ("ARTwW", "AWRT")),
    Metric(waiting.mean_turnaround_time_by_area, RAN, ("ARTwA", "AWRT")),
    Metric(waiting.area_turnaround_per_job, RAN, ("AWRT",)),
    Metric(waiting.area_turnaround_per_processor, RAN, ("AWRT",)),
    Metric(waiting.mean_turnaround_time_to_1_min, RAN),
    Metric(waiting.mean_turnaround_time_1_to_10_min, RAN),
    Metric(waiting.mean_turnaround_time_over_10_min, RAN),
    # Slowdowns
    Metric(slowdown.mean_slowdown_by_width, TOOK_TIME, ("SLDwW",)),
    Metric(slowdown.mean_slowdown_by_area, RAN, ("SLDwA",)),
    Metric(slowdown.mean_bounded_slowdown_60, RAN),
    Metric(slowdown.mean_bounded_slowdown_60_feitelson, RAN),
    Metric(slowdown.mean_bounded_slowdown_60_keleher, RAN),
    Metric(slowdown.mean_per_processor_slowdown_60, RAN, ("ppSLD_60",)),
    # The machine
    Metric(machine.last_end, RAN, of_machine=True),
    Metric(machine.squashed_area, RAN, of_machine=True),
    Metric(machine.total_completion_time, RAN),
    Metric(machine.total_idle_time, RAN, needs_machine=True, of_machine=True),
    Metric(machine.mean_busy_processors, RAN, of_machine=True),
    Metric(machine.utilisation, RAN, ("UTIL",), needs_machine=True, of_machine=True),
    Metric(machine.utilisation_to_last_submission, RAN, needs_machine=True, of_machine=True),
    Metric(machine.loss_of_capacity, RAN, ("LOC",), needs_machine=True, of_machine=True),
    Metric(machine.throughput_per_hour, RAN),
    Metric(machine.mean_queue_length, RAN),
    # Users
    Metric(users.sessions_per_user, OF_USERS),
    Metric(users.jobs_per_session_arrival_60, OF_USERS),
    Metric(users.jobs_per_session_think_20, OF_USERS),
    Metric(users.mean_session_length_arrival_60, OF_USERS),
    Metric(users.mean_activity_length, OF_USERS),
    Metric(users.active_weeks_per_user, OF_USERS),
    Metric(users.throughput_per_user, OF_USERS),
    # Users who stop at a horizon; too many users
    Metric(machine.throughput_to_last_submission, RAN),
    Metric(saturation.backlog_growth, RAN, of_machine=True),
    # Several sites
    Metric(sites.nb_multi_site_jobs, RAN, only_with="sites"),
    Metric(sites.multi_site_job_share, RAN, only_with="sites"),
    Metric(sites.multi_site_area_share, RAN, only_with="sites"),
    Metric(sites.away_area_share, RAN, only_with="sites"),
    # Users who withdraw jobs; deadlines
    Metric(withdrawals.nb_withdrawn, SUBMITTED, only_with="withdrawals"),
    Metric(withdrawals.withdrawn_share, SUBMITTED, only_with="withdrawals"),
    Metric(withdrawals.withdrawn_work_share, SUBMITTED, only_with="withdrawals"),
    Metric(withdrawals.withdrawn_wait_share, WAITED, only_with="withdrawals"),
    Metric(withdrawals.mean_waiting_time_of_withdrawn, WITHDRAWN, only_with="withdrawals"),
    Metric(withdrawals.mean_waiting_time_of_all, WAITED, only_with="withdrawals"),
    Metric(withdrawals.restricted_mean_wait, WAITED, only_with="withdrawals"),
    Metric(withdrawals.deadline_met_share, WITH_DEADLINE, only_with="deadlines"),
    # Energy; processors that sleep
    *(Metric(of_power, RAN, only_with="power", of_machine=True) for of_power in energy.METRICS),
    Metric(waiting.mean_waking, RAN, only_with="power"),
)

METRICS: dict[str, Metric] = {metric.compute.__name__: metric for metric in _ALL}
"""All metrics by name, in the order of ``_run.json``."""

_MEANINGS = {
    "makespan": "time from the first submission to the last end",
    "mean_waiting_time": "mean time from submission to start",
    "max_waiting_time": "longest time from submission to start",
    "mean_turnaround_time": "mean time from submission to end",
    "mean_slowdown": "mean turnaround time as a multiple of the run time",
    "mean_bounded_slowdown": "mean slowdown, run times below 10 s counting as 10 s",
    "mean_lateness": "mean delay of submissions against the log",
    "relative_lateness": "1 plus the mean lateness relative to the length of the log",
    "additional_lateness": "lateness that each further job adds",
    "mean_waiting_time_by_width": "mean waiting time, weighted by processors",
    "mean_turnaround_time_by_width": "mean turnaround time, weighted by processors",
    "mean_turnaround_time_by_area": "mean turnaround time, weighted by processors and run time",
    "area_turnaround_per_job": "sum of weighted turnaround times per job",
    "area_turnaround_per_processor": "sum of weighted turnaround times per processor",
    "mean_turnaround_time_to_1_min": "mean turnaround time of jobs up to 1 min",
    "mean_turnaround_time_1_to_10_min": "mean turnaround time of jobs from 1 to 10 min",
    "mean_turnaround_time_over_10_min": "mean turnaround time of jobs over 10 min",
    "mean_slowdown_by_width": "mean slowdown, weighted by processors",
    "mean_slowdown_by_area": "mean slowdown, weighted by processors and run time",
    "mean_bounded_slowdown_60": "mean slowdown, times below 60 s counting as 60 s",
    "mean_bounded_slowdown_60_feitelson": "mean slowdown, run times below 60 s counting as 60 s",
    "mean_bounded_slowdown_60_keleher": "mean of 1 plus waiting time over run time, at least 60 s",
    "mean_per_processor_slowdown_60": "mean slowdown per processor, run times at least 60 s",
    "last_end": "time of the last end",
    "squashed_area": "work that was done",
    "total_completion_time": "sum of the times of all ends",
    "total_idle_time": "idle processor-seconds",
    "mean_busy_processors": "mean number of busy processors",
    "utilisation": "share of busy processors until the last end",
    "utilisation_to_last_submission": "share of busy processors until the last submission",
    "loss_of_capacity": "share of processors that are idle while jobs wait",
    "throughput_per_hour": "jobs that ran per hour",
    "mean_queue_length": "mean number of waiting jobs",
    "sessions_per_user": "mean number of sessions of a user",
    "jobs_per_session_arrival_60": "mean number of jobs of a session",
    "jobs_per_session_think_20": "mean number of jobs between long breaks",
    "mean_session_length_arrival_60": "mean length of a session",
    "mean_activity_length": "mean time between the first and the last job of a user",
    "active_weeks_per_user": "mean number of weeks in which a user submits",
    "throughput_per_user": "jobs per hour in which their users are present",
    "throughput_to_last_submission": "jobs that ended by the last submission, per hour",
    "backlog_growth": "growth of the number of unfinished jobs; above 1 is saturated",
    "nb_multi_site_jobs": "number of jobs on several grid sites",
    "multi_site_job_share": "share of jobs on several grid sites",
    "multi_site_area_share": "share of the work of jobs on several grid sites",
    "away_area_share": "share of the work done away from the home of its user",
    "nb_withdrawn": "number of withdrawn jobs",
    "withdrawn_share": "share of jobs that users withdrew before they started",
    "withdrawn_work_share": "share of the requested work that users withdrew",
    "withdrawn_wait_share": "share of all waiting time that ended in a withdrawal",
    "mean_waiting_time_of_withdrawn": "mean time from submission to withdrawal",
    "mean_waiting_time_of_all": "mean time from submission to start or withdrawal",
    "restricted_mean_wait": "mean wait for a start by Kaplan-Meier, waits up to 7 days",
    "deadline_met_share": "share of jobs with a deadline that ended well by then",
    "energy": "energy of all processors",
    "energy_computing": "energy of processors while jobs run on them",
    "energy_idle": "energy of idle processors",
    "energy_asleep": "energy of sleeping processors",
    "energy_switching": "energy of switching processors off and on",
    "energy_saved_share": "share of the energy that is saved since processors sleep",
    "nb_switches": "number of switches of processors, off and on",
    "mean_waking": "mean time in which a job waits for its processors to be switched on",
}

_PER_USER = ("mean_waiting_time", "mean_lateness", "relative_lateness", "additional_lateness")
_PER_SITE = (
    *("mean_waiting_time", "mean_waiting_time_by_width", "mean_turnaround_time_by_width"),
    *("mean_turnaround_time_by_area", "mean_lateness"),
)
_OF_PARTS = {
    name: METRICS[name]
    for name in ("nb_withdrawn", "withdrawn_share", "deadline_met_share", "energy_computing")
}
"""Metrics of each user and site of tables that have what they are about."""


def overall(table: JobTable) -> dict[str, float | int | None]:
    """Return every metric of the whole table, None where it is not defined, and the counts.

    Metrics about sites, withdrawals, deadlines or power are left out of tables without any.
    Counts and metrics are over :attr:`JobTable.only_measured`, those of the machine over all jobs.
    """
    rows = table.only_measured
    ran = int(rows.ran.sum())
    counts = (len(rows.submit), ran, len(rows.submit) - ran - int(rows.withdrawn.sum()))
    values: dict[str, float | int | None] = dict(zip(COUNTS, counts, strict=True))
    there = {name: metric for name, metric in METRICS.items() if metric.is_about(table)}
    return values | {name: metric.value(table) for name, metric in there.items()}


def per_user(
    table: JobTable, names: Sequence[str] | None = None
) -> dict[str, dict[str, float | int | None]]:
    """Return metrics of each user's own jobs, by user in order of first appearance.

    Those of ``names``, None for the usual ones. All are over :attr:`JobTable.only_measured`, as
    none is about the machine as a whole.
    """
    names = _of_parts(table, _PER_USER) if names is None else names
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
    table: JobTable, names: Sequence[str] | None = None
) -> dict[str, dict[str, float | int | None]]:
    """Return metrics of each of :attr:`JobTable.sites` by its name; empty without sites.

    ``processors`` and ``speed``; ``nb_jobs``, ``nb_ran`` and the metrics ``names`` (None: the usual
    ones) are of the jobs of its users, over :attr:`JobTable.only_measured`. ``work_of_users``,
    ``work_done``, ``given``, ``taken`` and ``balance`` (processor-seconds, see
    :class:`~batsched_py.metrics.sites.SiteWork`) and ``utilisation`` are about the machine, so over
    all jobs.
    """
    names = _of_parts(table, _PER_SITE) if names is None else names
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


def _of_parts(table: JobTable, usual: Sequence[str]) -> list[str]:
    return [*usual, *(name for name, metric in _OF_PARTS.items() if metric.is_about(table))]


def _of_part(part: JobTable, names: Sequence[str]) -> dict[str, float | int | None]:
    """Return the counts and some metrics of a part of the jobs."""
    values: dict[str, float | int | None] = {
        "nb_jobs": len(part.submit),
        "nb_ran": int(part.ran.sum()),
    }
    return values | {name: METRICS[name].value(part) for name in names}
