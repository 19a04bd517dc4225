"""The runs of the study with their policies and results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from batsched_py.report import CampaignResults
from batsched_py.report.kit import log_name, options_of
from batsched_py.workload.logs.clock import parse_time_zone
from batsched_studies.dynp import PUBLISHED

METRICS = {
    "SLDwA": ("mean_slowdown_by_area", 1),
    "ARTwW": ("mean_turnaround_time_by_width", 1),
    "AWT": ("mean_waiting_time", 1),
    "UTIL": ("utilisation", 100),
}
"""By name in the thesis (section 3.4): the metric here, and units of its tables per unit here."""
VERSIONS = {"dynp_bounds": "by bounds", "dynp_clock": "by the clock"}
"""Versions of dynP without self-tuning, and how they choose the queue order."""


@dataclass(frozen=True)
class Policy:
    """A policy of the study, with its options.

    It is a static one (``order``), self-tuning dynP, or a ``version`` of dynP without self-tuning.
    """

    order: str = ""
    version: str = ""
    decider: str = "advanced"
    when: str = "full"
    metric: str = "ARTwW"
    slackness: float = 0
    legacy_fcfs_list_order: bool = False
    first_jobs: int | None = None
    within: float | None = None

    @property
    def key(self) -> str:
        """The name of the policy in ``published.toml``, without metric, slackness and subset."""
        return self.order or self.version or f"{self.decider} {self.when}"

    @property
    def plain(self) -> bool:
        """Whether it minimises ARTwW of all jobs without slackness; also true of static ones."""
        return self.metric == "ARTwW" and self.slackness == 0 and not self.subset

    @property
    def subset(self) -> str:
        """The jobs of a plan that dynP's metric is computed from; empty for all jobs."""
        first = "" if self.first_jobs is None else f"first {self.first_jobs}"
        within = "" if self.within is None else f"within {self.within:g} h"
        return ", ".join(filter(None, (first, within)))

    @property
    def label(self) -> str:
        """The name of the policy, with unusual values of metric, slackness and subset."""
        metric = "" if self.metric == "ARTwW" else self.metric
        slackness = f"{self.slackness:g} %" if self.slackness else ""
        return ", ".join(filter(None, (self.key, metric, slackness, self.subset)))

    @property
    def fcfs_list(self) -> str:
        """How FCFS orders the waiting jobs; empty for a static policy."""
        if self.order:
            return ""
        return "legacy" if self.legacy_fcfs_list_order else "sorted"


@dataclass(frozen=True)
class MeasuredRun:
    """The results of one run of recorded jobs."""

    log: str
    trace: str | None
    """The trace of the thesis; None if there is none with these jobs and nodes."""
    nodes: int
    jobs: int
    """Jobs that ran."""
    size: str
    """Which number of processors jobs have: ``requested`` or ``allocated``."""
    policy: Policy
    estimates: str
    """``user`` or ``perfect``."""
    values: dict[str, float]
    """SLDwA; ARTwW and AWT in seconds; UTIL in per cent."""
    months: pd.DataFrame
    """The table of :func:`group_by_month`; empty if it is unknown when the log began."""
    statistics: dict[str, Any]
    """The statistics that the policy counted, if any."""


def read_runs(results: CampaignResults) -> Iterator[MeasuredRun]:
    """Yield the runs of recorded jobs in the order of the campaign."""
    for _, run in results.runs.iterrows():
        policy = read_policy(run)
        if policy is None or run["users"] != "rigid":
            continue
        stored = results.settings(run)
        log, nodes = log_name(run["log"]), int(run["nb_res"])
        trace = _trace(log, nodes, run)
        clock = PUBLISHED["traces"][trace]["clock"] if trace else stored["time_zone"]
        start = stored["unix_start_time"]
        yield MeasuredRun(
            log=log,
            trace=trace,
            nodes=nodes,
            jobs=int(run["nb_ran"]),
            size=run["size"],
            policy=policy,
            estimates="perfect" if run.get("walltime") == "exact" else "user",
            values=read_metrics(run),
            months=pd.DataFrame()
            if start is None
            else group_by_month(results.jobs(run), start, clock),
            statistics=stored.get("statistics") or {},
        )


def read_metrics(run: Any) -> dict[str, float]:
    """Return the metrics in a row of the campaign's runs, by their names in the thesis."""
    return {name: run[metric] * scale for name, (metric, scale) in METRICS.items()}


def read_policy(run: Any) -> Policy | None:
    """Return the policy in a row of the campaign's runs; None if the study does not have it."""
    options = options_of(run, "scheduler_options")
    if run["scheduler"] == "planning":
        return Policy(order=options.get("order", "fcfs"))
    if run["scheduler"] in VERSIONS:
        return Policy(version=VERSIONS[run["scheduler"]])
    if run["scheduler"] != "dynp":
        return None
    names = {field.name for field in fields(Policy)} - {"order", "version"}
    return Policy(**{name: value for name, value in options.items() if name in names})


def group_by_month(jobs: pd.DataFrame, unix_start_time: float, clock: str) -> pd.DataFrame:
    """Return a row for each month of submission: ``name``, ``jobs`` that ran, their ``sldwa``.

    ``name`` is ``YYYY-MM``. The argument ``jobs`` is the job table of a run, ``clock`` a time zone
    or an offset such as ``-05:00``.
    """
    ran = jobs[jobs["finish_time"].notna()]
    submitted, width = ran["submission_time"], ran["requested_number_of_resources"]
    sums = pd.DataFrame(
        {
            "response": width * (ran["finish_time"] - submitted),
            "area": width * (ran["finish_time"] - ran["starting_time"]),
            "jobs": 1,
        }
    )
    when = pd.to_datetime(submitted + unix_start_time, unit="s", utc=True)
    months = when.dt.tz_convert(parse_time_zone(clock)).dt.strftime("%Y-%m")
    by_month = sums.groupby(months.rename("name")).sum().reset_index()
    return by_month.assign(sldwa=by_month["response"] / by_month["area"])


def _trace(log: str, nodes: int, run: Any) -> str | None:
    name: str | None = PUBLISHED["logs"].get(log)
    whole = pd.isna(run.get("first")) and run.get("speed_factor", 1.0) in (1.0, None)
    if name is None or not whole or nodes != PUBLISHED["traces"][name]["nodes"]:
        return None
    return name
