"""Metrics of a schedule, each with its formula, unit and source.

All work on a :class:`JobTable`: numpy columns of one simulation, a row per job. In the formulas
``a`` is the submission time, ``s`` the start, ``f`` the finish, ``p`` the run time (from start to
finish), ``w`` the processors that the job got, ``r = f - a`` the turnaround (response) time and
``l`` the lateness (replayed minus recorded submission). Times are seconds.

Rejected and withdrawn jobs have no start and finish: metrics of times exclude them, metrics of
lateness and of users include them. Withdrawn jobs waited until the withdrawal ``d``, and count for
the length of the queue; :data:`METRICS` says for each over which jobs it is, and the papers' short
names. One short name can stand for several metrics: four are called AWRT.

Jobs that are not measured (:attr:`JobTable.measured`) load the machine: of :data:`METRICS` those
of the machine (:attr:`Metric.of_machine`) are over all jobs of a table, the others over
:attr:`JobTable.only_measured`. :meth:`Metric.value`, :func:`overall`, :func:`per_user`,
:func:`per_site` and :func:`windows` see to that; what computes one metric takes all jobs of the
table that it gets.
"""

from __future__ import annotations

from batsched_py.metrics.energy import EqualHosts, MachineEnergy, busy_within
from batsched_py.metrics.machine import makespan, queue_length_distribution, window, windows
from batsched_py.metrics.registry import COUNTS, METRICS, Metric, overall, per_site, per_user
from batsched_py.metrics.saturation import backlog_growth, saturated
from batsched_py.metrics.slowdown import BOUND, mean_bounded_slowdown
from batsched_py.metrics.users import jobs_by_hour_of_week
from batsched_py.metrics.waiting import max_over_min, mean_waiting_time
from batsched_py.metrics.warm_up import mser5, warm_up_time
from batsched_py.results.job_table import JobTable

__all__ = [
    "BOUND",
    "COUNTS",
    "METRICS",
    "EqualHosts",
    "JobTable",
    "MachineEnergy",
    "Metric",
    "backlog_growth",
    "busy_within",
    "jobs_by_hour_of_week",
    "makespan",
    "max_over_min",
    "mean_bounded_slowdown",
    "mean_waiting_time",
    "mser5",
    "overall",
    "per_site",
    "per_user",
    "queue_length_distribution",
    "saturated",
    "warm_up_time",
    "window",
    "windows",
]
