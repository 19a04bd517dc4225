"""The measures of the study, and its runs with their policies and results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from batsched_py import Result
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
CASES = tuple(PUBLISHED["table5_3"]["SDSC"])
"""Cases of a decision (Table 4.3)."""
ORDERS = ("fcfs", "sjf", "ljf")
COUNTERS = {
    ("steps", ""): "steps",
    **{("case", case): f"case_{case}" for case in CASES},
    **{("switches", order): f"switches_{order}" for order in ORDERS},
    ("no switch", ""): "no_switch",
    **{("started", order): f"started_{order}" for order in ORDERS},
}
"""What dynP counts, by what and which: the case, the order switched to or active at a start. The
values are the names of the measures."""
FIRST_MONTHS = 15
"""The months of Tables A.4 and A.12 that end before SDSC's load grew: to June 1999."""
MEASURES = (
    *("sldwa_first_months", "jobs_until_table_4_4"),
    *("loss_mean", "loss_low", "loss_high", "loss_worst", "loss_steps", "loss_unsolved"),
)
RESTRICTIONS = {
    "first_jobs": "first {}",
    "within": "within {:g} h",
    "min_size": "from {} processors",
    "max_size": "up to {} processors",
    "min_estimate": "from {:g} s",
    "max_estimate": "up to {:g} s",
    "every_jobs": "every {} jobs",
    "every_hours": "every {:g} h",
}
"""Options of dynP that restrict the jobs that its metric counts, or its steps, in words."""
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
    subset: str = ""
    """The jobs that dynP's metric counts, or the steps that are due, as in :data:`RESTRICTIONS`;
    empty for all."""

    @property
    def key(self) -> str:
        """The name of the policy in ``published.toml``, without metric, slackness and subset."""
        return self.order or self.version or f"{self.decider} {self.when}"

    @property
    def printed(self) -> str:
        """The key of the thesis's numbers: its full self-tuning may have steps after starts."""
        return self.key.replace("starts", "full")

    @property
    def plain(self) -> bool:
        """Whether it minimises ARTwW of all jobs without slackness; also true of static ones."""
        return self.metric == "ARTwW" and self.slackness == 0 and not self.subset

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
    measures: dict[str, float]
    """The measures of :func:`measure` and of ``optimum_loss.py``, but for the counters."""
    months: pd.DataFrame
    """The table of :func:`group_by_month`; empty if it is unknown when the log began."""
    counts: dict[tuple[str, str], int]
    """The counters of :data:`COUNTERS`, if the policy has any."""


def measure(result: Result) -> dict[str, float]:
    """Return the counters of dynP, the mean SLDwA of the first months, and early submissions.

    The counters are named in :data:`COUNTERS`. ``sldwa_first_months`` is the plain mean of SLDwA of
    the first 15 calendar months (UTC); missing if the log is shorter or its begin unknown.
    ``jobs_until_table_4_4`` is the number of jobs submitted until the last step of that table.
    """
    counted, table = result.settings.get("statistics") or {}, result.table
    last = max(PUBLISHED["table4_4"]["times"])
    measured = {"jobs_until_table_4_4": float((table.submit <= last).sum())}
    for (what, which), name in COUNTERS.items() if "steps" in counted else ():
        of_what = counted[{"case": "cases"}.get(what, what.replace(" ", "_"))]
        if of_what != {}:
            measured[name] = of_what.get(which, 0) if which else of_what
    start = result.settings["unix_start_time"]
    if start is not None:
        columns = table.submit, table.start, table.finish, table.size
        by_month = group_by_month(*columns, unix_start_time=start, clock="+00:00")
        months = by_month.head(FIRST_MONTHS)
        if len(months) == FIRST_MONTHS:
            measured["sldwa_first_months"] = months["sldwa"].mean()
    return measured


def read_runs(results: CampaignResults) -> Iterator[MeasuredRun]:
    """Yield the runs of recorded jobs in the order of the campaign."""
    months = results.derive("months", _group_all)
    for _, run in results.runs.iterrows():
        policy = read_policy(run)
        if policy is None or run["users"] != "rigid":
            continue
        log, nodes = log_name(run["log"]), int(run["nb_res"])
        counts = {at: run.get(name) for at, name in COUNTERS.items()}
        measures = {name: run.get(name) for name in MEASURES}
        yield MeasuredRun(
            log=log,
            trace=_trace(log, nodes, run),
            nodes=nodes,
            jobs=int(run["nb_ran"]),
            size=run["size"],
            policy=policy,
            estimates="perfect" if run.get("walltime") == "exact" else "user",
            values=read_metrics(run),
            measures={name: float(of) for name, of in measures.items() if not pd.isna(of)},
            months=months[months["run"] == _place(results, run)] if len(months) else months,
            counts={at: int(count) for at, count in counts.items() if not pd.isna(count)},
        )


def _place(results: CampaignResults, run: Any) -> str:
    return Path(run["folder"]).relative_to(results.out).as_posix()


def _group_all(results: CampaignResults) -> pd.DataFrame:
    """Return the tables of :func:`group_by_month` of all runs, with their folders as ``run``."""
    tables = []
    for _, run in results.runs.iterrows():
        if read_policy(run) is None or run["users"] != "rigid":
            continue
        stored, jobs = results.settings(run), results.jobs(run)
        trace = _trace(log_name(run["log"]), int(run["nb_res"]), run)
        clock = PUBLISHED["traces"][trace]["clock"] if trace else stored["time_zone"]
        start = stored["unix_start_time"]
        if start is not None:
            months = group_by_month(
                jobs["submission_time"],
                jobs["starting_time"],
                jobs["finish_time"],
                jobs["requested_number_of_resources"],
                unix_start_time=start,
                clock=clock,
            )
            tables.append(months.assign(run=_place(results, run)))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


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
    restrictions = [RESTRICTIONS[at].format(options[at]) for at in RESTRICTIONS if at in options]
    known = {name: value for name, value in options.items() if name in names}
    return Policy(**known, subset=", ".join(restrictions))


def group_by_month(
    submit: Any, start: Any, finish: Any, width: Any, *, unix_start_time: float, clock: str
) -> pd.DataFrame:
    """Return a row for each month of submission: ``name``, ``jobs`` that ran, their ``sldwa``.

    ``name`` is ``YYYY-MM``. The columns of jobs have times in seconds; jobs that did not run have
    no ``finish``. ``clock`` is a time zone or an offset such as ``-05:00``.
    """
    jobs = pd.DataFrame({"submit": submit, "start": start, "finish": finish, "width": width})
    ran = jobs[jobs["finish"].notna()]
    sums = pd.DataFrame(
        {
            "response": ran["width"] * (ran["finish"] - ran["submit"]),
            "area": ran["width"] * (ran["finish"] - ran["start"]),
            "jobs": 1,
        }
    )
    when = pd.to_datetime(ran["submit"] + unix_start_time, unit="s", utc=True)
    months = when.dt.tz_convert(parse_time_zone(clock)).dt.strftime("%Y-%m")
    by_month = sums.groupby(months.rename("name")).sum().reset_index()
    return by_month.assign(sldwa=by_month["response"] / by_month["area"])


def _trace(log: str, nodes: int, run: Any) -> str | None:
    name: str | None = PUBLISHED["logs"].get(log)
    whole = pd.isna(run.get("first")) and run.get("speed_factor", 1.0) in (1.0, None)
    if name is None or not whole or nodes != PUBLISHED["traces"][name]["nodes"]:
        return None
    return name
