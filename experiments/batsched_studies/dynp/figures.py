"""The figures of the study, as Vega-Lite charts: by month, and by load.

Policies differ by shape as well as by colour. Filled points and lines are simulated, open points
are those of the thesis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import nan
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import Figure, kit
from batsched_py.report.kit import Chart, Interval
from batsched_py.support import palette
from batsched_studies.dynp import PUBLISHED, TEXTS
from batsched_studies.dynp.load import Load
from batsched_studies.dynp.measures import MeasuredRun

LABELS = {
    "fcfs": "FCFS",
    "sjf": "SJF",
    "ljf": "LJF",
    "advanced full": "dynP, advanced",
    "sjf-preferred full": "dynP, SJF-preferred",
}
"""The policies that are drawn, and their labels."""
_COLOURS = (palette.PURPLE, palette.BLUE, palette.ORANGE, palette.BLACK, palette.GREEN)
COLOURS = dict(zip(LABELS.values(), _COLOURS, strict=True))
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
SHAPES = dict(zip(LABELS.values(), _SHAPES, strict=True))
MONTHLY = ("fcfs", "sjf", "ljf", "advanced full")
Lines = list[dict[str, Any]]


def draw_figures(runs: Iterable[MeasuredRun], loads: Iterable[Load]) -> Iterator[Figure | None]:
    """Yield the figures of the study, as far as the campaign has runs for them."""
    yield from draw_months(runs)
    for load in loads:
        yield draw_load(load, "SLDwA")
        yield draw_load(load, "UTIL")
        yield draw_slackness(load)


def draw_months(runs: Iterable[MeasuredRun]) -> Iterator[Figure]:
    """Yield for each log with two policies or more a figure of SLDwA by month of submission."""
    logs: dict[str, dict[str, MeasuredRun]] = {}
    for run in runs:
        usual = run.policy.plain and run.estimates == "user"
        if usual and run.policy.key in MONTHLY and len(run.months):
            by_policy = logs.setdefault(run.log, {})
            if not run.policy.legacy_fcfs_list_order or run.policy.key not in by_policy:
                by_policy[run.policy.key] = run
    for log, by_policy in logs.items():
        if len(by_policy) > 1:
            lines = []
            for policy, run in by_policy.items():
                for month in kit.rows(run.months):
                    thesis = kit.in_column(PUBLISHED, ("monthly", run.trace, month.name), policy)
                    ours = Interval(month.sldwa, nan, nan, 1)
                    lines.append(_point(policy, month.name, ours, thesis))
            yield TEXTS.figure(
                "monthly_figures",
                _chart(lines, "month", "month of submission", "SLDwA", log=True),
                name=kit.slug("sldwa_by_month", log),
                log=log,
            )


def draw_load(load: Load, metric: str) -> Figure | None:
    """Draw a metric by shrinking factor; None if only one factor was run."""
    lines = []
    for policy in load.list_policies():
        for shrink in load.list_factors():
            ours = load.mean(policy, shrink, metric)
            if ours is not None and policy in LABELS:
                thesis = load.find_thesis_level(metric, shrink, policy)
                lines.append(_point(policy, shrink, ours, thesis))
    if len({line["x"] for line in lines}) < 2:
        return None
    unit = " (%)" if metric == "UTIL" else ""
    return TEXTS.figure(
        "load_figure",
        _chart(lines, "factor", "shrinking factor", metric + unit, log=metric == "SLDwA"),
        name=kit.slug(metric, "by_load", load.log),
        metric=metric,
        log=load.log,
    )


def draw_slackness(load: Load) -> Figure | None:
    """Draw the average gain over SJF by slackness."""
    lines = []
    for policy, values in load.list_slacknesses():
        for slackness in values if policy in LABELS else ():
            ours = load.average_gain(policy, slackness, "SLDwA")
            if ours is not None:
                thesis = load.find_thesis_gain(policy, slackness)
                lines.append(_point(policy, slackness, ours, thesis))
    if not lines:
        return None
    return TEXTS.figure(
        "slackness_figure",
        _chart(lines, "slackness", "slackness (%)", "gain over SJF (%)"),
        name=kit.slug("gain_by_slackness", load.log),
        log=load.log,
    )


def _point(policy: str, x: Any, ours: Interval, thesis: float | None) -> dict[str, Any]:
    value, *ends = kit.chart_cells(ours).items()
    return {"policy": LABELS[policy], "x": x, **dict([value]), "thesis": thesis, **dict(ends)}


def _chart(lines: Lines, what: str, x: str, y: str, *, log: bool = False) -> Chart:
    there = [label for label in LABELS.values() if any(line["policy"] == label for line in lines)]
    shape = alt.Shape("policy:N", title=None, scale=kit.scale_of(SHAPES, there))
    options: dict[str, Any] = {"type": "log"} if log else {"zero": False}
    scale = alt.Scale(nice=False, padding=10, **options)
    order = "descending" if what == "factor" else "ascending"
    axis = alt.Axis(labelAngle=-45 * (what == "month"))
    aside = {} if what == "month" else {"xOffset": alt.XOffset("policy:N", sort=there)}
    base: Chart = alt.Chart(pd.DataFrame(lines))
    base = base.encode(
        x=alt.X("x:O", title=x, sort=order, axis=axis),
        color=alt.Color("policy:N", title=None, scale=kit.scale_of(COLOURS, there)),
        **aside,
        tooltip=["policy:N", alt.Tooltip("x:O", title=what), *kit.numbers("ours", "thesis")],
    )
    ours = alt.Y("ours:Q", title=y, scale=scale)
    layers = [base.mark_line(strokeWidth=1.2).encode(y=ours), *kit.intervals(base, lines, y)]
    layers.append(base.mark_point(filled=True, size=40, opacity=1).encode(y=ours, shape=shape))
    if any(line["thesis"] is not None for line in lines):
        points = base.transform_filter("datum.thesis != null").mark_point(size=90)
        layers.append(points.encode(y=alt.Y("thesis:Q", title=y, scale=scale), shape=shape))
    return alt.layer(*layers).properties(width="container", height=320)
