"""The runs of the study: a row of measures per replication of a case.

Numbers are in the units of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import hypot, inf, isnan, nan, pi, sqrt
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report import kit
from batsched_py.report.kit import SEED, Interval, Quantity, Runs
from batsched_py.units import WEEK
from batsched_studies.dynamic_think_times import PUBLISHED
from batsched_users.behaviour.think_times import ThinkTime
from batsched_users.models.weekly import PUBLISHED as PARAMETERS
from batsched_users.models.weekly import read_parameters

DAILY = "daily chains"
"""The study's own interpretation, also of campaign files that do not name one."""
SINGLE = "single chain"
"""The interpretation that follows the paper's text: users have one job at a time."""
SECTION_3_1 = "linear:1.051:1361"
"""The other line that the paper prints; it is compared with the paper's ``lin``."""
INNER, WHOLE = "weeks 2 to 9", "all ten weeks"
"""When the measured jobs end. INNER is the study's own interpretation."""
SCHEDULERS = ("fcfs", "easy")
CASE = ("reading", "scheduler", "nodes", "think")
ACTIVE_WEEKS = 10 * 10 * 0.5
"""The mean with ten users, ten weeks and p_a = 0.5."""
METRICS = (
    Quantity("work", "squashed_area", "workload", 1e-9, "G core-s"),
    Quantity("awrt", "mean_turnaround_time_by_area", "AWRT", unit="s"),
    Quantity("art", "mean_turnaround_time", "ART", unit="s"),
    Quantity("awt", "mean_waiting_time", "AWT", unit="s"),
    Quantity("asd", "mean_slowdown", "ASD", unit="1"),
)
QUALITY = METRICS[1:]
"""The metrics of which smaller values are better."""
FURTHER = (
    Quantity("awrt_printed", "area_turnaround_per_processor", "AWRT as printed", 1e-6, "10^6 s^2"),
    Quantity("bsld", "mean_bounded_slowdown", "bounded slowdown", unit="1"),
)
Medians = dict[str, list[float]]
"""The printed 2.5 % quantile, median and 97.5 % quantile of a case, by metric."""
REPLICATIONS = 100
"""The number of replications in the paper."""


def read(runs: pd.DataFrame) -> Runs:
    """Return a row for each run: :data:`CASE`, ``replication``, ``jobs`` and the metrics by name.

    A run has one row for :data:`INNER` and one for :data:`WHOLE` (the column ``measured``), as far
    as ``measures.py`` measured it. ``busy`` is the time (weeks) that all users' chains spend in
    cycles of turnaround and think time. Think times are linear in the turnaround time, so the
    mean think time is that of the mean turnaround time.
    """
    parts = [_measured(runs, which, suffix) for which, suffix in _SUFFIXES.items()]
    there = [part for part in parts if len(part)]
    if not there:
        return Runs(pd.DataFrame(columns=[*CASE, "measured", SEED]))
    return Runs(pd.concat(there, ignore_index=True))


_SUFFIXES = {INNER: "_weeks_2_to_9", WHOLE: ""}


def _measured(runs: pd.DataFrame, which: str, suffix: str) -> pd.DataFrame:
    if f"nb_ran{suffix}" not in runs:
        return runs.iloc[:0]
    cases = pd.DataFrame({key: runs[key] for key in CASE if key in runs})
    if "reading" not in cases:
        cases["reading"] = DAILY
    cases["measured"] = which
    cases[SEED] = runs[SEED] if SEED in runs else runs["seed"]
    cases["jobs"] = runs[f"nb_ran{suffix}"]
    for metric in (*METRICS, *FURTHER):
        cases[metric.name] = runs[f"{metric.column}{suffix}"].astype(float) * metric.scale
    cases["busy"] = [compute_busy_weeks(row.jobs, row.art, row.think) for row in kit.rows(cases)]
    return cases.replace({"think": {SECTION_3_1: "lin"}})


def compute_busy_weeks(jobs: float, response: float, think: str) -> float:
    """Return how many weeks ``jobs`` in succession take, with the think times after them."""
    return jobs * (response + ThinkTime.parse(think)(response)) / WEEK


def compute_mean_area(nodes: int) -> float:
    """Return the core-seconds of a mean job, from the paper's probabilities and mean run times."""
    (kind,) = read_parameters(PARAMETERS).classes
    return sum(size.probability * min(size.size, nodes) * size.mean for size in kind.sizes)


def compute_needed_time(nodes: int, think: str, medians: Medians) -> dict[str, float]:
    """Return how much user time the published medians of a case need at least.

    ``jobs`` is the published workload divided by the mean area of a job, ``cycle`` the seconds of a
    turnaround and the think time after it, ``needed`` the weeks of all users, with one job at a
    time, and ``share`` the per cent of all active weeks, nights and weekends included.
    """
    jobs, response = medians["work"][1] * 1e9 / compute_mean_area(nodes), medians["art"][1]
    weeks = compute_busy_weeks(jobs, response, think)
    share = 100 * (weeks / ACTIVE_WEEKS)
    return {"jobs": jobs, "cycle": weeks * WEEK / jobs, "needed": weeks, "share": share}


def parse_minutes(think: str) -> float:
    """Return the minutes of a constant think time; nan for a think time that is not constant."""
    line = ThinkTime.parse(think)
    return nan if line.slope else line.intercept / 60


def group_by_case(runs: Runs) -> Iterator[tuple[dict[str, Any], Runs]]:
    """Yield each case with its replications: larger machines first, ``lin`` last."""
    readings = runs.labels("reading")

    def place(group: tuple[tuple[Any, ...], Runs]) -> tuple[Any, ...]:
        reading, scheduler, nodes, think = group[0]
        order = SCHEDULERS.index(scheduler) if scheduler in SCHEDULERS else len(SCHEDULERS)
        constant = parse_minutes(think)
        last = inf if isnan(constant) else constant
        return readings.index(reading), order, scheduler, -nodes, last

    for key, replications in sorted(runs.groups(*CASE), key=place):
        yield dict(zip(CASE, key, strict=True)), replications


def list_published_cases() -> Iterator[tuple[dict[str, Any], Medians]]:
    """Yield the published cases (scheduler, nodes, think time) with their printed numbers."""
    for scheduler, sizes in PUBLISHED["cases"].items():
        for nodes, thinks in sizes.items():
            for think, metrics in thinks.items():
                yield {"scheduler": scheduler, "nodes": int(nodes), "think": think}, metrics


def compute_median_error(low: float, high: float, replications: int) -> float:
    """Return the standard error of a median from its 2.5 % and 97.5 % quantiles.

    For cases of which only the quantiles ``low`` and ``high`` are printed. It assumes a normal
    distribution: sqrt(pi / 2) standard deviations over the root of the number of replications.
    """
    deviation = (high - low) / (2 * 1.96)
    return sqrt(pi / 2) * deviation / sqrt(replications)


def estimate_printed_median(printed: list[float]) -> Interval:
    """Return a printed median with its 95 % interval, by :func:`compute_median_error`."""
    low, middle, high = printed
    reach = 1.96 * compute_median_error(low, high, REPLICATIONS)
    return Interval(middle, middle - reach, middle + reach, REPLICATIONS)


def compute_distance(ours: pd.Series[float], printed: list[float]) -> float:
    """Return how many standard errors of the difference are between a median and a printed one.

    The error of the simulated median is that of its interval, nan for too few replications; the
    error of the paper's median is by :func:`compute_median_error`.
    """
    own = kit.median_interval(ours)
    theirs = compute_median_error(printed[0], printed[2], REPLICATIONS)
    error = hypot(own.high - own.low, 2 * 1.96 * theirs)
    return 2 * 1.96 * (own.value - printed[1]) / error


def compute_ratio_distance(ours: Interval, of: list[float], base: list[float]) -> float:
    """Return how far a median ratio is from the ratio of two printed medians (standard errors).

    Distances are on the logarithm. The error of the simulated ratio is that of its interval. The
    error of the paper's ratio assumes that its two cases are independent, which is rather too
    large.
    """
    own = np.log(ours.high / ours.low) / (2 * 1.96)
    theirs = [compute_median_error(low, high, REPLICATIONS) / mid for low, mid, high in (of, base)]
    return float(np.log(ours.value / (of[1] / base[1])) / hypot(own, *theirs))


def interpolate_at_equal_work(runs: Runs) -> Runs:
    """Return the metrics of ``lin`` and of constant think times at equal work, by replication.

    Columns: each of :data:`QUALITY`, and NAME_constant, interpolated between the constant think
    times of the same replication. Replications with work outside their range are left out, and all
    if there are fewer than two constant think times.
    """
    columns = [name for metric in QUALITY for name in (metric.name, f"{metric.name}_constant")]
    rows = [_at_equal_work(replication.frame) for _, replication in runs.groups(SEED)]
    return Runs(pd.DataFrame([row for row in rows if row], columns=[SEED, *columns]))


def compute_ratios_at_equal_work(pairs: Runs) -> dict[str, Interval]:
    """Return for each metric the ratio of ``lin`` to constant think times at equal work."""
    return {
        metric.name: kit.median_ratio(
            pairs.values(metric.name), pairs.values(f"{metric.name}_constant")
        )
        for metric in QUALITY
    }


def _at_equal_work(runs: pd.DataFrame) -> dict[str, float]:
    """Return the row of one replication, empty if there is none."""
    lin = runs[runs["think"] == "lin"]
    constant = runs[runs["think"].map(parse_minutes).notna()].sort_values("work")
    if len(lin) != 1 or len(constant) < 2:
        return {}
    work = lin["work"].iloc[0]
    if not constant["work"].iloc[0] <= work <= constant["work"].iloc[-1]:
        return {}
    row = {SEED: lin[SEED].iloc[0]}
    for metric in QUALITY:
        row[metric.name] = float(lin[metric.name].iloc[0])
        at = np.interp(work, constant["work"], constant[metric.name])
        row[f"{metric.name}_constant"] = float(at)
    return row
