"""The figures of the report; each is None if the runs have nothing for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.campaign.study_files import study_module
from batsched_py.report.document import Figure
from batsched_py.support.statistics import quantiles

c = study_module(Path(__file__).with_name("cases.py"))

OURS, PAPER = "#1f77b4", "#d62728"
SCHEDULERS = alt.Scale(domain=["fcfs", "easy"], range=["#1f77b4", "#e6820e"])
WIDTH, HEIGHT = 360, 190
"""Of a panel; two are side by side."""
NARROW = 160
"""Width of a panel where four are side by side."""
TOP = alt.Legend(orient="top")
SQUARES = alt.Legend(orient="top", symbolType="square", symbolSize=110)
AT = (0.025, 0.25, 0.5, 0.75, 0.975)
NAMES = ("low", "quarter", "median", "three_quarters", "high")


def distributions(cases: pd.DataFrame, numbers: dict[str, Any]) -> list[Figure | None]:
    """Return a figure for each metric: all cases, the published quantiles beside them."""
    return [_distribution(cases, numbers, metric) for metric in c.METRICS]


def _distribution(cases: pd.DataFrame, numbers: dict[str, Any], metric: Any) -> Figure | None:
    rows = _quantiles(cases, metric.name)
    if not rows:
        return None
    rows += _published(numbers, metric.name, {(row["nodes"], row["think"]) for row in rows})
    thinks = list(dict.fromkeys(key[3] for key, _ in c.groups(cases)))
    order = ["fcfs", "fcfs paper", "easy", "easy paper"]
    scale = alt.Scale(domain=order, range=["#1f77b4", "#9ecae1", "#e6820e", "#fdc38d"])
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("think:N", sort=thinks, title="think time", axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("who:N", sort=order),
        color=alt.Color("who:N", scale=scale, sort=order, title=None, legend=SQUARES),
        tooltip=["who", "think", "nodes", *(alt.Tooltip(name, format=".4g") for name in NAMES)],
    )
    title = f"{metric.title} ({metric.unit})"
    value = alt.Y("low:Q", title=title, scale=alt.Scale(zero=False))
    line = base.mark_rule().encode(y=value, y2="high:Q")
    box = base.mark_bar(size=8).encode(y="quarter:Q", y2="three_quarters:Q")
    middle = base.mark_tick(thickness=2, size=10, color="black").encode(
        y="median:Q", color=alt.value("black")
    )
    chart = (
        alt.layer(line, box, middle)
        .properties(width=WIDTH, height=HEIGHT)
        .facet(facet=alt.Facet("nodes:O", sort="descending", title="cores"), columns=2)
        .resolve_scale(y="independent")
    )
    caption = (
        "Boxes hold the middle half of the replications, lines reach from the 2.5 to the 97.5 % "
        "quantile, ticks are medians; the paper prints no quartiles. Scales differ by machine."
    )
    name = f"distribution_{metric.name}"
    return Figure(name, f"{metric.title} over the replications", chart, caption)


def _quantiles(cases: pd.DataFrame, metric: str) -> list[dict[str, Any]]:
    rows = []
    for (_, scheduler, nodes, think), own in c.groups(cases):
        found = dict(zip(NAMES, quantiles(own[metric], AT), strict=True))
        rows.append({"who": scheduler, "nodes": nodes, "think": think, **found})
    return rows


def _published(numbers: dict[str, Any], metric: str, there: set[Any]) -> list[dict[str, Any]]:
    rows = []
    for scheduler, nodes, think, printed in c.printed(numbers):
        if metric in printed and (nodes, think) in there:
            found = dict(zip(("low", "median", "high"), printed[metric], strict=True))
            who = f"{scheduler} paper"
            rows.append({"who": who, "nodes": nodes, "think": think, **found})
    return rows


def workload(cases: pd.DataFrame, numbers: dict[str, Any]) -> Figure | None:
    """Return the workload against the mean think time, lin at the mean of its own."""
    rows = []
    for (_, scheduler, nodes, think), own in c.groups(cases):
        rows.append(_point(scheduler, nodes, think, own["work"], float(own["art"].median())))
    if not rows:
        return None
    for scheduler, nodes, think, printed in c.printed(numbers):
        if any(row["nodes"] == nodes for row in rows):
            row = _point(scheduler, nodes, think, None, printed["art"][1])
            row |= dict(zip(("low", "median", "high"), printed["work"], strict=True))
            rows.append(row | {"from": "paper"})
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("minutes:Q", title="mean think time (min)", scale=alt.Scale(padding=8)),
        color=alt.Color("scheduler:N", scale=SCHEDULERS, sort=["fcfs", "easy"], legend=TOP),
        tooltip=[
            *("from", "scheduler", "nodes", "think"),
            *_formatted("minutes", "low", "median", "high"),
        ],
    )
    median = alt.Y("median:Q", title="workload (G core-s)")
    line = base.transform_filter("datum.from == 'ours' && datum.think != 'lin'")
    chart = (
        alt.layer(
            line.mark_line().encode(y=median),
            base.mark_rule(opacity=0.6).encode(y="low:Q", y2="high:Q"),
            base.mark_point(filled=True, size=60, opacity=1).encode(y=median, shape=_SHAPE),
        )
        .properties(width=WIDTH, height=HEIGHT)
        .facet(facet=alt.Facet("nodes:O", sort="descending", title="cores"), columns=2)
        .resolve_scale(y="independent")
    )
    caption = (
        "Medians and 2.5 to 97.5 % quantiles. The lines are constant think times; lin stands at "
        "the mean of its think times, the paper's by its mean responses."
    )
    return Figure("workload", "Workload against think time", chart, caption)


_SHAPE = alt.Shape(
    "mark:N",
    sort=["constant", "lin", "constant, paper", "lin, paper"],
    scale=alt.Scale(
        domain=["constant", "lin", "constant, paper", "lin, paper"],
        range=["circle", "square", "cross", "diamond"],
    ),
    title="think time",
    legend=TOP,
)


def _point(
    scheduler: str, nodes: int, think: str, own: pd.Series | None, response: float
) -> dict[str, Any]:
    mean = c.busy_weeks(1, response, think) * c.WEEK - response
    kind = "lin" if think == "lin" else "constant"
    row = {"from": "ours", "scheduler": scheduler, "nodes": nodes, "think": think}
    row |= {"minutes": mean / 60, "mark": kind if own is not None else f"{kind}, paper"}
    if own is not None:
        row |= dict(zip(("low", "median", "high"), quantiles(own), strict=True))
    return row


def _formatted(*names: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{name}:Q", format=".4g") for name in names]


def equal_work(cases: pd.DataFrame) -> Figure | None:
    """Return each metric against the work, constant think times joined by lines."""
    rows = []
    for (_, scheduler, nodes, think), own in c.groups(cases):
        work = float(own["work"].median())
        for metric in c.QUALITY:
            row = {"scheduler": scheduler, "nodes": nodes, "think": think, "work": work}
            row |= {"metric": metric.title, "value": float(own[metric.name].median())}
            rows.append(row | {"mark": "lin" if think == "lin" else "constant"})
    if not {"lin", "constant"} <= {row["mark"] for row in rows}:
        return None
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("work:Q", title="workload (G core-s)", scale=alt.Scale(zero=False)),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False)),
        color=alt.Color("scheduler:N", scale=SCHEDULERS, sort=["fcfs", "easy"], legend=TOP),
        tooltip=["scheduler", "nodes", "think", "metric", *_formatted("work", "value")],
    )
    shape = alt.Shape(
        "mark:N",
        scale=alt.Scale(domain=["constant", "lin"], range=["circle", "square"]),
        title="think time",
        legend=TOP,
    )
    chart = (
        alt.layer(
            base.transform_filter("datum.mark == 'constant'").mark_line(),
            base.mark_point(filled=True, size=60, opacity=1).encode(shape=shape),
        )
        .properties(width=NARROW, height=120)
        .facet(
            column=alt.Column("nodes:O", sort="descending", title="cores"),
            row=alt.Row("metric:N", sort=[m.title for m in c.QUALITY], title=None),
        )
        .resolve_scale(x="independent", y="independent")
    )
    caption = (
        "Medians; seconds, ASD without unit. On the line users think for a constant time; a square "
        "below its line has better metrics for the same work."
    )
    return Figure("equal_work_curves", "Metrics against work", chart, caption)


def readings(cases: pd.DataFrame, numbers: dict[str, Any]) -> Figure | None:
    """Return mean response against work of each reading, the paper's beside them."""
    if cases["reading"].nunique() < 2:
        return None
    rows = []
    for scheduler, nodes, think, printed in c.printed(numbers):
        place = {"scheduler": scheduler, "nodes": nodes, "think": think}
        case = {"system": f"{scheduler}, {nodes} cores", "think": think}
        own = c.values(cases, **place)
        for reading, runs in own.groupby("reading", sort=False):
            work, response = float(runs["work"].median()), float(runs["art"].median())
            rows.append({**case, "reading": reading, "work": work, "art": response})
        if len(own):
            medians = {"work": printed["work"][1], "art": printed["art"][1]}
            rows.append({**case, "reading": "paper", **medians})
    if not rows:
        return None
    names = ["paper", *dict.fromkeys(cases["reading"])]
    colours = [PAPER, *_PALETTE[: len(names) - 1]]
    chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            x=alt.X("work:Q", title="workload (G core-s)"),
            y=alt.Y("art:Q", title="ART (s)"),
            color=alt.Color("reading:N", sort=names, scale=alt.Scale(domain=names, range=colours)),
            shape=alt.Shape("think:N", title="think time"),
            tooltip=["reading", "system", "think", *_formatted("work", "art")],
        )
        .properties(width=260, height=200)
        .facet(facet=alt.Facet("system:N", title=None), columns=2)
        .resolve_scale(x="independent")
    )
    caption = (
        "Medians over the replications. No reading has the paper's work and responses at once."
    )
    return Figure("readings_work", "Response and work under each reading", chart, caption)


_PALETTE = (
    *("#1f77b4", "#6baed6", "#08519c", "#9ecae1", "#2ca02c", "#98df8a", "#006d2c"),
    *("#9467bd", "#8c564b", "#7f7f7f", "#bcbd22", "#17becf"),
)
