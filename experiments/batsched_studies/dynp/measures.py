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
"""Name in the thesis (section 3.4): our metric, and how many units of the table are one of ours."""
VERSIONS = {"dynp_bounds": "by bounds", "dynp_clock": "by the clock"}
"""How the versions of dynP that do not tune themselves choose the order."""


@dataclass(frozen=True)
class Policy:
    """A policy of the study: a static one (``order``), self-tuning dynP with its options, or
    a ``version`` of it that does not tune itself."""

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
        """The name of the policy in ``published.toml``, without metric, slackness and
        jobs that count."""
        return self.order or self.version or f"{self.decider} {self.when}"

    @property
    def plain(self) -> bool:
        """Whether it minimises ARTwW of all jobs without slackness (also true of static ones)."""
        return self.metric == "ARTwW" and self.slackness == 0 and not self.subset

    @property
    def subset(self) -> str:
        """Which jobs of a plan count; empty for all."""
        first = "" if self.first_jobs is None else f"first {self.first_jobs}"
        within = "" if self.within is None else f"within {self.within:g} h"
        return ", ".join(filter(None, (first, within)))

    @property
    def label(self) -> str:
        """The name with metric, slackness and subset where they are not the usual ones."""
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
class Measured:
    """The results of a run."""

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
    """That of :func:`by_month`; empty if the log does not say when it began."""
    statistics: dict[str, Any]
    """What the policy counted; empty if it did not."""


def read_runs(results: CampaignResults) -> Iterator[Measured]:
    """Yield the runs of recorded jobs in the order of the campaign; others are left out."""
    for _, run in results.runs.iterrows():
        policy = policy_of(run)
        if policy is None or run["users"] != "rigid":
            continue
        stored = results.settings(run)
        log, nodes = log_name(run["log"]), int(run["nb_res"])
        trace = _trace(log, nodes, run)
        clock = PUBLISHED["traces"][trace]["clock"] if trace else stored["time_zone"]
        start = stored["unix_start_time"]
        yield Measured(
            log=log,
            trace=trace,
            nodes=nodes,
            jobs=int(run["nb_ran"]),
            size=run["size"],
            policy=policy,
            estimates="perfect" if run.get("walltime") == "exact" else "user",
            values=values_of(run),
            months=pd.DataFrame() if start is None else by_month(results.jobs(run), start, clock),
            statistics=stored.get("statistics") or {},
        )


def values_of(run: Any) -> dict[str, float]:
    """Return the metrics of a row of the runs by their names in the thesis."""
    return {name: run[metric] * scale for name, (metric, scale) in METRICS.items()}


def policy_of(run: Any) -> Policy | None:
    """Return the policy of a row of the runs; None if it is none of the study."""
    options = options_of(run, "scheduler_options")
    if run["scheduler"] == "planning":
        return Policy(order=options.get("order", "fcfs"))
    if run["scheduler"] in VERSIONS:
        return Policy(version=VERSIONS[run["scheduler"]])
    if run["scheduler"] != "dynp":
        return None
    names = {field.name for field in fields(Policy)} - {"order", "version"}
    return Policy(**{name: value for name, value in options.items() if name in names})


def by_month(jobs: pd.DataFrame, unix_start_time: float, clock: str) -> pd.DataFrame:
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
