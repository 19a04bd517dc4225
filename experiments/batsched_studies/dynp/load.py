"""More load: synthetic job sets at several shrinking factors (Tables 5.10 to 5.13, A.13 to A.18).

A number of the thesis is the mean over ten sets without the best and the worst one. Gains are
those of such means, (base - new) / base; points for UTIL, which is in per cent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from batsched_py.report.kit.beside_published import in_column
from batsched_py.report.kit.selection import log_name
from batsched_py.support.statistics import Interval, bootstrap, trimmed_mean
from batsched_studies.dynp import PUBLISHED
from batsched_studies.dynp.measures import options_of, policy_of, values_of

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults

STATIC = ("fcfs", "sjf", "ljf")
BASES = {"sjf": "fcfs", "ljf": "fcfs", "advanced full": "sjf", "sjf-preferred full": "sjf"}
"""What each policy is compared with in Tables A.13 and A.15."""
PUBLISHED_JOBS = 10_000
RESAMPLES = 500

Values = dict[str, dict[int, float]]


@dataclass(frozen=True)
class LoadCase:
    """The job sets of a log at one factor under one policy, without slackness or with."""

    policy: str
    """As in ``published.toml``; with ``(legacy)`` for the list that FCFS does not sort."""
    slackness: float
    shrink: float


@dataclass(eq=False)
class Load:
    """The runs of the synthetic sets of a log."""

    log: str
    trace: str | None
    """The trace of the thesis; None if its sets were made otherwise."""
    cells: dict[LoadCase, Values] = field(default_factory=dict)
    """Per cell and metric (SLDwA, UTIL in per cent) the value of each set."""

    def factors(self) -> list[float]:
        """The shrinking factors that were run, from no to most load."""
        return sorted({cell.shrink for cell in self.cells}, reverse=True)

    def policies(self) -> list[str]:
        """The policies that were run without slackness."""
        return list(dict.fromkeys(cell.policy for cell in self.cells if not cell.slackness))

    def value(self, cell: LoadCase, metric: str) -> Interval | None:
        """Return the trimmed mean of a cell with its bootstrap interval; None if not run."""
        values = tuple(self.cells.get(cell, {}).get(metric, {}).values())
        return _mean(values) if values else None

    def gain(self, cell: LoadCase, base: LoadCase, metric: str) -> Interval | None:
        """Return the gain of a cell on another one, over the sets that both have."""
        return mean_gain(self, ((cell, base),), metric)


def read_loads(results: CampaignResults) -> list[Load]:
    """Return the runs of synthetic sets by log."""
    loads: dict[tuple[str, str | None], Load] = {}
    for _, run in results.runs.iterrows():
        policy = policy_of(run)
        if policy is None or run["users"] != "synthetic" or policy.metric != "ARTwW":
            continue
        log, options = log_name(run["log"]), options_of(run, "user_options")
        trace = _trace(log, int(run["nb_res"]), options)
        load = loads.setdefault((log, trace), Load(log, trace))
        name = policy.key + (" (legacy)" if policy.legacy_fcfs_list_order else "")
        cell = LoadCase(name, policy.slackness, options.get("shrink", 1.0))
        values = load.cells.setdefault(cell, {"SLDwA": {}, "UTIL": {}})
        for metric, by_set in values.items():
            by_set[int(run.get("replication", 0))] = values_of(run)[metric]
    return list(loads.values())


def _trace(log: str, nodes: int, options: Mapping[str, Any]) -> str | None:
    trace: str | None = PUBLISHED["logs"].get(log)
    if trace is None or PUBLISHED["traces"][trace]["nodes"] != nodes:
        return None
    as_published = options.get("arrivals") in ("thesis", trace) and "alpha" not in options
    return trace if as_published and options.get("jobs", PUBLISHED_JOBS) == PUBLISHED_JOBS else None


def trimmed(values: Any) -> float:
    """Return the mean without the best and the worst; of two values or one the mean."""
    return trimmed_mean(values, 1 if len(values) > 2 else 0)


def trimmed_rows(array: Any) -> Any:
    """Return :func:`trimmed` of each row."""
    drop = 1 if array.shape[1] > 2 else 0
    return np.sort(array, axis=1)[:, drop : array.shape[1] - drop].mean(axis=1)


@cache  # tables, figures and verdicts ask for the same
def _mean(values: tuple[float, ...]) -> Interval:
    return bootstrap(values, trimmed, resamples=RESAMPLES)


@cache
def mean_gain(
    load: Load, pairs: tuple[tuple[LoadCase, LoadCase], ...], metric: str
) -> Interval | None:
    """Return the mean gain over pairs of a cell and its base, with its bootstrap interval.

    Sets are drawn anew, not single values: each set is a replication of all cells.
    """
    cells = [load.cells.get(cell, {}).get(metric, {}) for pair in pairs for cell in pair]
    if not cells or not all(cells):
        return None
    common = sorted(set.intersection(*map(set, cells)))
    if not common:
        return None
    array = np.array([[by_set[number] for number in common] for by_set in cells])
    how = GAIN[metric]

    def statistic(drawn: Any) -> float:
        means = trimmed_rows(array[:, drawn.astype(int)])
        return float(how(means[::2], means[1::2]).mean())

    return bootstrap(np.arange(len(common)), statistic, resamples=RESAMPLES)


GAIN: dict[str, Callable[[Any, Any], Any]] = {
    "SLDwA": lambda new, base: 100 * (base - new) / base,
    "UTIL": lambda new, base: new - base,
}
"""The gain by metric: per cent of the base, or points."""


def average_gain(load: Load, policy: str, slackness: float, metric: str) -> Interval | None:
    """Return the gain of a policy on its base, averaged over :func:`common_factors`."""
    base = BASES.get(policy.removesuffix(" (legacy)"))
    if base is None:
        return None
    factors = common_factors(load, policy, slackness)
    pairs = ((LoadCase(policy, slackness, f), LoadCase(base, 0, f)) for f in factors)
    return mean_gain(load, tuple(pairs), metric)


def common_factors(load: Load, policy: str, slackness: float = 0) -> list[float]:
    """Return the shrinking factors at which both a policy and its base were run."""
    base = BASES.get(policy.removesuffix(" (legacy)"), policy)
    return [
        f
        for f in load.factors()
        if {LoadCase(policy, slackness, f), LoadCase(base, 0, f)} <= set(load.cells)
    ]


def whole(load: Load, policy: str, slackness: float = 0) -> bool:
    """Tell whether these are all factors of the thesis: else averages are others."""
    return set(common_factors(load, policy, slackness)) >= {1.0, 0.9, 0.8, 0.7, 0.6}


def of_load(load: Load, metric: str, shrink: float, policy: str) -> Any:
    """Return the level of a policy at a factor in Tables A.13 and A.15, None if there is none."""
    return in_column(PUBLISHED, ("load", metric, load.trace, factor(shrink)), policy)


def factor(shrink: float) -> str:
    """Return a shrinking factor as ``published.toml`` has it."""
    return f"{shrink:g}" if shrink < 1 else "1.0"


def of_gain(load: Load, policy: str, slackness: float) -> Any:
    """Return the average gain over SJF in Table 5.13; None if not all its factors were run."""
    path = ("load_slackness_gains", load.trace, policy)
    return in_column(PUBLISHED, path, slackness) if whole(load, policy, slackness) else None


def slacknesses(load: Load) -> Iterator[tuple[str, list[float]]]:
    """Yield each policy that was run with slackness, and its values of slackness."""
    by_policy: dict[str, set[float]] = {}
    for cell in load.cells:
        by_policy.setdefault(cell.policy, set()).add(cell.slackness)
    for policy, values in by_policy.items():
        if len(values) > 1:
            yield policy, sorted(values)
