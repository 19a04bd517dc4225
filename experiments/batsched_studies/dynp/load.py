"""More load: synthetic job sets at several shrinking factors (Tables 5.10 to 5.13, A.13 to A.18).

A number of the thesis is the mean over ten sets without the best and the worst one. Gains are
those of such means, (base - new) / base; points for UTIL, which is in per cent.
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
from batsched_studies.dynp.measures import policy_of, values_of

STATIC = ("fcfs", "sjf", "ljf")
BASES = {"sjf": "fcfs", "ljf": "fcfs", "advanced full": "sjf", "sjf-preferred full": "sjf"}
"""What each policy is compared with in Tables A.13 and A.15."""
PUBLISHED_JOBS = 10_000
UNSORTED = " (legacy)"
"""Ends the names of policies whose FCFS does not sort its list; the thesis has no such ones."""
GAIN: dict[str, Callable[[Any, Any], Any]] = {
    "SLDwA": lambda new, base: 100 * (base - new) / base,
    "UTIL": lambda new, base: new - base,
}
"""The gain by metric: per cent of the base, or points."""


@dataclass(frozen=True, eq=False)
class Load:
    """The synthetic job sets of a log under all policies, compared with the thesis."""

    log: str
    trace: str | None
    """The trace of the thesis; None if its sets were made otherwise."""
    runs: Runs
    """By ``policy`` (as in ``published.toml``), ``slackness``, ``shrink`` and replication, which is
    the set; SLDwA, and UTIL in per cent."""

    def factors(self) -> list[float]:
        """The shrinking factors that were run, from no to most load."""
        return sorted(self.runs.labels("shrink"), reverse=True)

    def policies(self) -> list[str]:
        """The policies that were run without slackness."""
        return self.runs.where(slackness=0).labels("policy")

    def slacknesses(self) -> Iterator[tuple[str, list[float]]]:
        """Yield each policy that was run with slackness, and its values of slackness."""
        for policy in self.runs.labels("policy"):
            values = self.runs.where(policy=policy).labels("slackness")
            if len(values) > 1:
                yield policy, sorted(values)

    def values(
        self, policy: str, shrink: float, metric: str, slackness: float = 0
    ) -> pd.Series[float]:
        """Return a metric by set of a policy at a factor; empty if that was not run."""
        runs = self.runs.where(policy=policy, shrink=shrink, slackness=slackness)
        values = runs.values(metric)
        return values[~values.index.duplicated()]

    def mean(
        self, policy: str, shrink: float, metric: str, slackness: float = 0
    ) -> Interval | None:
        """Return the trimmed mean with its interval; None if that was not run."""
        values = tuple(self.values(policy, shrink, metric, slackness))
        return _mean(values) if values else None

    def gain(
        self, policy: str, factors: Iterable[float], metric: str, slackness: float = 0
    ) -> Interval | None:
        """Return the mean gain of a policy on its base over factors, with its interval.

        None if one of them was not run. Sets are the sample, not single values: each set is a
        replication at all factors.
        """
        return _gain(self, policy, tuple(factors), metric, slackness)

    def average_gain(self, policy: str, slackness: float, metric: str) -> Interval | None:
        """Return the gain of a policy on its base, averaged over :meth:`common_factors`."""
        return self.gain(policy, self.common_factors(policy, slackness), metric, slackness)

    def common_factors(self, policy: str, slackness: float = 0) -> list[float]:
        """Return the shrinking factors at which both a policy and its base were run."""
        base = BASES.get(policy.removesuffix(UNSORTED), policy)
        there = (
            set(self.runs.where(policy=name, slackness=of_name).labels("shrink"))
            for name, of_name in ((policy, slackness), (base, 0))
        )
        return sorted(set.intersection(*there), reverse=True)

    def whole(self, policy: str, slackness: float = 0) -> bool:
        """Tell whether these are all factors of the thesis: else averages are others."""
        return set(self.common_factors(policy, slackness)) >= {1.0, 0.9, 0.8, 0.7, 0.6}

    def thesis(self, metric: str, shrink: float, policy: str) -> Any:
        """Return the level of a policy in Tables A.13 and A.15, None if there is none."""
        return kit.in_column(PUBLISHED, ("load", metric, self.trace, factor(shrink)), policy)

    def thesis_gain(self, policy: str, slackness: float) -> Any:
        """Return the average gain over SJF in Table 5.13; None if not all factors were run."""
        path = ("load_slackness_gains", self.trace, policy)
        return kit.in_column(PUBLISHED, path, slackness) if self.whole(policy, slackness) else None


def read_loads(results: CampaignResults) -> list[Load]:
    """Return the runs of synthetic sets by log."""
    rows = []
    for _, run in results.runs.iterrows():
        policy = policy_of(run)
        if policy is None or run["users"] != "synthetic" or policy.metric != "ARTwW":
            continue
        log, options = kit.log_name(run["log"]), kit.options_of(run, "user_options")
        name = policy.key + (UNSORTED if policy.legacy_fcfs_list_order else "")
        case = {"policy": name, "slackness": policy.slackness, "shrink": options.get("shrink", 1.0)}
        place = {"log": log, "trace": _trace(log, int(run["nb_res"]), options)}
        rows.append(place | case | {SEED: int(run.get(SEED, 0))} | values_of(run))
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


def trimmed(values: Any) -> float:
    """Return the mean without the best and the worst; of two values or one the mean."""
    return kit.trimmed_mean(values, 1 if len(values) > 2 else 0)


def trimmed_rows(array: Any) -> Any:
    """Return :func:`trimmed` of each row."""
    drop = 1 if array.shape[1] > 2 else 0
    return np.sort(array, axis=1)[:, drop : array.shape[1] - drop].mean(axis=1)


@lru_cache(4096)
def _mean(values: tuple[float, ...]) -> Interval:
    return kit.jackknife(values, trimmed)


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
        means = trimmed_rows(common[:, drawn.astype(int)])
        return float(how(means[: len(factors)], means[len(factors) :]).mean())

    return kit.jackknife(np.arange(common.shape[1]), statistic)


def factor(shrink: float) -> str:
    """Return a shrinking factor as ``published.toml`` has it."""
    return f"{shrink:g}" if shrink < 1 else "1.0"


AVERAGE = "average"
SETS = 10
"""Of so many sets are the thesis's means."""


def load_parts(loads: list[Load]) -> Iterator[tuple[str, Iterable[Table | None]]]:
    """Yield the titles of sections and their tables."""
    for make in (level_table, gain_table, slackness_gain_table, slackness_table):
        yield PUBLISHED["sections"][make.__name__], [make(load) for load in loads]


def _sorted(policy: str) -> str:
    """Return the policy without the list that FCFS does not sort: the thesis has no other."""
    return policy.removesuffix(UNSORTED)


def _estimate(metric: str, ours: Interval, thesis: float | None) -> dict[str, Any]:
    names = (metric, f"{metric}, low", f"{metric}, high")
    return kit.cells(ours, *names) | {f"{metric}, thesis": thesis}


def level_table(load: Load) -> Table | None:
    """Return SLDwA and UTIL of each policy at each factor."""
    rows: list[dict[str, Any]] = []
    marks = []
    for shrink in load.factors():
        for policy in load.policies():
            row: dict[str, Any] = {"shrink": shrink, "policy": policy}
            for metric in ("SLDwA", "UTIL"):
                ours = load.mean(policy, shrink, metric)
                if ours is None:
                    continue
                thesis = load.thesis(metric, shrink, _sorted(policy))
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


def gain_table(load: Load) -> Table | None:
    """Return the gain of each policy on its base, by factor and averaged."""
    rows = []
    for policy in load.policies():
        base = BASES.get(_sorted(policy))
        factors: list[float | str] = [*load.factors(), AVERAGE]
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
        ours = load.average_gain(policy, 0, metric) if load.whole(policy) else None
        thesis = kit.in_column(PUBLISHED, ("load_gains", metric, load.trace), name)
    else:
        ours = load.gain(policy, [shrink], metric)
        new, old = (load.thesis(metric, shrink, each) for each in (name, base))
        thesis = None if new is None or old is None else GAIN[metric](new, old)
    return {} if ours is None else _estimate(metric, ours, thesis)


def slackness_gain_table(load: Load) -> Table | None:
    """Return the average gain over SJF by slackness; of the factors that were run."""
    rows = []
    for policy, values in load.slacknesses():
        for slackness in values:
            ours = load.average_gain(policy, slackness, "SLDwA")
            if ours is not None:
                row = {"policy": policy, "slackness": slackness, **kit.cells(ours, "gain")}
                rows.append(row | {"thesis": load.thesis_gain(policy, slackness)})
    return _table("load_slackness_gains", load, rows)


def slackness_table(load: Load) -> Table | None:
    """Return SLDwA by factor (lines) and slackness (columns)."""
    rows = []
    for policy, values in load.slacknesses():
        for shrink in load.factors():
            row: dict[str, Any] = {"policy": policy, "shrink": shrink}
            path = ("load_slackness", load.trace, _sorted(policy), factor(shrink))
            for value in values:
                ours = load.mean(policy, shrink, "SLDwA", value)
                row[f"{value:g}"] = None if ours is None else ours.value
                row[f"{value:g}, thesis"] = kit.in_column(PUBLISHED, path, value)
            rows.append(row)
    shown = [Column("policy"), Column("shrink", "factor", 1)]
    for value in sorted({value for _, values in load.slacknesses() for value in values}):
        shown.append(Column(f"{value:g}", f"{value:g} %", 2, "ours"))
        shown.append(Column(f"{value:g}, thesis", "thesis", 2, "published"))
    note = "Means over the sets without the best and the worst one."
    name = kit.slug("load_slackness", load.log)
    return kit.table(name, load.log, rows, kit.where_known(rows, shown), note)
