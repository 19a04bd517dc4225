"""The tables of the study: results and published numbers, with intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import nan
from typing import Any

import pandas as pd

from batsched_py.report import Table
from batsched_py.report.kit import Quantity, Runs, cells, columns, comparison_cells, find_published
from batsched_py.units import HOUR
from batsched_studies.creasy import PUBLISHED, TEXTS

EASY = 0
"""The alpha with which CREASY is EASY."""
MOST = 6000
"""The largest alpha of the paper."""
MORE = 90_000
"""15 times the paper's largest: criticality counts as at most 60 hours of seniority, not 4."""
QUANTITIES = (
    Quantity("throughput", "throughput_to_last_submission", "throughput (jobs/h)"),
    Quantity("utilisation", "utilisation_to_last_submission", "utilisation (%)", 100),
    Quantity("response", "mean_turnaround_time", "mean turnaround time (min)", 1 / 60),
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
    Quantity("continuation", "mean_continuation", "mean chance to go on (%)", 100),
    Quantity("slowdown_to_1_min", "mean_slowdown_to_1_min", "up to 1 min"),
    Quantity("slowdown_1_to_10_min", "mean_slowdown_1_to_10_min", "1 to 10 min"),
    Quantity("slowdown_over_10_min", "mean_slowdown_over_10_min", "over 10 min"),
    Quantity("late_throughput", "late_throughput", "throughput (jobs/h)"),
    Quantity("late_response", "late_turnaround_time", "mean turnaround time (min)", 1 / 60),
    Quantity("late_slowdown", "late_slowdown", "mean slowdown"),
)
TITLES = {quantity.name: quantity.title for quantity in QUANTITIES}
CLASSES = ("to_1_min", "1_to_10_min", "over_10_min")
PRINTED = ("throughput", "utilisation", "response", "slowdown", "session_length")


def read(frame: pd.DataFrame) -> Runs:
    """Read the runs of a campaign with the quantities of the study."""
    return Runs(frame, QUANTITIES)


def name_policy(alpha: Any) -> str:
    """Return the name of the policy with this alpha: ``EASY``, or ``CREASY ALPHA``."""
    return "EASY" if alpha == EASY else f"CREASY {alpha:g}"


def make_published_tables(runs: Runs) -> Iterator[Table | None]:
    """Yield tables that compare the results with the paper's, with 250 users."""
    of_250 = runs.where(nb_users=250)
    rows: list[dict[str, Any]] = []
    for name in (*PRINTED, "bounded_slowdown", "continuation"):
        numbers = [
            find_published(PUBLISHED, "at_250", name, alpha, otherwise=nan) for alpha in (0, MOST)
        ]
        change = 100 * (numbers[1] / numbers[0] - 1)
        rows += _rows(TITLES[name], name, of_250, (*numbers, change))
    yield TEXTS.table("comparison", rows, "at_250_users", title="250 users")
    rows = []
    for name in CLASSES if of_250.where(alpha=EASY) and of_250.where(alpha=MOST) else ():
        title = f"turnaround time (min), run time {TITLES[name]}"
        rows += _rows(title, name, of_250, (nan, nan, PUBLISHED["response_change"][name]))
    for name in CLASSES if rows else ():
        title = f"slowdown, run time {TITLES[name]}"
        rows += _rows(title, f"slowdown_{name}", of_250, (nan, nan, nan))
    yield TEXTS.table("comparison", rows, "by_run_time", title="250 users, by run time")


def _rows(title: str, name: str, runs: Runs, numbers: Sequence[float]) -> Iterator[dict[str, Any]]:
    """Yield a quantity under EASY and CREASY, and its changes, each with the paper's number.

    ``numbers`` are the paper's values under EASY, under CREASY 6000, and their change.
    """
    published = dict(zip((EASY, MOST), numbers, strict=False))
    easy = runs.where(alpha=EASY)
    for alpha in (EASY, MOST, MORE):
        if of_policy := runs.where(alpha=alpha):
            row = {"what": title, "system": name_policy(alpha)}
            row |= cells(of_policy.mean(name), nb="replications")
            yield row | comparison_cells(of_policy.values(name), published.get(alpha, nan))
    for alpha, number in ((MOST, numbers[-1]), (MORE, nan)):
        if easy and (creasy := runs.where(alpha=alpha)):
            row = {"what": title, "system": f"change, {name_policy(alpha)} (%)"}
            row |= cells(creasy.change(name, easy), nb="replications")
            yield row | {"published": number, "difference": nan, "z": nan}


def make_alpha_table(runs: Runs, name: str = "by_alpha", reading: str = "") -> Table | None:
    """Return a table of the changes of CREASY against EASY with 250 users, by alpha."""
    of_250, rows = runs.where(nb_users=250), []
    easy = of_250.where(alpha=EASY)
    for alpha, creasy in of_250.by("alpha").items() if easy else ():
        if alpha == EASY:
            continue
        row = {"alpha": alpha, **cells(creasy.change("throughput", easy), "gain", nb="n")}
        row["published"] = find_published(PUBLISHED, "throughput_gain", alpha, otherwise=nan)
        names = ("utilisation", "response", "slowdown", "session_length", *CLASSES)
        rows.append(row | {name: creasy.change(name, easy).value for name in names})
    return TEXTS.table("by_alpha", rows, name, reading=reading)


def make_late_table(runs: Runs) -> Table | None:
    """Return a table of CREASY's changes with 250 users, with and without the first four weeks."""
    of_250, rows = runs.where(nb_users=250), []
    easy = of_250.where(alpha=EASY)
    for alpha, creasy in of_250.by("alpha").items() if easy else ():
        for name in ("throughput", "response", "slowdown") if alpha != EASY else ():
            row = {"what": TITLES[name], "policy": name_policy(alpha)}
            row |= cells(creasy.change(name, easy))
            later = creasy.change(f"late_{name}", easy)
            rows.append(row | cells(later, "late", "late_low", "late_high", nb="n"))
    known = [row for row in rows if row["late"] == row["late"]]
    return TEXTS.table("late", known)


def make_user_table(runs: Runs) -> Table | None:
    """Return a table of the means of the quantities, for each alpha and number of users."""
    more = ("bounded_slowdown", "run_time", "area", "batch_width", "jobs", "continuation")
    names = (*PRINTED, *more)
    rows = []
    for alpha, of_alpha in runs.by("alpha").items():
        for users, of_case in of_alpha.by("nb_users").items():
            means = {name: of_case.mean(name).value for name in names}
            rows.append({"policy": name_policy(alpha), "users": users, **means})
    shown = columns("policy", "users", {name: TITLES[name] for name in names})
    return TEXTS.table("by_users", rows, columns=shown)
