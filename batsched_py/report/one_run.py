"""Makes the report of a single run, of this program or of Batsim, from its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from batsched_py.figures.run_figures import draw_queue, draw_submissions, draw_utilisation
from batsched_py.report.campaign_axes import CampaignAxes
from batsched_py.report.document import Column, Figure, Part, Report, Section, Table
from batsched_py.report.formatting import format_cell
from batsched_py.report.kit.charts import Chart, inline_data, numbers
from batsched_py.report.kit.tables import sections, table
from batsched_py.report.metric_matrix import make_site_tables
from batsched_py.report.metric_words import (
    FURTHER,
    LEAVING,
    ShownMetric,
    choose_main_metrics,
    choose_metrics,
    has_withdrawals,
    make_glossary,
)
from batsched_py.report.shown_runs import OneRun
from batsched_py.report.simulated_setup import describe_setup, describe_span, make_names_table
from batsched_py.run.result import Result
from batsched_py.units import HOUR

_NO_AXES = CampaignAxes(None, None, (), ())
_OVER_TIME = {
    "utilisation": (
        draw_utilisation,
        "Busy processors, and the demand: processors of running and waiting jobs. The black line "
        "is the size of the machine.",
    ),
    "queue": (draw_queue, "Waiting jobs, and the processors that they request."),
    "submissions": (draw_submissions, "Submitted jobs, and the recorded submissions if known."),
}
ONCE = (
    "One run does not show the effect of chance. A campaign (`batsched-py campaign FILE`) repeats "
    "it, and compares it with other policies and users."
)


def make_run_report(run: OneRun) -> Report:
    """Return the report of a run: its waits, figures over time, and key numbers."""
    metrics = choose_metrics(run.runs, [*choose_main_metrics(None, run.runs), *FURTHER])
    lines = [line for line in describe_setup(run, _NO_AXES) if not line.startswith("**Runs**")]
    lines.append(_simulated(run))
    parts: list[tuple[str, list[Part | None]]] = [
        ("Key numbers", [_numbers(run.runs, metrics)]),
        ("Over time", [*_over_time(run.result)]),
        ("Waits by size", [_waits_by_size(run.result.jobs)]),
        ("Grid sites", [*make_site_tables(run, _NO_AXES)]),
    ]
    words = [("Metrics and names", [make_glossary(metrics, _place(run)), make_names_table(run)])]
    made: tuple[Section, ...] = (*sections(parts), *sections(words, for_reference=True))
    summary = "\n".join(f"- {line}" for line in lines)
    answer = _answer(run.runs, metrics)
    cautions = (LEAVING, ONCE) if has_withdrawals(run.runs) else (ONCE,)
    return Report(run.title, "", made, summary=summary, answer=answer, cautions=cautions)


def _answer(runs: pd.DataFrame, metrics: list[ShownMetric]) -> str:
    """Return how long jobs wait, how busy the machine is, and how late users submit."""
    values = {of.name: of.format(abs(float(runs[of.name].iloc[0]))) for of in metrics}
    sentences = {
        "mean_waiting_time": "Jobs wait **{mean_waiting_time}** on average",
        "max_waiting_time": " and {max_waiting_time} at most",
        "mean_bounded_slowdown": "; their bounded slowdown is {mean_bounded_slowdown}",
        "withdrawn_share": ". Users withdraw {withdrawn_share} of the jobs",
        "restricted_mean_wait": "; the Kaplan-Meier wait is {restricted_mean_wait}",
        "utilisation": ". The machine is {utilisation} busy",
    }
    text = "".join(of.format(**values) for name, of in sentences.items() if name in values)
    late = float(runs["mean_lateness"].iloc[0]) if "mean_lateness" in values else 0.0
    if late:
        when = "later" if late > 0 else "earlier"
        text += f". Users submit {values['mean_lateness']} {when} than recorded, on average"
    return f"{text}." if text else "No job ran."


def _place(run: OneRun) -> str:
    """Return the place of the metrics of a run; Batsim writes no description of a run."""
    path = Path(f"{run.prefix}_run.json")
    if path.is_file():
        return f"its name in {path.name}"
    return "its name in the CSV of the key numbers"


def _simulated(run: OneRun) -> str:
    """Return how many jobs of how many users were submitted, and over which time."""
    jobs, settings = run.result.jobs, run.result.settings
    words = f"**Simulated**: {len(jobs):,} jobs"
    if "user" in jobs and jobs["user"].notna().any():
        words += f" of {jobs['user'].nunique():,} users"
    if len(jobs):
        first, last = jobs["submission_time"].min(), jobs["submission_time"].max()
        words += describe_span(first, last, settings.get("unix_start_time"))
    left_out = int((~jobs["measured"]).sum())
    return words + (f"; {left_out:,} of them are not measured" if left_out else "")


def _numbers(runs: pd.DataFrame, metrics: list[ShownMetric]) -> Table | None:
    """Return the key numbers, None if there were no jobs."""
    rows = []
    for metric in metrics:
        value = float(runs[metric.name].iloc[0])
        text = f"{format_cell(value / metric.scale, metric.decimals)} {metric.unit}".rstrip()
        rows.append({"metric": metric.title, "shown": text, "name": metric.name, "value": value})
    columns = (Column("metric"), Column("shown", "value"))
    note = "*Metrics and names*, below, defines them. The CSV file has SI units."
    return table("key_numbers", "The whole run", rows, columns, note)


def _over_time(result: Result) -> list[Figure]:
    """Return utilisation, queue and submissions as figures of the report."""
    figures = []
    for name, (draw, caption) in _OVER_TIME.items():
        if result.power_changes and name == "utilisation":
            caption += " The green line counts the processors that are awake."
        spec = draw(result).properties(width="container").to_dict()
        title = spec.pop("title")  # the report shows it as a heading
        notes = (f"{note[0].upper()}{note[1:]}." for note in title["subtitle"])
        figures.append(Figure(name, title["text"], spec, " ".join([caption, *notes])))
    return figures


def _waits_by_size(jobs: pd.DataFrame) -> Figure | None:
    """Return how long jobs of each size wait: mean and median."""
    rows = list(_waits(jobs))
    if not rows:
        return None
    sizes = alt.X(
        "size:O",
        sort=[row["size"] for row in rows],
        title="processors of the job",
        axis=alt.Axis(labelAngle=0),
    )
    size, count = alt.Tooltip("size:N", title="processors"), alt.Tooltip("jobs:Q")
    in_hours = numbers(digits=".3~g", mean_h="mean [h]", median_h="median [h]")
    base: Chart = alt.Chart(inline_data(rows)).encode(x=sizes, tooltip=[size, count, *in_hours])
    base = base.transform_calculate(
        mean_h=f"datum.mean / {HOUR}", median_h=f"datum.median / {HOUR}"
    )
    bars = base.mark_bar().encode(y=alt.Y("mean_h:Q", title="wait [h]"))
    marks = base.mark_tick(thickness=3, color="black").encode(
        y=alt.Y("median_h:Q", title="wait [h]")
    )
    chart = alt.layer(bars, marks).properties(width="container", height=240)
    caption = "Bars: the mean wait of the jobs of these sizes; black marks: their median."
    if "withdrawal_time" in jobs:
        caption += " Withdrawn jobs are left out."
    return Figure("waits_by_size", "Waits by the size of jobs", chart, caption)


def _waits(jobs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield number, mean and median of the waits (seconds) for sizes in powers of two."""
    ran = jobs[jobs["starting_time"].notna() & jobs["measured"]]
    wait = (ran["starting_time"] - ran["submission_time"]).astype(float)
    size = ran["requested_number_of_resources"].astype(float).clip(lower=1)
    waits = wait.groupby(2 ** np.ceil(np.log2(size)).astype(int)).agg(["size", "mean", "median"])
    for high, jobs_of, mean, median in waits.itertuples():
        low = high // 2 + 1 if high > 2 else high
        name = f"{low}" if low == high else f"{low} to {high}"
        yield {"size": name, "jobs": jobs_of, "mean": mean, "median": median}
