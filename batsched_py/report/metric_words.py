"""Chooses the metrics of a report, with words and readable units for them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import nan
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from batsched_py.metrics import METRICS
from batsched_py.model.user_model import any_reacts
from batsched_py.plugins.plugins import RIGID
from batsched_py.report.document import Column, Table
from batsched_py.report.formatting import is_nothing, to_words
from batsched_py.report.kit.tables import table
from batsched_py.units import SYMBOLS, UNITS, choose_unit

DEFAULT = "mean_waiting_time"
"""The main metric of a campaign that names none."""
MAIN = (DEFAULT, "mean_bounded_slowdown", "max_waiting_time", "utilisation")
"""In the matrix of policies and metrics, drawn, and in the table of runs."""
OF_REACTING_USERS = ("mean_lateness", "throughput_per_hour")
"""Beside waiting times where users react: see :data:`REACTING`."""
FURTHER = (
    *("mean_turnaround_time", "mean_queue_length", "mean_slowdown_by_area"),
    *(
        "loss_of_capacity",
        "makespan",
        "throughput_per_hour",
        "jobs_per_session_think_20",
        "mean_activity_length",
    ),
    *("multi_site_job_share", "multi_site_area_share", "away_area_share"),
)
_MISLEADS = (
    "a mean wait alone misleads: who waits longer submits the next job later, which makes the "
    "queue shorter. Read it together with lateness (how much later than recorded jobs are "
    "submitted; negative: earlier) and throughput."
)
REACTING = {
    True: f"these users react, so {_MISLEADS}",
    None: "whether these users react is not known, as their model does not declare `reacts`. "
    f"Where users react, {_MISLEADS}",
}
"""How to read waiting times if users react (True), or if that is not known (None)."""
_WORDS = {
    "mean_waiting_time": ("mean wait", "From submission to start, mean over jobs. Less is better."),
    "max_waiting_time": ("longest wait", "From submission to start, the longest of all jobs."),
    "mean_turnaround_time": (
        "mean response time",
        "From submission to end (waiting and running), mean over jobs.",
    ),
    "mean_bounded_slowdown": (
        "mean bounded slowdown",
        "How many times longer than its run a job takes with its wait, mean over jobs; runs below "
        "10 s count as 10 s. 1: nobody waits. Less is better; short jobs that wait dominate it.",
    ),
    "mean_slowdown_by_area": (
        "slowdown by work",
        "Response time over run time, where a job counts by its processors and its run time.",
    ),
    "utilisation": (
        "utilisation",
        "Share of the processors that is busy, mean from the first submission to the last end.",
    ),
    "loss_of_capacity": (
        "loss of capacity",
        "Share of the processors that is idle while jobs wait, mean over time. Less is better.",
    ),
    "throughput_per_hour": (
        "throughput",
        "Jobs that ran, by hour between the first submission and the last end.",
    ),
    "makespan": ("makespan", "From the first submission to the last end."),
    "mean_queue_length": ("mean queue length", "Jobs that wait, mean over time."),
    "mean_lateness": (
        "mean lateness",
        "Submission in the simulation less the recorded one, mean over jobs; negative: earlier.",
    ),
    "jobs_per_session_think_20": (
        "jobs per session",
        "Jobs that a user submits without a break of more than 20 min after the last one's end.",
    ),
    "mean_activity_length": (
        "mean activity",
        "From a user's first to the last submission, mean over users.",
    ),
}
"""By name: what it is called on the page, and what it is in a sentence."""
_SYMBOLS = {
    "a": "submission of a job",
    "s": "its start",
    "f": "its end",
    "p": "its run time, f \N{MINUS SIGN} s",
    "r": "its response time, f \N{MINUS SIGN} a",
    "w": "its processors",
    "l": "its lateness",
    "N": "processors of the machine",
    "t_k": "the instants at which something changes",
    "f_k": "processors that are free from then on",
    "d_k": "1 if jobs wait then, else 0",
}


class ShownMetric(msgspec.Struct, frozen=True):
    """A metric with the title and the unit that a page shows."""

    name: str
    """The column in the table of runs, which is in SI units."""
    title: str
    unit: str = ""
    scale: float = 1.0
    """SI units in one of the page."""
    decimals: int | None = None
    """Digits after the point, None for four significant digits."""

    @property
    def heading(self) -> str:
        """The title of the metric with its unit."""
        return f"{self.title} [{self.unit}]" if self.unit else self.title

    @property
    def is_difference(self) -> bool:
        """Whether changes are shown in its unit, not relative, as its values may be negative."""
        return self.name == "mean_lateness"


def choose_metrics(runs: pd.DataFrame, names: Iterable[str]) -> list[ShownMetric]:
    """Return the metrics of ``names`` that any run has, each in a readable unit."""
    return [
        _shown(name, runs[name].astype(float))
        for name in dict.fromkeys(names)
        if name in runs and bool(runs[name].notna().any())
    ]


def choose_main_metrics(main: str | None, reacting: bool | None) -> list[str]:
    """Return the names of the metrics in a matrix, the main one first.

    ``reacting`` is whether its users react, None if that is not known.
    """
    of_users = () if reacting is False else OF_REACTING_USERS
    first = main or DEFAULT
    beside = (DEFAULT, *of_users) if first == DEFAULT or of_users else ()
    return list(dict.fromkeys((first, *beside, *MAIN)))


def list_user_models(runs: pd.DataFrame) -> list[str]:
    """Return the names of the user models of the runs."""
    return [str(name) for name in runs["users"].unique()] if "users" in runs else []


def list_reactions(runs: pd.DataFrame) -> pd.Series[Any]:
    """Return for each run whether its users react to the schedule, None if that is unknown.

    Rigid replay does not, nor do runs that have no users at all.
    """
    names = runs.get("users", pd.Series(RIGID, runs.index))
    declared = runs.get("users_react", pd.Series(None, runs.index, dtype=object))
    known = [
        False if name == RIGID else None if is_nothing(of_run) else bool(of_run)
        for name, of_run in zip(names, declared, strict=True)
    ]
    return pd.Series(known, runs.index, dtype=object)


def find_reaction(runs: pd.DataFrame) -> bool | None:
    """Return whether the users of any run react to the schedule, None if that is unknown."""
    return any_reacts(list_reactions(runs))


def _shown(name: str, values: pd.Series[float]) -> ShownMetric:
    title, _ = _WORDS.get(name, (to_words(name), ""))
    unit = METRICS[name].unit if name in METRICS else ""
    if unit == "s":
        scale, unit = choose_time_unit(values)
        return ShownMetric(name, title, unit, scale)
    if name in ("utilisation", "loss_of_capacity") or name.endswith("_share"):
        return ShownMetric(name, title, "%", 0.01, 1)
    return ShownMetric(name, title, "" if unit == "1" else unit)


def choose_time_unit(seconds: ArrayLike) -> tuple[float, str]:
    """Return a readable unit for times in ``seconds``: its length in seconds and its symbol."""
    sizes = np.abs(np.asarray(seconds, dtype=float))
    sizes = sizes[sizes > 0]  # without what is unknown, too
    of_time = choose_unit(float(np.median(sizes)) if len(sizes) else nan)
    return UNITS[of_time], SYMBOLS[of_time]


def make_glossary(
    metrics: Iterable[ShownMetric], where: str = "its column in results.csv"
) -> Table | None:
    """Return a table of metrics: name, meaning, formula and unit.

    ``where`` says which file has the name of a metric, and further ones.
    """
    rows = []
    for metric in metrics:
        registered = METRICS.get(metric.name)
        _, words = _WORDS.get(metric.name, ("", ""))
        rows.append(
            {
                "metric": metric.heading,
                "meaning": words,
                "formula": registered.formula if registered else "what the campaign measures",
                "column": metric.name,
            }
        )
    there = [
        f"*{symbol}* {meaning}"
        for symbol, meaning in _SYMBOLS.items()
        if any(re.search(rf"(?<![\w+]){symbol}(?![\w'])", row["formula"]) for row in rows)
    ]
    columns = (
        Column("metric", below="column"),
        *(Column("meaning", "in words"), Column("formula")),
    )
    note = f"In the formulas: {', '.join(there)}; *sum* is over the jobs.\n\n" if there else ""
    note += "Jobs that were rejected count for lateness and sessions only. "
    note += f"Below a name: {where}, which has times in seconds, shares as "
    note += "numbers from 0 to 1, and further metrics."
    return table("metrics", "The metrics of this page", rows, columns, note)
