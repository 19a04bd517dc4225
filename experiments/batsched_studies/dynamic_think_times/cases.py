"""The runs of the study as a table: a row per replication of a case, in the units of the paper."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from batsched_users.behaviour.think_times import ThinkTime
from batsched_users.models.weekly import PUBLISHED as PARAMETERS
from batsched_users.models.weekly import read_parameters

from batsched_py.units import WEEK

STATED = "as stated"
"""The reading of a file that has none: the numbers of the paper's figure 6."""
SCHEDULERS = ("fcfs", "easy")
CASE = ["reading", "scheduler", "nodes", "think"]
ACTIVE_WEEKS = 10 * 10 * 0.5
"""Ten users, ten weeks and p_a = 0.5, in the mean."""


@dataclass(frozen=True)
class Metric:
    """A metric of the paper."""

    name: str
    title: str
    column: str
    """Among the metrics of a run."""
    unit: str
    scale: float = 1.0


METRICS = (
    Metric("work", "workload", "squashed_area", "G core-s", 1e-9),
    Metric("awrt", "AWRT", "mean_turnaround_time_by_area", "s"),
    Metric("art", "ART", "mean_turnaround_time", "s"),
    Metric("awt", "AWT", "mean_waiting_time", "s"),
    Metric("asd", "ASD", "mean_slowdown", "1"),
)
QUALITY = METRICS[1:]
"""Those that are better if they are less."""
FURTHER = (
    Metric("awrt_printed", "AWRT as printed", "area_turnaround_per_processor", "10^6 s^2", 1e-6),
    Metric("bsld", "bounded slowdown", "mean_bounded_slowdown", "1"),
)


def published() -> dict[str, Any]:
    """Return the published numbers."""
    return tomllib.loads(Path(__file__).with_name("published.toml").read_text())


def read(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with :data:`CASE`, ``replication``, ``jobs`` and the metrics by name.

    ``busy`` is the time that all users together spend in cycles of response and think time, in
    weeks: every think time is a straight line over the response time, so its mean is that of the
    mean response.
    """
    if runs.empty:
        return pd.DataFrame(columns=[*CASE, "replication"])
    cases = pd.DataFrame({key: runs[key] for key in CASE if key in runs})
    if "reading" not in cases:
        cases["reading"] = STATED
    cases["replication"] = runs["replication"] if "replication" in runs else runs["seed"]
    cases["jobs"] = runs["nb_ran"]
    for metric in (*METRICS, *FURTHER):
        cases[metric.name] = runs[metric.column].astype(float) * metric.scale
    cases["busy"] = [
        busy_weeks(row.jobs, row.art, row.think) for row in cases.itertuples(index=False)
    ]
    return cases


def busy_weeks(jobs: float, response: float, think: str) -> float:
    """Return the weeks that users spend in so many jobs of that mean response, and thinking."""
    return jobs * (response + ThinkTime.parse(think)(response)) / WEEK


def mean_area(nodes: int) -> float:
    """Return the core-seconds of a mean job by the paper's probabilities and mean run times."""
    (kind,) = read_parameters(PARAMETERS).classes
    return sum(size.probability * min(size.size, nodes) * size.mean for size in kind.sizes)


@dataclass(frozen=True)
class Needed:
    """What the published medians of a case need of its users."""

    jobs: float
    """Published workload over the mean area of a job."""
    cycle: float
    """Seconds of a mean response and the think time after it."""
    weeks: float
    """Of all users together, one job after the other."""

    @property
    def share(self) -> float:
        """The part that this is of all active weeks, nights and weekends included."""
        return self.weeks / ACTIVE_WEEKS


def needed(nodes: int, think: str, printed: dict[str, list[float]]) -> Needed:
    """Return the time of users without which the published numbers cannot be."""
    jobs, response = printed["work"][1] * 1e9 / mean_area(nodes), printed["art"][1]
    weeks = busy_weeks(jobs, response, think)
    return Needed(jobs, weeks * WEEK / jobs, weeks)


def minutes(think: str) -> float:
    """Return the minutes of a constant think time, nan for one that is not constant."""
    line = ThinkTime.parse(think)
    return nan if line.slope else line.intercept / 60


def groups(cases: pd.DataFrame) -> Iterator[tuple[tuple[str, str, int, str], pd.DataFrame]]:
    """Yield each case with its replications: larger machines first, ``lin`` last."""
    found = dict(iter(cases.groupby(CASE, sort=False)))
    readings = list(dict.fromkeys(cases["reading"]))
    for key in sorted(found, key=lambda key: _place(key, readings)):
        yield key, found[key]


def _place(key: Any, readings: list[str]) -> tuple[Any, ...]:
    reading, scheduler, nodes, think = key
    known = SCHEDULERS.index(scheduler) if scheduler in SCHEDULERS else len(SCHEDULERS)
    constant = minutes(think)
    return readings.index(reading), known, scheduler, -nodes, np.nan_to_num(constant, nan=np.inf)


def values(cases: pd.DataFrame, **key: Any) -> pd.DataFrame:
    """Return the replications of a case, by replication."""
    chosen = np.logical_and.reduce([cases[name] == value for name, value in key.items()])
    return cases[chosen].set_index("replication").sort_index()


def pairs(
    cases: pd.DataFrame, ours: dict[str, Any], base: dict[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two cases with the same replications, in the same order."""
    first, second = values(cases, **ours), values(cases, **base)
    both = first.index.intersection(second.index)
    return first.loc[both], second.loc[both]


def printed(numbers: dict[str, Any]) -> Iterator[tuple[str, int, str, dict[str, list[float]]]]:
    """Yield the published cases: scheduler, cores, think time, and quantiles by metric."""
    for scheduler, sizes in numbers["cases"].items():
        for nodes, thinks in sizes.items():
            for think, metrics in thinks.items():
                yield scheduler, int(nodes), think, metrics


def at_equal_work(cases: pd.DataFrame, **place: Any) -> pd.DataFrame:
    """Return ``lin`` and what constant think times would have at its work, by replication.

    Columns: each of :data:`QUALITY`, and NAME_constant, read on straight lines between the constant
    think times of the same replication. Replications whose work is beyond theirs are left out, and
    all if there are less than two constant think times.
    """
    columns = [name for metric in QUALITY for name in (metric.name, f"{metric.name}_constant")]
    rows = [_at_equal_work(runs) for _, runs in values(cases, **place).groupby(level=0)]
    return pd.DataFrame([row for row in rows if row is not None], columns=columns)


def _at_equal_work(runs: pd.DataFrame) -> dict[str, float] | None:
    """Return the row of one replication."""
    lin = runs[runs["think"] == "lin"]
    constant = runs[runs["think"].map(minutes).notna()].sort_values("work")
    if len(lin) != 1 or len(constant) < 2:
        return None
    work = lin["work"].iloc[0]
    if not constant["work"].iloc[0] <= work <= constant["work"].iloc[-1]:
        return None
    row = {}
    for metric in QUALITY:
        row[metric.name] = float(lin[metric.name].iloc[0])
        at = np.interp(work, constant["work"], constant[metric.name])
        row[f"{metric.name}_constant"] = float(at)
    return row
