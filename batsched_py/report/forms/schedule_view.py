"""Draws single runs for a report: schedule, queue, busy processors and users.

A report has at most a dozen runs, and of each a window around the time of the longest queue. A note
names what is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import altair as alt
import numpy as np
import pandas as pd

from batsched_py.campaign.finished_runs import PREFIX
from batsched_py.figures.chart_files import make_drawable
from batsched_py.figures.run_figures import (
    JobsOfRun,
    draw_queue,
    draw_schedule,
    draw_utilisation,
    find_window,
)
from batsched_py.metrics import BOUND
from batsched_py.report.forms.runs_table import round_digits
from batsched_py.report.shown_runs import OneRun, ShownRuns, read_stored
from batsched_py.results.jobs_file import read_changes
from batsched_py.results.machine_power import POWER, Change

MOST_RUNS = 12
MOST_USERS = 1_000
"""Users of a run in its table, those with most jobs."""
_DECIMALS = 6
Call: TypeAlias = Callable[[Callable[..., Any], Iterable[Any]], Iterator[Any]]
"""Calls a function with each of some values: ``map``, or that of an executor."""
_TIMES = ["submission_time", "starting_time", "finish_time"]


def draw_schedules(results: ShownRuns, call: Call = map) -> Iterator[dict[str, Any]]:
    """Return charts and users of at most a dozen runs; ``call`` draws them, as ``map`` does."""
    return call(_draw_run, _read_runs(results))


def pack_schedules(results: ShownRuns, views: Iterable[dict[str, Any]] | None) -> dict[str, Any]:
    """Return views, drawn here if there are none, and a note on the runs left out."""
    shown = list(draw_schedules(results) if views is None else views)
    return {"runs": shown, "note": _note(results, len(choose_rows(results)), len(shown))}


def _read_runs(results: ShownRuns) -> Iterator[tuple[int, JobsOfRun]]:
    """Yield the runs to draw, by their rows, whose jobs were kept."""
    for at in choose_rows(results):
        row = results.runs.iloc[at]
        jobs = results.kept_jobs(row)
        if jobs is not None:
            size = {"nb_processors": int(row["nb_res"])}
            settings = {**read_stored(results, row), **size}
            yield at, JobsOfRun(jobs, settings, _find_changes(results, row))


def _find_changes(results: ShownRuns, row: Any) -> list[Change]:
    """Return when processors of a run were switched."""
    if isinstance(results, OneRun):
        return results.result.power_changes
    path = Path(row["folder"]) / f"{PREFIX}{POWER}"
    return read_changes(path) if path.is_file() else []


def _draw_run(shown: tuple[int, JobsOfRun]) -> dict[str, Any]:
    at, run = shown
    return {"run": at, "chart": draw_schedule_view(run), "users": summarise_users(run.jobs)}


def choose_rows(results: ShownRuns) -> list[int]:
    """Return the row numbers of the runs whose schedules are shown.

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


def draw_schedule_view(run: JobsOfRun) -> dict[str, Any]:
    """Draw the schedule of a run around its longest queue, with queue and utilisation below.

    Schedule, queue and busy processors stand below each other and are zoomed together.
    """
    begin, end = find_window(run.jobs)
    below = [draw(run, begin=begin, end=end) for draw in (draw_queue, draw_utilisation)]
    for part in below:
        part.height = 100
    chart = alt.vconcat(draw_schedule(run), *below)
    spec: dict[str, Any] = make_drawable(chart.to_dict(validate=False))
    zooms = [param for param in spec["params"] if param.get("bind") == "scales"]
    others = [param for param in spec["params"] if param not in zooms]
    together = {**zooms[0], "views": [view for zoom in zooms for view in zoom["views"]]}
    columns = {name: _columns(rows) for name, rows in spec["datasets"].items()}
    return {**spec, "params": [together, *others], "datasets": columns}


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    return {
        name: [round(of, _DECIMALS) if isinstance(of, float) else of for of in values]
        for name, values in columns.items()
    }


def summarise_users(jobs: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the jobs, mean waits and work of each known user, by column.

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
            "This campaign keeps no jobs, so there is no schedule. To see one, repeat a run: click "
            "its number for the command."
        )
    if nb_shown == nb_runs:
        return ""
    lost = nb_chosen - nb_shown
    kept = f" ({lost} more kept no jobs)" if lost else ""
    return f"{nb_shown} of {nb_runs} runs are shown{kept}; the others are in their folders."


def _numbers(column: pd.Series[Any]) -> list[float | int | None]:
    return [round_digits(value) if np.isfinite(value) else None for value in map(float, column)]
