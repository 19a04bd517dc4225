"""Compares the calibrations of several policies, the site's own among them, on one log."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pandas as pd

from batsched_py.calibration.matched_jobs import keep_common, match_jobs
from batsched_py.calibration.resource_use import measure_resources
from batsched_py.calibration.run_calibration import Calibration, ComparedRun
from batsched_py.calibration.week_bootstrap import Estimate
from batsched_py.results.job_table import Column, JobTable
from batsched_py.support.statistics import Interval
from batsched_py.workload.log_partitions import LogPartitions
from batsched_py.workload.logs.swf import SwfLog
from batsched_py.workload.machine_description import MachineDescription

USUAL = "by size and hour"
"""The name of the usual waits, with which policies are compared: see :mod:`.run_calibration`."""


class Difference(msgspec.Struct, frozen=True):
    """The difference between the calibrations of the site's policy and of another one."""

    other: str
    rank_correlation: Interval
    share_explained: Interval
    """Positive: the site's policy is nearer to what was recorded."""
    absolute_bias: Interval | None
    """``|bias| - |bias of the other|``, seconds; None of usual waits, which have no level."""


class PolicyCalibrations(msgspec.Struct, frozen=True, eq=False):
    """The calibration of each policy on a log, by name, the site's first; over the same jobs."""

    policies: dict[str, Calibration]
    differences: list[Difference]
    waits: dict[str, tuple[Column, Column]]
    """Recorded and simulated waits of the jobs that are compared, by policy, seconds."""
    used: pd.DataFrame
    """Of resources, and below, what held jobs: see :func:`~.resource_use.measure_resources`."""
    held: pd.DataFrame

    @property
    def site(self) -> str:
        """The name of the site's policy."""
        return next(iter(self.policies))

    @property
    def of_site(self) -> Calibration:
        """The calibration of the site's policy."""
        return self.policies[self.site]


def calibrations(
    log: SwfLog, tables: Mapping[str, JobTable], described: MachineDescription | None = None
) -> PolicyCalibrations:
    """Return the calibrations of rigid runs of a log; the first is of the site's policy.

    ``tables`` are those of the runs by the names of their policies; only jobs that ran in all of
    them are compared. See :func:`~.run_calibration.calibration`.
    """
    matched = [match_jobs(log, table) for table in tables.values()]
    same = keep_common([jobs for jobs, _ in matched])
    runs: dict[str, ComparedRun] = {}
    usual = None
    machine = None if described is None else LogPartitions(log, described)
    for (name, table), jobs, (before, counts) in zip(tables.items(), same, matched, strict=True):
        compared, lost = int(jobs.measured.sum()), len(before.row) - len(jobs.row)
        same_jobs = msgspec.structs.replace(
            counts,
            refused=counts.refused + lost,
            compared=compared,
            not_measured=len(jobs.row) - compared,
        )
        run = ComparedRun(log, jobs, same_jobs, table.nb_processors, machine, usual)
        runs[name], usual = run, run.usual
    site, *others = runs.values()
    differences = [
        _difference(name, site.estimates, run.estimates)
        for name, run in zip(list(runs)[1:], others, strict=True)
    ]
    if site.usual:
        differences.append(_difference(USUAL, site.estimates, site.usual))
    return PolicyCalibrations(
        {name: run.calibration for name, run in runs.items()},
        differences,
        {name: (run.compared.recorded, run.compared.simulated) for name, run in runs.items()},
        *measure_resources(log, machine, site.compared),
    )


def _difference(
    name: str, site: Mapping[str, Estimate], other: Mapping[str, Estimate]
) -> Difference:
    return Difference(
        name,
        (site["rank_correlation"] - other["rank_correlation"]).interval,
        (site["share_explained"] - other["share_explained"]).interval,
        (abs(site["bias"]) - abs(other["bias"])).interval if name != USUAL else None,
    )
