"""Other ways to react: Zakay's user models on the infrastructures of the study.

The models are those of N. Zakay, PhD thesis, chapters 4 and 5, see ``docs/users.md``. ``adjusted``
keeps think times as a60 does, batch by batch; ``distribution`` draws them within hours of work;
``fluid`` lets the work flow into recorded sessions; ``tbuos`` is ``fluid`` with people drawn anew,
of whom long-term ones begin again when they are through.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import Column, Figure, Part, Section, Table, Text
from batsched_py.report.kit.charts import Chart
from batsched_py.support import statistics
from batsched_studies.replay_feedback import replays, tables

MODELS = ("rigid", "a60", "adjusted", "distribution", "fluid", "tbuos", "tbuos, short log")
_OTHERS = frozenset(MODELS[2:])
METRICS = {
    "makespan": ("makespan (d)", tables.UNITS["d"]),
    "mean_waiting_time": ("mean wait (d)", tables.UNITS["d"]),
    "mean_lateness": ("mean lateness (d)", tables.UNITS["d"]),
    "throughput_to_last_submission": ("jobs ended per day", 1 / 24),
    "share_at_work": ("submitted at work", 1.0),
}
"""Shown metrics: headings, and the SI units in the unit of the heading."""
_DECIMALS = {"throughput_to_last_submission": 1}
_COLOURS = ["#888888", "#0072B2", "#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#CC79A7"]


def model_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that are about user models: all, if any has another model than the paper."""
    if "replay" not in runs or not _OTHERS & set(runs["replay"]):
        return runs.iloc[:0]
    return runs.assign(log=runs["log"].map(tables.log_name))


def sections(runs: pd.DataFrame, published: dict[str, Any]) -> list[Section]:
    """Return tables and figures of the user models; nothing if there are none."""
    parts: list[Part] = []
    for (log, size), own in model_runs(runs).groupby(["log", "size"]):
        name = f"{tables.slug(log)}_{tables.slug(size)}"
        where = f"({log}, {size} sizes)"
        frame = model_frame(own, str(log), published)
        title = f"User models {where}"
        parts.append(Table(f"models_{name}", title, frame, tuple(_columns(frame)), _NOTE))
        caption = (
            "Points: means of the seeds; lines: from the smallest to the largest; diamonds: the "
            "paper's values. Waits below 0.001 d are at the edge of the axis."
        )
        chart = model_chart(frame)
        parts.append(
            Figure(f"fig_models_{name}", f"Mean lateness and wait {where}", chart, caption)
        )
        hours = hours_frame(own)
        if len(hours):
            title = f"When users submit, by the hour of the day {where}"
            caption = f"On {_day_infrastructure(own)}, local time; rigid is as recorded."
            parts.append(Figure(f"fig_hours_{name}", title, hours_chart(hours), caption))
    return [Section("Other user models", (Text(_TEXT), *parts))] if parts else []


_TEXT = (
    "The same jobs of the same users, who react in other ways (Zakay, PhD thesis): `adjusted` "
    "keeps recorded think times as a60, batch by batch; `distribution` draws think times, breaks, "
    "and hours of work; `fluid` lets the work flow into the recorded sessions; `tbuos` is `fluid` "
    "with people drawn anew, where those who stay begin again when they are through, so that "
    "jobs per day are a result."
)
_NOTE = (
    "Means over the seeds. Lateness of `tbuos` is against the shifted recorded times, and its "
    "jobs are others. `submitted at work`: share of the jobs submitted Monday to Friday, 8:00 to "
    "18:00 local time, which are 30 % of all hours."
)


def model_frame(runs: pd.DataFrame, log: str, published: dict[str, Any]) -> pd.DataFrame:
    """Return a row for each infrastructure and model: means, smallest and largest of its seeds."""
    groups = dict(iter(runs.groupby(["infrastructure", "replay"])))
    rows = []
    for run in product(tables.INFRASTRUCTURES, MODELS):
        if run not in groups:
            continue
        row: dict[str, Any] = {
            "infrastructure": run[0],
            "model": run[1],
            "nb_runs": len(groups[run]),
        }
        for metric, (_, unit) in METRICS.items():
            if metric not in runs:
                continue
            values = statistics.finite(pd.to_numeric(groups[run][metric])) / unit
            row[metric] = values.mean() if len(values) else None
            row[f"{metric}_low"], row[f"{metric}_high"] = statistics.quantiles(values, (0, 1))
            if metric in tables.NAMES:
                row[f"{metric}_published"] = tables.printed(published, log, run, metric)
        rows.append(row)
    return pd.DataFrame(rows)


def _columns(frame: pd.DataFrame) -> list[Column]:
    columns = [Column("infrastructure"), Column("model"), Column("nb_runs", "seeds")]
    for metric, (title, _) in METRICS.items():
        if metric not in frame:
            continue
        columns.append(Column(metric, title, _DECIMALS.get(metric, 2), "ours"))
        paper = f"{metric}_published"
        if paper in frame and frame[paper].notna().any():
            columns.append(Column(paper, "paper", 2, "published"))
    return columns


def model_chart(frame: pd.DataFrame) -> Chart:
    """Return mean lateness and mean wait of each infrastructure, by model."""
    charts = [_metric_chart(frame, metric) for metric in ("mean_lateness", "mean_waiting_time")]
    return alt.hconcat(*charts).resolve_scale(color="shared")


_AXIS = alt.Axis(tickCount=4, labelOverlap="greedy")


def _metric_chart(frame: pd.DataFrame, metric: str) -> Chart:
    columns = [metric, f"{metric}_low", f"{metric}_high", f"{metric}_published"]
    shown = frame[["infrastructure", "model", *columns]].copy()
    if metric == "mean_lateness":  # 0 by definition
        shown = shown[shown["model"] != "rigid"]
    wait = metric == "mean_waiting_time"
    shown[columns] = shown[columns].astype(float).round(5)
    if wait:
        shown[columns] = shown[columns].clip(lower=0.001)
    scale = alt.Scale(type="log", nice=False, padding=8) if wait else alt.Scale()
    title = METRICS[metric][0] + (", logarithmic" if wait else "")
    there = [model for model in MODELS if model in set(frame["model"])]
    colours = [_COLOURS[MODELS.index(model)] for model in there]

    def x(column: str) -> alt.X:
        return alt.X(f"{column}:Q", title=title, scale=scale, axis=_AXIS)

    base = alt.Chart(shown, width=300, height=300).encode(
        y=alt.Y("infrastructure:N", sort=list(tables.INFRASTRUCTURES), title=None),
        yOffset=alt.YOffset("model:N", sort=there),
        color=alt.Color("model:N", sort=there, scale=alt.Scale(domain=there, range=colours)),
        tooltip=["infrastructure", "model", *columns],
    )
    rules = base.mark_rule(strokeWidth=3).encode(x=x(columns[1]), x2=columns[2])
    points = base.mark_point(filled=True, size=45, opacity=1).encode(x=x(metric))
    paper = base.mark_point(shape="diamond", size=45, opacity=1).encode(
        x=x(columns[3]), color=alt.value("black")
    )
    return rules + points + paper.transform_filter(f"isValid(datum.{columns[3]})")


def _day_infrastructure(runs: pd.DataFrame) -> str:
    """Return the infrastructure whose days are drawn: the recorded one, if it was simulated."""
    there = set(runs["infrastructure"])
    return next(name for name in tables.INFRASTRUCTURES if name in there)


def hours_frame(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the share of submissions in each hour of the day, by model; empty if not measured."""
    own = runs[runs["infrastructure"] == _day_infrastructure(runs)]
    hours = [column for column in (f"share_at_{hour:02d}" for hour in range(24)) if column in own]
    shares = own.groupby("replay")[hours].mean()
    rows = [
        {
            "model": model,
            "hour": int(column[-2:]),
            "share": round(float(shares.loc[model, column]), 5),
        }
        for model in MODELS
        if model in shares.index
        for column in hours
    ]
    return pd.DataFrame(rows).dropna()


def hours_chart(frame: pd.DataFrame) -> Chart:
    """Return a panel for each model: the shares, and those of rigid replay behind them."""
    there = [model for model in MODELS if model in set(frame["model"])]
    reacting = [model for model in there if model != "rigid"] or there
    rigid = frame[frame["model"] == "rigid"].set_index("hour")["share"]
    shown = frame[frame["model"].isin(reacting)].assign(
        recorded=lambda own: own["hour"].map(rigid), end=lambda own: own["hour"] + 1
    )
    colours = [_COLOURS[MODELS.index(model)] for model in reacting]
    base = alt.Chart(width=190, height=120).encode(
        x=alt.X("hour:Q", title="hour of the day", scale=alt.Scale(domain=[0, 24])),
        x2="end",
        tooltip=["model", "hour", "share", "recorded"],
    )
    behind = base.mark_rect(color=replays.GREY).encode(
        y=alt.Y("recorded:Q", title="share of submissions", axis=alt.Axis(format="%")),
        y2=alt.datum(0),
    )
    front = base.mark_rule(strokeWidth=2.5).encode(
        y="share:Q",
        color=alt.Color("model:N", legend=None, scale=alt.Scale(domain=reacting, range=colours)),
    )
    return (behind + front).facet(
        alt.Facet("model:N", sort=reacting, title=None), data=shown, columns=3
    )
