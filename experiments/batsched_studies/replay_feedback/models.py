"""Other ways in which users react: Zakay's user models on the infrastructures of the study.

The models are those of N. Zakay, PhD thesis, chapters 4 and 5. ``adjusted``
keeps think times as a60 does, batch by batch; ``distribution`` draws them within hours of work;
``fluid`` lets the work flow into recorded sessions; ``tbuos`` is ``fluid`` with resampled users,
whose long-term ones begin again when they have submitted all their jobs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import Column, Part, Text
from batsched_py.report.kit import Chart, columns, quantiles, scale_of, slug, where_known
from batsched_py.support import palette
from batsched_py.support.statistics import finite
from batsched_studies.replay_feedback import TEXTS, tables
from batsched_studies.replay_feedback.spread import draw_panel, format_place, make_figure

MODELS = {
    "rigid": palette.RECORDED,
    "a60": palette.BLUE,
    "adjusted": palette.SKY,
    "distribution": palette.ORANGE,
    "fluid": palette.GREEN,
    "tbuos": palette.PURPLE,
    "tbuos, short log": palette.PURPLE,
}
"""The colour of each user model."""
OTHERS = list(MODELS)[2:]
"""The models that the paper does not have."""
METRICS = {
    "makespan": ("makespan (d)", tables.UNITS["d"]),
    "mean_waiting_time": ("mean wait (d)", tables.UNITS["d"]),
    "mean_lateness": ("mean lateness (d)", tables.UNITS["d"]),
    "throughput_to_last_submission": ("jobs ended per day", 1 / 24),
    "share_at_work": ("submitted at work", 1.0),
}
"""The metrics of the tables: headings, and the unit of the heading in SI units."""
_DECIMALS = {"throughput_to_last_submission": 1}


def select_model_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return all runs if some have a user model that the paper does not have, else none."""
    if "replay" not in runs or not set(OTHERS) & set(runs["replay"]):
        return runs.iloc[:0]
    return tables.read(runs)


def make_model_parts(runs: pd.DataFrame) -> Iterator[Part | None]:
    """Yield tables and figures of the user models; nothing without runs of them."""
    logs = list(tables.group_by_log(select_model_runs(runs)))
    if logs:
        yield Text(TEXTS["models"])
    for place, of_log in logs:
        rows = make_model_rows(of_log, place[0])
        shown = list(columns("infrastructure", "model", nb_runs="seeds"))
        for metric in [metric for metric in METRICS if metric in of_log]:
            shown.append(Column(metric, METRICS[metric][0], _DECIMALS.get(metric, 2), "ours"))
            if any(row["nb_runs"] > 1 for row in rows):
                shown.append(Column(f"{metric}_spread", "spread", kind="ours"))
            shown.append(Column(f"{metric}_published", "paper", 2, "published"))
        name, shown = slug("models", *place), list(where_known(rows, shown))
        yield TEXTS.table("models", rows, name, columns=shown, where=format_place(*place))
        yield make_figure("models", *place, draw_models(pd.DataFrame(rows)))
        hours = compute_hour_shares(of_log)
        if len(hours):
            recorded = _day_infrastructure(of_log)
            yield make_figure("hours", *place, draw_hours(hours), infrastructure=recorded)


def make_model_rows(runs: pd.DataFrame, log: str) -> list[dict[str, Any]]:
    """Return a row for each infrastructure and model: means over the seeds, and their ranges."""
    groups: dict[Any, pd.DataFrame] = dict(iter(runs.groupby(["infrastructure", "replay"])))
    rows = []
    for run in product(tables.INFRASTRUCTURES, MODELS):
        if run not in groups:
            continue
        row = {"infrastructure": run[0], "model": run[1], "nb_runs": len(groups[run])}
        for metric in [metric for metric in METRICS if metric in runs]:
            values = finite(pd.to_numeric(groups[run][metric])) / METRICS[metric][1]
            row[metric] = values.mean() if len(values) else None
            ends = quantiles(values, (0, 1))
            row[f"{metric}_low"], row[f"{metric}_high"] = ends
            if len(values) > 1:
                row[f"{metric}_spread"] = " to ".join(map(tables.format_digits, ends))
            if metric in tables.NAMES:
                row[f"{metric}_published"] = tables.find_published_value(log, run, metric)
        rows.append(row)
    return rows


def draw_models(frame: pd.DataFrame) -> Chart:
    """Draw mean lateness and mean wait of each infrastructure, by user model."""
    there = [model for model in MODELS if model in set(frame["model"])]
    scale = scale_of(MODELS, there)
    base = alt.Chart(width=300, height=300).encode(
        yOffset=alt.YOffset("model:N", sort=there),
        color=alt.Color("model:N", sort=there, scale=scale),
    )
    charts = []
    for metric in ("mean_lateness", "mean_waiting_time"):
        numbers = (f"{metric}_low", metric, f"{metric}_high", f"{metric}_published")
        low, middle, high, paper = numbers
        shown = frame[["infrastructure", "model", middle, low, high, paper]].copy()
        wait = metric == "mean_waiting_time"
        if not wait:  # 0 by definition
            shown = shown[shown["model"] != "rigid"]
        options = {"log": True} if wait else {}
        charts.append(draw_panel(shown, numbers, METRICS[metric][0], base, 45, options))
    return alt.hconcat(*charts).resolve_scale(color="shared")


def _day_infrastructure(runs: pd.DataFrame) -> str:
    """Return the infrastructure whose days are drawn: the recorded one, if it was simulated."""
    there = set(runs["infrastructure"])
    return next(name for name in tables.INFRASTRUCTURES if name in there)


def compute_hour_shares(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the share of submissions in each hour of the day, by model; empty if not measured."""
    recorded = runs[runs["infrastructure"] == _day_infrastructure(runs)]
    rows = []
    for model in MODELS:
        of_model = recorded[recorded["replay"] == model]
        for hour in range(24):
            if f"share_at_{hour:02d}" in recorded and len(of_model):
                share = round(float(of_model[f"share_at_{hour:02d}"].mean()), 5)
                rows.append({"model": model, "hour": hour, "share": share})
    return pd.DataFrame(rows).dropna()


def draw_hours(frame: pd.DataFrame) -> Chart:
    """Draw the submissions by hour of the day: each model against rigid replay, in panels."""
    there = [model for model in MODELS if model in set(frame["model"])]
    reacting = [model for model in there if model != "rigid"] or there
    rigid = frame[frame["model"] == "rigid"].set_index("hour")["share"]
    shown = frame[frame["model"].isin(reacting)].assign(
        recorded=lambda shares: shares["hour"].map(rigid), end=lambda shares: shares["hour"] + 1
    )
    base = alt.Chart(width=190, height=120).encode(
        x=alt.X("hour:Q", title="hour of the day", scale=alt.Scale(domain=[0, 24])),
        x2="end",
        tooltip=["model", "hour", "share", "recorded"],
    )
    share = alt.Y("recorded:Q", title="share of submissions", axis=alt.Axis(format="%"))
    behind = base.mark_rect(color=palette.BEHIND).encode(y=share, y2=alt.datum(0))
    front = base.mark_rule(strokeWidth=2.5).encode(
        y="share:Q", color=alt.Color("model:N", legend=None, scale=scale_of(MODELS, reacting))
    )
    facet = alt.Facet("model:N", sort=reacting, title=None)
    return (behind + front).facet(facet, data=shown, columns=3)
