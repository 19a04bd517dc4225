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
from batsched_py.units import SYMBOLS as TIME_SYMBOLS
from batsched_py.units import UNITS, choose_unit

DEFAULT = "mean_waiting_time"
"""The main metric of a campaign that names none."""
MAIN = (DEFAULT, "mean_bounded_slowdown", "max_waiting_time", "utilisation")
"""The metrics of the answer, the figures, the main table and the table of runs."""
OF_REACTING_USERS = ("mean_lateness", "throughput_per_hour")
"""Metrics to read together with waiting times if users react: see :data:`REACTING`."""
OF_WITHDRAWALS = ("withdrawn_share", "utilisation", "restricted_mean_wait")
"""Metrics to read together with waiting times if users withdraw jobs: see :data:`LEAVING`."""
LEAVING = (
    "**Users withdraw jobs, and waits are short where users leave.** Waiting times and slowdowns "
    "are of the jobs that ran. Read them together with the share of withdrawn jobs and the "
    "utilisation (the work done). The Kaplan-Meier wait counts the waits of withdrawn jobs too."
)
FURTHER = (
    *("mean_turnaround_time", "mean_queue_length", "mean_slowdown_by_area"),
    *("loss_of_capacity", "makespan", "throughput_per_hour"),
    *("jobs_per_session_think_20", "mean_activity_length"),
    *("multi_site_job_share", "multi_site_area_share", "away_area_share"),
    *("withdrawn_work_share", "withdrawn_wait_share", "mean_waiting_time_of_withdrawn"),
    *("mean_waiting_time_of_all", "deadline_met_share"),
    *("energy", "energy_saved_share", "mean_waking"),
)
_MISLEADS = (
    "their mean waiting time alone misleads. Users who wait longer submit later, and so shorten "
    "the queue. Read it together with the lateness (the delay of submissions against the log; "
    "negative: earlier) and the throughput."
)
REACTING = {
    True: f"these users react to the schedule, so {_MISLEADS}",
    None: "this user model does not declare whether its users react to the schedule (`reacts`). "
    f"If they do, {_MISLEADS}",
}
"""How to interpret waiting times if users react (True), or if that is unknown (None)."""
_WORDS = {
    "mean_waiting_time": ("mean waiting time", "From submission to start, mean over jobs."),
    "max_waiting_time": ("max waiting time", "From submission to start, the longest of all jobs."),
    "mean_turnaround_time": (
        "mean turnaround time",
        "From submission to end (waiting and running), mean over jobs.",
    ),
    "mean_bounded_slowdown": (
        "mean bounded slowdown",
        "Turnaround time divided by run time, mean over jobs; run times below 10 s count as 10 s. "
        "1: no job waits. Short jobs that wait dominate it.",
    ),
    "mean_slowdown_by_area": (
        "mean slowdown by area",
        "Turnaround time divided by run time; mean over jobs weighted by area (processors "
        "times run time).",
    ),
    "utilisation": (
        "utilisation",
        "Share of busy processors, mean from the first submission to the last end.",
    ),
    "loss_of_capacity": (
        "loss of capacity",
        "Share of processors that are idle while jobs wait, mean over time.",
    ),
    "throughput_per_hour": (
        "throughput",
        "Jobs that ran, per hour between the first submission and the last end.",
    ),
    "makespan": ("makespan", "From the first submission to the last end."),
    "mean_queue_length": ("mean queue length", "Waiting jobs, mean over time."),
    "mean_lateness": (
        "mean lateness",
        "Simulated minus recorded submission time, mean over jobs; negative: earlier.",
    ),
    "jobs_per_session_think_20": (
        "jobs per session (20 min)",
        "Jobs that a user submits within 20 min after the end of their previous job, "
        "whatever sessions the user model has.",
    ),
    "mean_activity_length": (
        "mean activity length",
        "From a user's first to last submission, mean over users.",
    ),
    "withdrawn_share": (
        "jobs withdrawn",
        "Jobs that their users withdrew before the start, as a share of all submitted jobs.",
    ),
    "withdrawn_work_share": (
        "work withdrawn",
        "Processors times walltime of the withdrawn jobs, as a share of all requested work.",
    ),
    "withdrawn_wait_share": (
        "time lost",
        "Waiting time of the withdrawn jobs, as a share of all waiting time.",
    ),
    "restricted_mean_wait": (
        "Kaplan-Meier wait",
        "Mean wait of a job for its start if it is not withdrawn; waits count up to 7 days.",
    ),
    "mean_waiting_time_of_withdrawn": (
        "mean wait of withdrawn jobs",
        "From submission to withdrawal, mean over the withdrawn jobs.",
    ),
    "mean_waiting_time_of_all": (
        "mean wait of all jobs",
        "From submission to start or withdrawal, mean over jobs.",
    ),
    "deadline_met_share": (
        "deadlines met",
        "Jobs that ended well by their deadline, as a share of the jobs with a deadline.",
    ),
    "energy": ("energy", "Of all processors, from 0 to the last end."),
    "energy_saved_share": ("energy saved", "Compared with the same schedule and all awake."),
    "mean_waking": ("mean waking time", "Part of the waiting time while processors switch on."),
}
"""By metric: the name that reports show, and its meaning in a sentence."""
_BETTER = {
    -1: (
        *("mean_waiting_time", "max_waiting_time", "mean_turnaround_time"),
        *("mean_bounded_slowdown", "mean_slowdown_by_area", "loss_of_capacity"),
        *("withdrawn_share", "withdrawn_work_share", "restricted_mean_wait"),
    ),
    1: ("throughput_per_hour", "deadline_met_share"),
}
"""By sign: metrics for which a change with this sign is an improvement, whatever users do."""
_OF_SURVIVORS = (
    *("mean_waiting_time", "max_waiting_time", "mean_turnaround_time"),
    *("mean_bounded_slowdown", "mean_slowdown_by_area"),
)
"""Metrics of the jobs that ran, which say nothing of the users who left."""
_SYMBOLS = {
    "a": "submission of a job",
    "s": "its start",
    "f": "its end",
    "p": "its run time, f \N{MINUS SIGN} s",
    "r": "its turnaround time, f \N{MINUS SIGN} a",
    "w": "its processors",
    "d": "its withdrawal",
    "l": "its lateness",
    "N": "processors of the machine",
    "t_k": "the instants of changes",
    "f_k": "free processors from then on",
    "d_k": "1 if jobs wait then, else 0",
}


class ShownMetric(msgspec.Struct, frozen=True):
    """A metric with the title and the unit that a report shows."""

    name: str
    """The column in the table of runs, which is in SI units."""
    title: str
    unit: str = ""
    scale: float = 1.0
    """SI units in one shown unit."""
    decimals: int | None = None
    """Digits after the point, None for four significant digits."""
    is_judged: bool = True
    """Whether a smaller value may be called better; not if it is smaller as users leave."""

    @property
    def heading(self) -> str:
        """The title of the metric with its unit."""
        return f"{self.title} [{self.unit}]" if self.unit else self.title

    @property
    def directions(self) -> tuple[str, str]:
        """The words for a smaller and for a larger value."""
        if self.is_difference:
            return "earlier", "later"
        is_time = self.unit in TIME_SYMBOLS.values()
        return ("shorter", "longer") if is_time else ("lower", "higher")

    def judge(self, change: float) -> str:
        """Return ``better`` or ``worse``, or the direction if the metric has no best value."""
        for sign, names in _BETTER.items():
            if self.is_judged and self.name in names:
                return "better" if change * sign > 0 else "worse"
        return self.directions[int(change > 0)]

    def format(self, value: float) -> str:
        """Return a value in SI units as text with the shown unit, three significant digits."""
        shown = value / self.scale
        text = f"{shown:,.0f}" if abs(shown) >= 100 else f"{shown:.3g}"
        return f"{text} {self.unit}".strip().replace("-", "\N{MINUS SIGN}")

    @property
    def is_difference(self) -> bool:
        """Whether reports show differences, not relative changes: its values may be negative."""
        return self.name == "mean_lateness"


def choose_metrics(runs: pd.DataFrame, names: Iterable[str]) -> list[ShownMetric]:
    """Return the metrics of ``names`` that any run has, each in a readable unit."""
    biased = _OF_SURVIVORS if has_withdrawals(runs) else ()
    return [
        msgspec.structs.replace(
            _shown(name, runs[name].astype(float)), is_judged=name not in biased
        )
        for name in dict.fromkeys(names)
        if name in runs and bool(runs[name].notna().any())
    ]


def choose_main_metrics(main: str | None, runs: pd.DataFrame) -> list[str]:
    """Return the names of the metrics in a matrix of the runs, the main one first."""
    reacting = find_reaction(runs)
    leaving = OF_WITHDRAWALS if has_withdrawals(runs) else ()
    of_users = () if reacting is False else OF_REACTING_USERS
    wait = () if reacting is False and main and not leaving else (DEFAULT,)
    return list(dict.fromkeys((main or DEFAULT, *wait, *leaving, *of_users, *MAIN)))


def has_withdrawals(runs: pd.DataFrame) -> bool:
    """Return whether users withdrew a job in any of the runs."""
    return "nb_withdrawn" in runs and bool(runs["nb_withdrawn"].fillna(0).any())


def list_reactions(runs: pd.DataFrame) -> pd.Series[Any]:
    """Return for each run whether its users react to the schedule; None: unknown.

    Runs without a user model count as rigid replay.
    """
    names = runs.get("users", pd.Series(RIGID, runs.index))
    declared = runs.get("users_react", pd.Series(None, runs.index, dtype=object))
    known = [
        False if name == RIGID else None if is_nothing(of_run) else bool(of_run)
        for name, of_run in zip(names, declared, strict=True)
    ]
    return pd.Series(known, runs.index, dtype=object)


def find_reaction(runs: pd.DataFrame) -> bool | None:
    """Return whether the users of any run react to the schedule; None: unknown."""
    return any_reacts(list_reactions(runs))


def find_title(name: str) -> str:
    """Return the title of a metric in reports."""
    return _WORDS.get(name, (to_words(name), ""))[0]


def _shown(name: str, values: pd.Series[float]) -> ShownMetric:
    title = find_title(name)
    unit = METRICS[name].unit if name in METRICS else ""
    if unit == "s":
        scale, unit = choose_time_unit(values)
        return ShownMetric(name, title, unit, scale)
    if unit == "J":
        return ShownMetric(name, title, "MJ", 1e6)
    if name in ("utilisation", "loss_of_capacity") or name.endswith("_share"):
        return ShownMetric(name, title, "%", 0.01, 1)
    return ShownMetric(name, title, "" if unit == "1" else unit)


def choose_time_unit(seconds: ArrayLike) -> tuple[float, str]:
    """Return a readable unit for times in ``seconds``: its length in seconds and its symbol."""
    sizes = np.abs(np.asarray(seconds, dtype=float))
    sizes = sizes[sizes > 0]  # also drops nan
    of_time = choose_unit(float(np.median(sizes)) if len(sizes) else nan)
    return UNITS[of_time], TIME_SYMBOLS[of_time]


def make_glossary(
    metrics: Iterable[ShownMetric], where: str = "its column in results.csv"
) -> Table | None:
    """Return a table of metrics: name, meaning, formula and unit.

    ``where`` is the place of the metrics' values.
    """
    rows = []
    for metric in metrics:
        registered = METRICS.get(metric.name)
        _, words = _WORDS.get(metric.name, ("", ""))
        rows.append(
            {
                "metric": metric.heading,
                "meaning": words,
                "formula": registered.formula if registered else "measured by the campaign",
                "column": metric.name,
            }
        )
    there = [
        f"*{symbol}* {meaning}"
        for symbol, meaning in _SYMBOLS.items()
        if any(re.search(rf"(?<![\w+]){symbol}(?![\w'])", row["formula"]) for row in rows)
    ]
    columns = (Column("metric", below="column"), Column("meaning"), Column("formula"))
    note = f"Symbols of a job: {', '.join(there)}; *sum* is over jobs.\n\n" if there else ""
    leaving = any(metric.name == OF_WITHDRAWALS[0] for metric in metrics)
    queue = ", withdrawn jobs for the queue too" if leaving else ""
    note += f"Rejected jobs count only for lateness and sessions{queue}. Below a name: {where}, "
    note += "with times in seconds and shares from 0 to 1."
    return table("metrics", "Metrics", rows, columns, note)
