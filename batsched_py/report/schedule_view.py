"""What the page shows of single runs: a window of the schedule, and a row for each user.

Only a bounded part is put into the page: some runs, and of each a window around the time at which
most jobs waited. What is left out is said.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pandas as pd

from batsched_py.figures.schedule_window import jobs_inside, widest_window
from batsched_py.metrics import BOUND
from batsched_py.report.packed_columns import rounded
from batsched_py.report.runs_table import ShownRuns
from batsched_py.support.processor_sets import from_text
from batsched_py.support.step_functions import Intervals
from batsched_py.workload.clock import local_seconds

MOST_RUNS = 12
MOST_JOBS = 1_500
"""Jobs of a run in its chart."""
MOST_RECTANGLES = 6_000
"""Rectangles of a run in its chart: a job on processors that are no neighbours has several."""
MOST_USERS = 1_000
"""Users of a run in its table, those with most jobs."""
_TIMES = ["submission_time", "starting_time", "finish_time"]
_STEPS = 300


class Schedules(msgspec.Struct):
    """Windows and users of some runs, ready for the page's script."""

    runs: list[dict[str, Any]]
    note: str
    """What is left out, and why there is nothing if there is nothing."""


def schedules_of(results: ShownRuns) -> Schedules:
    """Return windows and users of at most a dozen runs, spread over the axes."""
    rows = chosen_rows(results)
    shown = []
    for at in rows:
        row = results.runs.iloc[at]
        jobs = results.kept_jobs(row)
        if jobs is not None:
            made = one_schedule(jobs, int(row["nb_res"]))
            shown.append({"run": at, **made, "clock": _clock(results, row, made["from"])})
    return Schedules(shown, _note(results, len(rows), len(shown)))


def _clock(results: ShownRuns, row: Any, at: float) -> float | None:
    """Return what turns seconds of a run into those since clocks showed 1970-01-01 0:00.

    As it is at a time of the run, for the window around it; None if the log tells no dates.
    """
    try:
        settings = results.settings(row)
    except (OSError, msgspec.DecodeError):  # removed since the campaign ran
        return None
    start = settings.get("unix_start_time")
    if start is None:
        return None
    return float(local_seconds([at], start, settings.get("time_zone") or "UTC")[0]) - at


def chosen_rows(results: ShownRuns) -> list[int]:
    """Return the numbers of the rows of ``results.runs`` whose schedules are shown.

    If there are more than a dozen, replications of the same are dropped first; then rows are
    taken at equal distances, the first and the last among them.
    """
    runs = results.runs
    if len(runs) <= MOST_RUNS:
        return list(range(len(runs)))
    axes = [name for name in results.axes if name in runs and name not in ("replication", "seed")]
    repeated = runs[axes].astype(str).duplicated() if axes else pd.Series(False, index=runs.index)
    rows = np.flatnonzero(~repeated.to_numpy())
    picked = np.linspace(0, len(rows) - 1, min(MOST_RUNS, len(rows)))
    return [int(rows[at]) for at in np.unique(picked.round().astype(int))]


def one_schedule(jobs: pd.DataFrame, nb_res: int) -> dict[str, Any]:
    """Return the window around the longest queue, and the users of all jobs that are measured."""
    ran = jobs[jobs["finish_time"].notna() & jobs["starting_time"].notna()]
    ran = ran[ran["finish_time"] > ran["starting_time"]].sort_values(
        "starting_time", kind="stable", ignore_index=True
    )
    begin, end = widest_window(ran, MOST_JOBS, MOST_RECTANGLES) if len(ran) else (0.0, 0.0)
    window = jobs_inside(ran, begin, end, MOST_JOBS, MOST_RECTANGLES)
    return {
        "from": begin,
        "to": end,
        "nb_res": nb_res,
        "nb_jobs": len(jobs),
        "nb_ran": len(ran),
        "jobs": _job_columns(window),
        "rectangles": _rectangles(window),
        "busy": _busy(ran, begin, end),
        "users": users_of(jobs),
    }


def users_of(jobs: pd.DataFrame) -> dict[str, list[Any]]:
    """Return by column a row for each known user: jobs and means over the user's own jobs.

    Times in seconds; ``slowdown`` is bounded (10 s), ``activity`` is from the first to the last
    submission, ``area`` in processor-seconds. Only jobs that are ``measured`` count.
    """
    if "user" not in jobs:
        return {}
    measured = jobs[jobs["measured"] & jobs["user"].notna()]
    if measured.empty:
        return {}
    submit, start, finish = (measured[name].astype(float) for name in _TIMES)
    run_time = finish - start
    slowdown = np.maximum(1.0, (finish - submit) / np.maximum(run_time, BOUND))
    frame = pd.DataFrame(
        {
            "user": measured["user"].astype(str),
            "submit": submit,
            "wait": start - submit,
            "slowdown": slowdown,
            "lateness": measured.get("lateness", np.nan),
            "area": run_time * measured["requested_number_of_resources"],
        }
    )
    groups = frame.groupby("user", sort=False)
    made = groups[["wait", "slowdown", "lateness"]].mean()
    made.insert(0, "jobs", groups.size())
    made["activity"] = groups["submit"].max() - groups["submit"].min()
    made["area"] = groups["area"].sum()
    made = made.sort_values("jobs", ascending=False, kind="stable").head(MOST_USERS)
    columns: dict[str, list[Any]] = {"user": [str(user) for user in made.index]}
    return columns | {str(name): _numbers(made[name]) for name in made}


def _note(results: ShownRuns, nb_chosen: int, nb_shown: int) -> str:
    nb_runs = len(results.runs)
    if not nb_runs:
        return "No run has finished yet."
    if not nb_shown:
        return (
            "This campaign keeps the metrics of its runs and not their jobs, so there is no "
            "schedule to show. To see one, repeat a run with the command in its details below: "
            "it writes the jobs too."
        )
    if nb_shown == nb_runs:
        return f"All {nb_runs} runs can be chosen." if nb_runs > 1 else ""
    why = f"{nb_shown} of {nb_runs} runs can be chosen, spread over the axes"
    lost = nb_chosen - nb_shown
    kept = f"; of {lost} more the jobs were not kept" if lost else ""
    return f"{why}{kept}. The jobs of the others are in their folders, or come by their commands."


def _busy(ran: pd.DataFrame, begin: float, end: float) -> dict[str, Any]:
    """Return busy processors and waiting jobs in a window, means over equal steps."""
    if end <= begin:
        return {"processors": [], "waiting": []}
    edges = np.linspace(begin, end, _STEPS + 1)
    submit, start, finish = (ran[name].to_numpy(float) for name in _TIMES)
    size = ran["requested_number_of_resources"].to_numpy(float)
    busy, waiting = Intervals(start, finish, size), Intervals(submit, start)
    return {
        "processors": list(map(rounded, busy.over(edges).mean)),
        "waiting": list(map(rounded, waiting.over(edges).mean)),
    }


def _job_columns(window: pd.DataFrame) -> dict[str, list[Any]]:
    users = window["user"] if "user" in window else pd.Series("", index=window.index)
    return {
        "id": window["job_id"].astype(str).to_list(),
        "user": users.fillna("").astype(str).to_list(),
        "size": window["requested_number_of_resources"].astype(int).to_list(),
        "submit": _seconds(window["submission_time"]),
        "start": _seconds(window["starting_time"]),
        "end": _seconds(window["finish_time"]),
    }


def _rectangles(window: pd.DataFrame) -> list[list[int]]:
    """Return number of the job, first and last processor of each rectangle."""
    return [
        [number, first, last]
        for number, text in enumerate(window["allocated_resources"])
        for first, last in from_text(str(text).strip()).intervals()
    ]


def _seconds(column: pd.Series[Any]) -> list[float | int]:
    """Return times to a tenth of a second."""
    return [int(value) if value.is_integer() else round(value, 1) for value in map(float, column)]


def _numbers(column: pd.Series[Any]) -> list[float | int | None]:
    return [rounded(value) if np.isfinite(value) else None for value in map(float, column)]
