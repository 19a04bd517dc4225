"""The tables of the study: ours beside the published, with bootstrap intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any

import pandas as pd

from batsched_py.report import Column, Table
from batsched_py.support.statistics import Interval, beside, bootstrap, paired_ratio

EASY = 0
"""The alpha with which CREASY is EASY."""
MOST = 6000
"""The largest alpha of the paper."""


@dataclass(frozen=True)
class Quantity:
    """A number of a run: the column that has it, and the unit in which the paper prints it."""

    name: str
    """In ``published.toml``."""
    column: str
    title: str
    scale: float = 1.0
    """Units of the paper in one SI unit."""


QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("throughput", "throughput_to_last_submission", "throughput (jobs/h)"),
        Quantity("utilisation", "utilisation_to_last_submission", "utilisation (%)", 100),
        Quantity("response", "mean_turnaround_time", "mean response (min)", 1 / 60),
        Quantity("slowdown", "mean_slowdown", "mean slowdown"),
        Quantity("bounded_slowdown", "mean_bounded_slowdown", "mean bounded slowdown (10 s)"),
        Quantity("session_length", "jobs_per_session_think_20", "jobs per session"),
        Quantity("to_1_min", "mean_turnaround_time_to_1_min", "up to 1 min", 1 / 60),
        Quantity("1_to_10_min", "mean_turnaround_time_1_to_10_min", "1 to 10 min", 1 / 60),
        Quantity("over_10_min", "mean_turnaround_time_over_10_min", "over 10 min", 1 / 60),
        Quantity("run_time", "mean_run_time", "mean run time (min)", 1 / 60),
        Quantity("area", "mean_area", "mean area (processor h)", 1 / 3600),
        Quantity("batch_width", "mean_batch_width", "jobs per batch"),
        Quantity("jobs", "mean_jobs_in_system", "jobs waiting or running"),
    )
}
CLASSES = ("to_1_min", "1_to_10_min", "over_10_min")
PRINTED = ("throughput", "utilisation", "response", "slowdown", "session_length")


class Runs:
    """The runs of a campaign of the study, by their labels."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def __bool__(self) -> bool:
        return not self.frame.empty

    def where(self, **labels: Any) -> Runs:
        """Return the runs that have all these labels."""
        frame = self.frame
        for name, value in labels.items():
            frame = frame[frame[name] == value] if name in frame else frame.iloc[:0]
        return Runs(frame)

    def labels(self, name: str) -> list[Any]:
        """Return the values of a label in the order in which they come; none if there is none."""
        return list(self.frame[name].unique()) if name in self.frame else []

    def values(self, name: str) -> pd.Series:
        """Return a quantity by replication, in the paper's unit; empty if it was not measured."""
        quantity = QUANTITIES[name]
        if quantity.column not in self.frame:
            return pd.Series(dtype=float)
        column = self.frame.set_index("replication")[quantity.column]
        return column.sort_index().astype(float) * quantity.scale

    def mean(self, name: str) -> Interval:
        """Return the mean over the replications with its bootstrap interval."""
        return bootstrap(self.values(name))

    def change(self, name: str, base: Runs) -> Interval:
        """Return by how many per cent a quantity differs from ``base``, paired by seed."""
        both = pd.concat([self.values(name), base.values(name)], axis=1, join="inner")
        ratio = paired_ratio(both.iloc[:, 0], both.iloc[:, 1])
        percent = [100 * (value - 1) for value in (ratio.value, ratio.low, ratio.high)]
        return Interval(*percent, ratio.nb)


def system(alpha: Any) -> str:
    """Return the name of the policy with this alpha."""
    return "EASY" if alpha == EASY else f"CREASY {alpha:g}"


def at_250(runs: Runs, published: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the paper's numbers at 250 users, and by class of run time, beside ours."""
    easy, most = (runs.where(nb_users=250, alpha=alpha) for alpha in (EASY, MOST))
    rows: list[dict[str, Any]] = []
    for name in (*PRINTED, "bounded_slowdown"):
        printed = published["at_250"].get(name, {})
        numbers = [printed.get(str(alpha), nan) for alpha in (EASY, MOST)]
        title = QUANTITIES[name].title
        for alpha, own, number in zip((EASY, MOST), (easy, most), numbers, strict=True):
            if own:
                rows.append(_beside(title, system(alpha), own.values(name), number))
        if easy and most:
            number = 100 * (numbers[1] / numbers[0] - 1)
            rows.append(_changed(title, most.change(name, easy), number))
    if rows:
        yield _comparison("at_250_users", "250 users", rows)
    if easy and most:
        yield _by_class(easy, most, published)


def _by_class(easy: Runs, most: Runs, published: Mapping[str, Any]) -> Table:
    rows: list[dict[str, Any]] = []
    for name in CLASSES:
        title = f"response (min), run time {QUANTITIES[name].title}"
        for alpha, own in ((EASY, easy), (MOST, most)):
            rows.append(_beside(title, system(alpha), own.values(name), nan))
        rows.append(_changed(title, most.change(name, easy), published["response_change"][name]))
    return _comparison("by_run_time", "250 users, by run time", rows)


def _beside(title: str, who: str, values: pd.Series, number: float) -> dict[str, Any]:
    mean, both = bootstrap(values), beside(values, number)
    return {
        "what": title,
        "system": who,
        "ours": mean.value,
        "low": mean.low,
        "high": mean.high,
        "replications": mean.nb,
        "published": number,
        "difference": 100 * both.difference,
        "spreads": both.spreads,
    }


def _changed(title: str, change: Interval, number: float) -> dict[str, Any]:
    return {
        "what": title,
        "system": "change (%)",
        "ours": change.value,
        "low": change.low,
        "high": change.high,
        "replications": change.nb,
        "published": number,
        "difference": nan,
        "spreads": nan,
    }


def _comparison(name: str, title: str, rows: list[dict[str, Any]]) -> Table:
    return Table(
        name,
        title,
        pd.DataFrame(rows),
        (
            Column("what", "mean of the replications"),
            Column("system", "policy"),
            Column("ours", "ours", kind="ours"),
            Column("low", "from", kind="ours"),
            Column("high", "to", kind="ours"),
            Column("published", "paper", kind="published"),
            Column("difference", "difference (%)", 0, kind="difference"),
            Column("spreads", "in spreads", 1, kind="difference"),
        ),
        "*From*, *to*: 95 % bootstrap interval over replications, of changes over pairs of equal "
        "seeds. *In spreads*: the published number's distance from our median, in halves of the "
        "range that holds 95 % of the replications.",
    )


def by_alpha(runs: Runs, published: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the change against EASY with 250 users by alpha."""
    easy, rows = runs.where(nb_users=250, alpha=EASY), []
    for alpha in sorted(runs.labels("alpha")):
        own = runs.where(nb_users=250, alpha=alpha)
        if alpha == EASY or not own or not easy:
            continue
        gain = own.change("throughput", easy)
        row = {"alpha": alpha, "gain": gain.value, "low": gain.low, "high": gain.high}
        row["published"] = published["throughput_gain"].get(str(alpha), nan)
        for name in ("response", "slowdown", "session_length"):
            row[name] = own.change(name, easy).value
        rows.append(row)
    if rows:
        yield Table(
            "by_alpha",
            "Change against EASY with 250 users, by alpha (%)",
            pd.DataFrame(rows),
            (
                Column("alpha"),
                Column("gain", "throughput", 1, kind="ours"),
                Column("low", "from", 1, kind="ours"),
                Column("high", "to", 1, kind="ours"),
                Column("published", "throughput, paper", kind="published"),
                Column("response", "response", 1),
                Column("slowdown", "slowdown", 1),
                Column("session_length", "jobs per session", 1),
            ),
            "Means over the replications, paired by seed.",
        )


def by_users(runs: Runs) -> Iterator[Table]:
    """Yield the means of all combinations of alpha and users."""
    names = (*PRINTED, "bounded_slowdown", "run_time", "area", "batch_width", "jobs")
    rows = []
    for alpha in sorted(runs.labels("alpha")):
        for users in sorted(runs.labels("nb_users")):
            own = runs.where(alpha=alpha, nb_users=users)
            if own:
                means = {name: own.mean(name).value for name in names}
                rows.append({"policy": system(alpha), "users": users, **means})
    if rows:
        columns = [Column(name, QUANTITIES[name].title) for name in names]
        yield Table(
            "by_users",
            "All policies and numbers of users",
            pd.DataFrame(rows),
            (Column("policy"), Column("users"), *columns),
            "Means over the replications.",
        )
