"""Draws the metrics of a campaign: bars, or lines over a numeric axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report.campaign_axes import (
    INPUTS,
    CampaignAxes,
    format_axis,
    format_labels,
    shorten_names,
)
from batsched_py.report.document import Figure
from batsched_py.report.kit.charts import Chart, numbers
from batsched_py.report.kit.estimates import mean_of_repeats
from batsched_py.report.kit.selection import Runs
from batsched_py.report.metric_words import ShownMetric

_MOST_LINES = 12
_MOST_PANELS = 12
_PANEL_WIDTH = 360
_BAR = 26
"""Pixels of a bar with its space."""
_LINES_HEIGHT = 240
_MOST_TICKS = 12

Row = dict[str, Any]


def draw_metric(runs: pd.DataFrame, axes: CampaignAxes, metric: ShownMetric) -> Figure | None:
    """Draw the means of a metric by the axes of a campaign; None if no axis varies.

    If an axis is numeric, that with most values goes across; else each value of the compared one
    is a bar. What else varies has panels. The data are in SI units.
    """
    if not axes.labels:
        return None
    across = _numeric_axis(runs, axes)
    lines = axes.compared if axes.compared != across else axes.users
    if lines is None and across is None:
        lines = axes.labels[-1]
    panels = [label for label in axes.labels if label not in (across, lines)]
    names = {label: shorten_names(runs[label].unique()) for label in axes.labels}
    rows = [row for row in _rows(runs, axes, metric, across, lines, panels, names) if row]
    if not rows:
        return None
    there = list(dict.fromkeys(row["panel"] for row in rows))
    left_out = there[_MOST_PANELS:]
    rows = [row for row in rows if row["panel"] not in left_out]
    if across is None:
        layers, height = _bars(metric, lines or "", rows)
    else:
        layers, height = _lines(metric, across, lines, rows)
    own_scale = ("x" if across is None else "y") if set(panels) & set(INPUTS) else ""
    chart = _chart(rows, layers, height, metric, own_scale)
    caption = _caption(rows, across, len(left_out), own_scale)
    title = f"{metric.title[0].upper()}{metric.title[1:]}"
    return Figure(f"figure_{metric.name}", title, chart, caption)


def _numeric_axis(runs: pd.DataFrame, axes: CampaignAxes) -> str | None:
    numeric = [
        label
        for label in axes.labels
        if pd.api.types.is_numeric_dtype(runs[label])
        and not pd.api.types.is_bool_dtype(runs[label])
        and runs[label].nunique() > 1
    ]
    across = max(numeric, key=lambda label: runs[label].nunique(), default=None)
    if across is None or axes.compared in (None, across):
        return across
    return across if runs[axes.compared].nunique(dropna=False) <= _MOST_LINES else None


def _rows(
    runs: pd.DataFrame,
    axes: CampaignAxes,
    metric: ShownMetric,
    across: str | None,
    lines: str | None,
    panels: Sequence[str],
    names: Mapping[str, Mapping[Any, str]],
) -> list[Row]:
    rows = []
    for values, group in Runs(runs).groups(*axes.labels):
        labels = dict(zip(axes.labels, values, strict=True))
        mean = mean_of_repeats(group.frame[metric.name].astype(float))
        if isnan(mean.value):
            continue
        row: Row = {"panel": format_labels({axis: labels[axis] for axis in panels}, names)}
        row["name"] = names[lines][labels[lines]] if lines is not None else ""
        if across is not None:
            row["across"] = float(labels[across])
        row["value"] = mean.value
        if not isnan(mean.low):
            row |= {"low": mean.low, "high": mean.high}
        rows.append(row)
    return rows


def _bars(metric: ShownMetric, lines: str, rows: Sequence[Row]) -> tuple[list[Chart], int]:
    names = list(dict.fromkeys(row["name"] for row in rows))
    length: dict[str, Any] = {"title": metric.heading, "axis": alt.Axis(tickCount=5)}
    base: Chart = alt.Chart().encode(y=alt.Y("name:N", sort=names, title=None))
    bars = base.mark_bar(height=alt.RelativeBandSize(0.6)).encode(
        x=alt.X("shown:Q", **length), tooltip=_tooltip(metric, {"name": format_axis(lines)})
    )
    ends = base.mark_rule(strokeWidth=2, color="black").encode(
        x=alt.X("shown_low:Q", **length), x2="shown_high"
    )
    return [bars, ends], _BAR * len(names)


def _lines(
    metric: ShownMetric, across: str, lines: str | None, rows: Sequence[Row]
) -> tuple[list[Chart], int]:
    names = list(dict.fromkeys(row["name"] for row in rows))
    values = sorted({row["across"] for row in rows})
    x = alt.X("across:Q", title=format_axis(across)).scale(zero=False, padding=12)
    if len(values) <= _MOST_TICKS:
        x = x.axis(values=values, format=".4~g")
    y: dict[str, Any] = {"title": metric.heading, "scale": alt.Scale(zero=True)}
    shown = {"across": format_axis(across)} | ({"name": format_axis(lines)} if lines else {})
    base: Chart = alt.Chart().encode(x=x)
    dashed = base
    if len(names) > 1:
        legend: dict[str, Any] = {"sort": names, "title": format_axis(lines or "")}
        base = base.encode(color=alt.Color("name:N", **legend))
        dashed = base.encode(strokeDash=alt.StrokeDash("name:N", legend=None, **legend))
    line = dashed.mark_line(point=alt.OverlayMarkDef(filled=True, size=60)).encode(
        y=alt.Y("shown:Q", **y), tooltip=_tooltip(metric, shown)
    )
    ends = base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("shown_low:Q", **y), y2="shown_high")
    return [line, ends], _LINES_HEIGHT


def _chart(
    rows: Sequence[Row], layers: list[Chart], height: int, metric: ShownMetric, own_scale: str
) -> Chart:
    intervals = any("low" in row for row in rows)
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    shown = {"value": "shown"} | ({"low": "shown_low", "high": "shown_high"} if intervals else {})
    scaled = "isValid(datum.{0}) ? datum.{0} / {1} : null"  # not 0 where there is none
    in_unit = {to: scaled.format(name, metric.scale) for name, to in shown.items()}
    data = alt.Data(values=list(rows))  # type: ignore[no-untyped-call]
    layered = alt.layer(*layers[: 2 if intervals else 1], data=data)
    chart: Chart = layered.transform_calculate(**in_unit).properties(height=height)
    if len(panels) == 1:
        # Other figures may have more panels than this one.
        title = {"title": alt.TitleParams(panels[0], anchor="start")} if panels[0] else {}
        chart = chart.properties(width="container", **title)
    else:
        facet, columns = alt.Facet("panel:N", sort=panels, title=None), 3 if len(panels) == 3 else 2
        chart = chart.properties(width=_PANEL_WIDTH).facet(facet, columns=columns)
        if own_scale:
            own: dict[str, Any] = {own_scale: "independent"}
            chart = chart.resolve_scale(**own)
        if len(panels) % columns:  # else an axis is below the missing panel
            chart = chart.resolve_axis(x="independent")
    return chart


def _tooltip(metric: ShownMetric, titles: Mapping[str, str]) -> list[alt.Tooltip]:
    of = {"panel": "of", **titles}
    labels = [alt.Tooltip(f"{name}:N", title=title) for name, title in of.items()]
    return labels + numbers(shown=metric.heading, shown_low="95 % from", shown_high="to")


def _caption(rows: Sequence[Row], across: str | None, left_out: int, own_scale: str) -> str:
    notes = []
    if any("low" in row for row in rows):
        notes.append("Means over repeated runs with their 95 % intervals.")
    if across is not None:
        notes.append(f"The vertical axis includes 0, that of {format_axis(across)} need not.")
    if own_scale:
        notes.append("Each panel has its own scale.")
    if left_out:
        notes.append(f"The tables have {left_out} more cases.")
    return " ".join(notes)
