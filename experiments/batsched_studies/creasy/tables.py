"""The tables of the study: ours beside the published, with bootstrap intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import nan
from typing import Any

import pandas as pd

from batsched_py.report import Column, Table
from batsched_py.report.kit.beside_published import compared, printed
from batsched_py.report.kit.estimates import cells
from batsched_py.report.kit.selection import Quantity, Runs
from batsched_py.report.kit.tables import columns, table
from batsched_py.support.statistics import Interval
from batsched_py.units import HOUR
from batsched_studies.creasy.texts import TEXTS

EASY = 0
"""The alpha with which CREASY is EASY."""
MOST = 6000
"""The largest alpha of the paper."""
QUANTITIES = (
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
    Quantity("area", "mean_area", "mean area (processor h)", 1 / HOUR),
    Quantity("batch_width", "mean_batch_width", "jobs per batch"),
    Quantity("jobs", "mean_jobs_in_system", "jobs waiting or running"),
)
TITLES = {quantity.name: quantity.title for quantity in QUANTITIES}
CLASSES = ("to_1_min", "1_to_10_min", "over_10_min")
PRINTED = ("throughput", "utilisation", "response", "slowdown", "session_length")


def read(frame: pd.DataFrame) -> Runs:
    """Return the runs of a campaign of the study."""
    return Runs(frame, QUANTITIES)


def system(alpha: Any) -> str:
    """Return the name of the policy with this alpha."""
    return "EASY" if alpha == EASY else f"CREASY {alpha:g}"


def at_250(runs: Runs, published: Mapping[str, Any]) -> Iterator[Table | None]:
    """Yield the paper's numbers at 250 users, and by class of run time, beside ours."""
    easy, most = (runs.where(nb_users=250, alpha=alpha) for alpha in (EASY, MOST))
    rows: list[dict[str, Any]] = []
    for name in (*PRINTED, "bounded_slowdown"):
        numbers = [printed(published, "at_250", name, alpha, otherwise=nan) for alpha in (0, MOST)]
        for alpha, own, number in zip((EASY, MOST), (easy, most), numbers, strict=True):
            if own:
                rows.append(_row(TITLES[name], alpha, own.values(name), own.mean(name), number))
        if easy and most:
            number = 100 * (numbers[1] / numbers[0] - 1)
            rows.append(_changed(TITLES[name], most.change(name, easy), number))
    yield _comparison("at_250_users", "250 users", rows)
    rows = []
    for name in CLASSES if easy and most else ():
        title = f"response (min), run time {TITLES[name]}"
        for alpha, own in ((EASY, easy), (MOST, most)):
            rows.append(_row(title, alpha, own.values(name), own.mean(name), nan))
        rows.append(_changed(title, most.change(name, easy), published["response_change"][name]))
    yield _comparison("by_run_time", "250 users, by run time", rows)


def _row(
    title: str, alpha: int, values: pd.Series[float], mean: Interval, number: float
) -> dict[str, Any]:
    row = {"what": title, "system": system(alpha), **cells(mean, nb="replications")}
    return row | compared(values, number)


def _changed(title: str, change: Interval, number: float) -> dict[str, Any]:
    row = {"what": title, "system": "change (%)", **cells(change, nb="replications")}
    return row | {"published": number, "difference": nan, "spreads": nan}


def _comparison(name: str, title: str, rows: list[dict[str, Any]]) -> Table | None:
    shown = (
        *columns(what="mean of the replications", system="policy"),
        *columns("ours", kind="ours", low="from", high="to"),
        Column("published", "paper", kind="published"),
        Column("difference", "difference (%)", 0, kind="difference"),
        Column("spreads", "in spreads", 1, kind="difference"),
    )
    return table(name, title, rows, shown, TEXTS["comparison"])


def by_alpha(runs: Runs, published: Mapping[str, Any]) -> Table | None:
    """Return the change against EASY with 250 users by alpha."""
    easy, rows = runs.where(nb_users=250, alpha=EASY), []
    for alpha in sorted(runs.labels("alpha")):
        own = runs.where(nb_users=250, alpha=alpha)
        if alpha == EASY or not own or not easy:
            continue
        row = {"alpha": alpha, **cells(own.change("throughput", easy), "gain")}
        row["published"] = printed(published, "throughput_gain", alpha, otherwise=nan)
        names = ("response", "slowdown", "session_length")
        rows.append(row | {name: own.change(name, easy).value for name in names})
    shown = (
        *columns("alpha"),
        *columns(decimals=1, kind="ours", gain="throughput", low="from", high="to"),
        Column("published", "throughput, paper", kind="published"),
        *columns("response", "slowdown", decimals=1, session_length="jobs per session"),
    )
    title = "Change against EASY with 250 users, by alpha (%)"
    return table("by_alpha", title, rows, shown, "Means over the replications, paired by seed.")


def by_users(runs: Runs) -> Table | None:
    """Return the means of all combinations of alpha and users."""
    names = (*PRINTED, "bounded_slowdown", "run_time", "area", "batch_width", "jobs")
    rows = []
    for alpha in sorted(runs.labels("alpha")):
        for users in sorted(runs.labels("nb_users")):
            if own := runs.where(alpha=alpha, nb_users=users):
                means = {name: own.mean(name).value for name in names}
                rows.append({"policy": system(alpha), "users": users, **means})
    shown = columns("policy", "users", {name: TITLES[name] for name in names})
    title = "All policies and numbers of users"
    return table("by_users", title, rows, shown, "Means over the replications.")
