"""Higher load: synthetic job sets at several shrinking factors (Tables 5.10-5.13, A.13-A.18).

A number of the thesis is the mean over ten sets without the best and the worst one. Gains compare
such means: (base - new) / base; points for UTIL, which is in per cent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from batsched_py.report import CampaignResults, Column, Table, kit
from batsched_py.report.kit import SEED, Interval, Runs
from batsched_studies.dynp import PUBLISHED, TEXTS
from batsched_studies.dynp.measures import read_metrics, read_policy

STATIC = ("fcfs", "sjf", "ljf")
BASES = {"sjf": "fcfs", "ljf": "fcfs", "advanced full": "sjf", "sjf-preferred full": "sjf"}
"""The policy with which each policy is compared in Tables A.13 and A.15."""
PUBLISHED_JOBS = 10_000
UNSORTED = " (legacy)"
"""Ends the names of policies whose FCFS does not sort its list; the thesis has none of them."""
GAIN: dict[str, Callable[[Any, Any], Any]] = {
    "SLDwA": lambda new, base: 100 * (base - new) / base,
    "UTIL": lambda new, base: new - base,
}
"""The gain by metric: per cent of the base, or points."""


@dataclass(frozen=True, eq=False)
class Load:
    """The runs with synthetic job sets of one log, under all policies and at all loads."""

    log: str
    trace: str | None
    """The trace of the thesis; None if its sets were made otherwise."""
    runs: Runs
    """SLDwA, and UTIL in per cent, by ``policy`` (as in ``published.toml``), ``slackness``,
    ``shrink`` and replication, which is the set."""

    def list_factors(self) -> list[float]:
        """Return the shrinking factors that were run, from the lowest load to the highest."""
        return sorted(self.runs.labels("shrink"), reverse=True)

    def list_policies(self) -> list[str]:
        """Return the policies that were run without slackness."""
        return self.runs.where(slackness=0).labels("policy")

    def list_slacknesses(self) -> Iterator[tuple[str, list[float]]]:
        """Yield each policy that was run with slackness, and its values of slackness."""
        for policy in self.runs.labels("policy"):
            values = self.runs.where(policy=policy).labels("slackness")
            if len(values) > 1:
                yield policy, sorted(values)

    def values(
        self, policy: str, shrink: float, metric: str, slackness: float = 0
    ) -> pd.Series[float]:
        """Return a metric of a policy at a shrinking factor, by job set; empty without runs."""
        runs = self.runs.where(policy=policy, shrink=shrink, slackness=slackness)
        values = runs.values(metric)
        return values[~values.index.duplicated()]

    def mean(
        self, policy: str, shrink: float, metric: str, slackness: float = 0
    ) -> Interval | None:
        """Return the trimmed mean of a metric over the job sets; None without runs."""
        values = tuple(self.values(policy, shrink, metric, slackness))
        return _mean(values) if values else None

    def gain(
        self, policy: str, factors: Iterable[float], metric: str, slackness: float = 0
    ) -> Interval | None:
        """Return the mean gain of a policy on its base over some shrinking factors.

        None if one of them was not run. The interval is over sets: each set is a replication at all
        factors.
        """
        return _gain(self, policy, tuple(factors), metric, slackness)

    def average_gain(self, policy: str, slackness: float, metric: str) -> Interval | None:
        """Return the gain of a policy on its base, averaged over :meth:`list_common_factors`."""
        return self.gain(policy, self.list_common_factors(policy, slackness), metric, slackness)

    def list_common_factors(self, policy: str, slackness: float = 0) -> list[float]:
        """Return the shrinking factors at which both a policy and its base were run."""
        base = BASES.get(policy.removesuffix(UNSORTED), policy)
        there = (
            set(self.runs.where(policy=name, slackness=of_name).labels("shrink"))
            for name, of_name in ((policy, slackness), (base, 0))
        )
        return sorted(set.intersection(*there), reverse=True)

    def has_all_factors(self, policy: str, slackness: float = 0) -> bool:
        """Return whether all factors of the thesis were run; else averages are not comparable."""
        return set(self.list_common_factors(policy, slackness)) >= {1.0, 0.9, 0.8, 0.7, 0.6}

    def find_thesis_level(self, metric: str, shrink: float, policy: str) -> Any:
        """Return the value of a metric in Tables A.13 and A.15; None if they have none."""
        return kit.in_column(PUBLISHED, ("load", metric, self.trace, format_factor(shrink)), policy)

    def find_thesis_gain(self, policy: str, slackness: float) -> Any:
        """Return the average gain over SJF in Table 5.13; None if not all factors were run."""
        path = ("load_slackness_gains", self.trace, policy)
        has_all = self.has_all_factors(policy, slackness)
        return kit.in_column(PUBLISHED, path, slackness) if has_all else None


def read_loads(results: CampaignResults) -> list[Load]:
    """Read the runs with synthetic job sets, log by log."""
    rows = []
    for _, run in results.runs.iterrows():
        policy = read_policy(run)
        if policy is None or run["users"] != "synthetic" or policy.metric != "ARTwW":
            continue
        log, options = kit.log_name(run["log"]), kit.options_of(run, "user_options")
        name = policy.key + (UNSORTED if policy.legacy_fcfs_list_order else "")
        case = {"policy": name, "slackness": policy.slackness, "shrink": options.get("shrink", 1.0)}
        place = {"log": log, "trace": _trace(log, int(run["nb_res"]), options)}
        rows.append(place | case | {SEED: int(run.get(SEED, 0))} | read_metrics(run))
    return [
        Load(log, trace if isinstance(trace, str) else None, of_log)
        for (log, trace), of_log in Runs(pd.DataFrame(rows)).groups("log", "trace")
    ]


def _trace(log: str, nodes: int, options: Mapping[str, Any]) -> str | None:
    trace: str | None = PUBLISHED["logs"].get(log)
    if trace is None or PUBLISHED["traces"][trace]["nodes"] != nodes:
        return None
    as_published = options.get("arrivals") in ("thesis", trace) and "alpha" not in options
    return trace if as_published and options.get("jobs", PUBLISHED_JOBS) == PUBLISHED_JOBS else None


def compute_trimmed_mean(values: Any) -> float:
    """Return the mean without the smallest and the largest value, if there are three or more."""
    return kit.trimmed_mean(values, 1 if len(values) > 2 else 0)


def compute_trimmed_means(array: Any) -> Any:
    """Return :func:`compute_trimmed_mean` of each row of an array."""
    drop = 1 if array.shape[1] > 2 else 0
    return np.sort(array, axis=1)[:, drop : array.shape[1] - drop].mean(axis=1)


@lru_cache(4096)
def _mean(values: tuple[float, ...]) -> Interval:
    return kit.jackknife(values, compute_trimmed_mean)


@lru_cache(4096)  # tables, figures and verdicts ask for the same
def _gain(
    load: Load, policy: str, factors: tuple[float, ...], metric: str, slackness: float
) -> Interval | None:
    base = BASES.get(policy.removesuffix(UNSORTED))
    if base is None or not factors:
        return None
    ours = [load.values(policy, shrink, metric, slackness) for shrink in factors]
    of_base = [load.values(base, shrink, metric) for shrink in factors]
    common = pd.concat([*ours, *of_base], axis=1, join="inner").to_numpy().T
    if not common.size:
        return None
    how = GAIN[metric]

    def statistic(drawn: Any) -> float:
        means = compute_trimmed_means(common[:, drawn.astype(int)])
        return float(how(means[: len(factors)], means[len(factors) :]).mean())

    return kit.jackknife(np.arange(common.shape[1]), statistic)


def format_factor(shrink: float) -> str:
    """Return a shrinking factor as it is spelled in ``published.toml``."""
    return f"{shrink:g}" if shrink < 1 else "1.0"


AVERAGE = "average"
SETS = 10
"""The number of sets of the thesis's means."""


def make_load_sections(loads: list[Load]) -> Iterator[tuple[str, Iterable[Table | None]]]:
    """Yield the title of a report section for each kind of table about load, with its tables."""
    makers = {
        "level_table": make_level_table,
        "gain_table": make_gain_table,
        "slackness_gain_table": make_slackness_gain_table,
        "slackness_table": make_slackness_table,
    }
    for name, make in makers.items():
        yield PUBLISHED["sections"][name], [make(load) for load in loads]


def _sorted(policy: str) -> str:
    """Return the name of a policy as in the thesis, whose FCFS always sorts its list."""
    return policy.removesuffix(UNSORTED)


def _estimate(metric: str, ours: Interval, thesis: float | None) -> dict[str, Any]:
    names = (metric, f"{metric}, low", f"{metric}, high")
    return kit.cells(ours, *names) | {f"{metric}, thesis": thesis}


def make_level_table(load: Load) -> Table | None:
    """Return a table of SLDwA and UTIL of each policy at each shrinking factor."""
    rows: list[dict[str, Any]] = []
    marks = []
    for shrink in load.list_factors():
        for policy in load.list_policies():
            row: dict[str, Any] = {"shrink": shrink, "policy": policy}
            for metric in ("SLDwA", "UTIL"):
                ours = load.mean(policy, shrink, metric)
                if ours is None:
                    continue
                thesis = load.find_thesis_level(metric, shrink, _sorted(policy))
                row |= _estimate(metric, ours, thesis)
                if thesis is not None:
                    points = ours.value - thesis
                    difference = points if metric == "UTIL" else 100 * points / thesis
                    row[f"{metric}, difference"] = difference
                    theirs = ours.of_another(SETS)
                    if theirs.low <= thesis <= theirs.high:
                        marks.append((len(rows), metric))
                row["sets"] = ours.nb
            if len(row) > 2:
                rows.append(row)
    shown = [Column("shrink", "factor", 1), *kit.columns("policy", "sets")]
    for metric, unit, difference in (("SLDwA", "", "%"), ("UTIL", " (%)", "points")):
        shown.append(Column(metric, metric + unit, 2, "ours"))
        if metric == "SLDwA" and any(row["sets"] > 1 for row in rows):  # UTIL's: in the CSV file
            ends = {"SLDwA, low": "from", "SLDwA, high": "to"}
            shown += kit.columns(ends, decimals=2, kind="ours")
        shown.append(Column(f"{metric}, thesis", "thesis", 2, "published"))
        title = f"difference ({difference})"
        shown.append(Column(f"{metric}, difference", title, 1, "difference"))
    name = kit.slug("load", load.log)
    return kit.table(name, load.log, rows, kit.where_known(rows, shown), TEXTS["levels"], marks)


def make_gain_table(load: Load) -> Table | None:
    """Return a table of the gain of each policy on its base, by shrinking factor and on average."""
    rows = []
    for policy in load.list_policies():
        base = BASES.get(_sorted(policy))
        factors: list[float | str] = [*load.list_factors(), AVERAGE]
        for shrink in factors if base else ():
            row = {"policy": policy, "base": base, "factor": str(shrink)}
            for metric in ("SLDwA", "UTIL"):
                row |= _gain_cells(load, policy, str(base), shrink, metric)
            if len(row) > 3:
                rows.append(row)
    return _table("load_gains", load, rows)


def _table(key: str, load: Load, rows: list[dict[str, Any]]) -> Table | None:
    shown = kit.where_known(rows, TEXTS.columns(key))
    return TEXTS.table(key, rows, kit.slug(key, load.log), columns=shown, log=load.log)


def _gain_cells(
    load: Load, policy: str, base: str, shrink: float | str, metric: str
) -> dict[str, Any]:
    name = _sorted(policy)
    if isinstance(shrink, str):
        ours = load.average_gain(policy, 0, metric) if load.has_all_factors(policy) else None
        thesis = kit.in_column(PUBLISHED, ("load_gains", metric, load.trace), name)
    else:
        ours = load.gain(policy, [shrink], metric)
        new, old = (load.find_thesis_level(metric, shrink, each) for each in (name, base))
        thesis = None if new is None or old is None else GAIN[metric](new, old)
    return {} if ours is None else _estimate(metric, ours, thesis)


def make_slackness_gain_table(load: Load) -> Table | None:
    """Return a table of the average gain over SJF by slackness, over the factors that were run."""
    rows = []
    for policy, values in load.list_slacknesses():
        for slackness in values:
            ours = load.average_gain(policy, slackness, "SLDwA")
            if ours is not None:
                row = {"policy": policy, "slackness": slackness, **kit.cells(ours, "gain")}
                rows.append(row | {"thesis": load.find_thesis_gain(policy, slackness)})
    return _table("load_slackness_gains", load, rows)


def make_slackness_table(load: Load) -> Table | None:
    """Return a table of SLDwA by shrinking factor (lines) and slackness (columns)."""
    rows = []
    for policy, values in load.list_slacknesses():
        for shrink in load.list_factors():
            row: dict[str, Any] = {"policy": policy, "shrink": shrink}
            path = ("load_slackness", load.trace, _sorted(policy), format_factor(shrink))
            for value in values:
                ours = load.mean(policy, shrink, "SLDwA", value)
                row[f"{value:g}"] = None if ours is None else ours.value
                row[f"{value:g}, thesis"] = kit.in_column(PUBLISHED, path, value)
            rows.append(row)
    shown = [Column("policy"), Column("shrink", "factor", 1)]
    for value in sorted({value for _, values in load.list_slacknesses() for value in values}):
        shown.append(Column(f"{value:g}", f"{value:g} %", 2, "ours"))
        shown.append(Column(f"{value:g}, thesis", "thesis", 2, "published"))
    note = "Means over the sets without the best and the worst one."
    name = kit.slug("load_slackness", load.log)
    return kit.table(name, load.log, rows, kit.where_known(rows, shown), note)
