"""The report of a campaign whose file names none: its metrics over its axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

import pandas as pd

from batsched_py.metrics import METRICS
from batsched_py.report.document import Column, Figure, Part, Report, Table
from batsched_py.report.formatting import spoken
from batsched_py.report.kit.estimates import cells, mean_of_repeats
from batsched_py.report.kit.selection import Runs
from batsched_py.report.kit.tables import columns, sections
from batsched_py.report.paired_ratios import REPEATED, ratios_table
from batsched_py.report.runs_table import MAIN_METRICS
from batsched_py.report.sites_tables import site_tables
from batsched_py.support.statistics import RESAMPLES

if TYPE_CHECKING:
    from batsched_py.campaign.campaign_folder import CampaignResults

GROUPS = {
    "waiting": (
        "Waiting and response",
        ("mean_waiting_time", "max_waiting_time", "mean_turnaround_time", "mean_queue_length"),
    ),
    "slowdown": (
        "Slowdown",
        ("mean_bounded_slowdown", "mean_bounded_slowdown_60", "mean_slowdown_by_area"),
    ),
    "machine": (
        "The machine",
        ("utilisation", "loss_of_capacity", "throughput_per_hour", "makespan"),
    ),
    "users": ("Users", ("mean_lateness", "jobs_per_session_think_20", "mean_activity_length")),
    "grid": (
        "Several sites",
        ("multi_site_job_share", "multi_site_area_share", "away_area_share"),
    ),
}
"""By name of the table: title, metrics. All metrics are in the campaign's ``results.csv``."""
_MOST_LINES = 12
_MOST_LABELS = 40


def plain_report(results: CampaignResults) -> Report:
    """Return tables and figures of the main metrics over the axes of a campaign.

    Over replications and seeds: the mean and its bootstrap interval (95 %). If an axis has some
    values (policies first): each beside the first of them, seed by seed (:mod:`ratios`).
    """
    runs = results.runs
    axes = [name for name in results.axes if name in runs and name not in REPEATED]
    repeats = [name for name in REPEATED if name in results.axes and name in runs]
    main = [metric for metric in MAIN_METRICS if _is_there(runs, metric)]
    tables = []
    for name, (title, metrics) in GROUPS.items():
        if there := [metric for metric in metrics if _is_there(runs, metric)]:
            tables.append(_table(runs, axes, name, title, there))
    figures = [_figure(runs, axes, metric) for metric in main] if axes else []
    parts: list[tuple[str, Iterable[Part | None]]] = [
        ("Compared", [ratios_table(runs, axes, main, repeats)]),
        ("Metrics", tables),
        ("Sites", site_tables(results, axes, repeats)),
        ("Figures", figures),
    ]
    return Report(
        title=results.title or results.name,
        source="",
        sections=tuple(sections(parts)),
        summary=_summary(results, axes, tables),
    )


def _summary(results: CampaignResults, axes: Sequence[str], tables: Sequence[Table]) -> str:
    runs = results.runs
    over = f" over {', '.join(f'`{name}`' for name in axes)}" if axes else ""
    text = f"{len(runs)} of {results.nb_planned} runs{over}."
    repeated = [name for name in REPEATED if name in results.axes]
    if repeated:
        text += f" Means over `{'`, `'.join(repeated)}`"
        if any(column.name.endswith("_low") for table in tables for column in table.shown):
            text += f", with 95 % bootstrap intervals ({RESAMPLES} resamples)."
        elif len(runs):
            text += ": runs that differ in nothing else gave the same, so there are no intervals."
    return text


def _is_there(runs: pd.DataFrame, metric: str) -> bool:
    return metric in runs and bool(runs[metric].notna().any())


def _table(
    runs: pd.DataFrame, axes: Sequence[str], name: str, title: str, metrics: Sequence[str]
) -> Table:
    rows = []
    for labels, group in Runs(runs).groups(*axes):
        row: dict[str, Any] = {**dict(zip(axes, labels, strict=True)), "runs": len(group)}
        for metric in metrics:
            mean = mean_of_repeats(group.frame[metric])
            row |= cells(mean, metric, f"{metric}_low", f"{metric}_high")
        rows.append(row)
    frame = pd.DataFrame(rows)
    shown = [Column(name, spoken(name)) for name in (*axes, "runs")]
    for metric in metrics:
        shown.append(Column(metric, _with_unit(metric)))
        if frame[f"{metric}_low"].notna().any():
            shown += columns({f"{metric}_low": "95 % from", f"{metric}_high": "to"})
    note = "\n".join(f"- *{spoken(metric)}*: {METRICS[metric].formula}" for metric in metrics)
    return Table(name, title, frame, tuple(shown), note)


def _figure(runs: pd.DataFrame, axes: Sequence[str], metric: str) -> Figure:
    rows = []
    for labels, group in Runs(runs).groups(*axes):
        mean = mean_of_repeats(group.frame[metric])
        if mean.nb:
            ends = {} if isnan(mean.low) else {"low": mean.low, "high": mean.high}
            rows.append({**_plain(axes, labels), "value": mean.value, **ends})
    repeats = any("low" in row for row in rows)
    caption = "Means over the replications; bars are 95 % bootstrap intervals." if repeats else ""
    chart = _spec(rows, axes, _with_unit(metric))
    return Figure(f"figure_{metric}", spoken(metric).capitalize(), chart, caption)


def _spec(rows: list[dict[str, Any]], axes: Sequence[str], title: str) -> dict[str, Any]:
    """Return lines over a number if the campaign has such an axis, else a row for each label."""
    numeric = [name for name in axes if all(isinstance(row[name], int | float) for row in rows)]
    x = max(numeric, key=lambda name: len({row[name] for row in rows}), default=None)
    others = [name for name in axes if name != x]
    for row in rows:
        row["runs"] = ", ".join(str(row[name]) for name in others) or "all"
    labels = list(dict.fromkeys(row["runs"] for row in rows))
    if x is not None and len(labels) <= _MOST_LINES:
        return _lines(rows, x, others, labels, title)
    for row in rows:
        row["runs"] = ", ".join(str(row[name]) for name in axes)
    return _dots(rows[:_MOST_LABELS], axes, title)


def _lines(
    rows: list[dict[str, Any]], x: str, others: Sequence[str], labels: list[str], title: str
) -> dict[str, Any]:
    across = {"field": x, "type": "quantitative", "title": spoken(x), "scale": {"zero": False}}
    upwards = {"type": "quantitative", "title": title, "scale": {"zero": False}}
    layers: list[dict[str, Any]] = [
        {
            "params": [{"name": "zoom", "select": "interval", "bind": "scales"}],
            "mark": {"type": "line", "point": {"filled": True, "size": 60}},
            "encoding": {"y": {"field": "value", **upwards}, "tooltip": _tooltip([x, *others])},
        },
        {
            "mark": {"type": "rule"},
            "encoding": {"y": {"field": "low", **upwards}, "y2": {"field": "high"}},
        },
    ]
    encoding: dict[str, Any] = {"x": across}
    if len(labels) > 1:
        told = ", ".join(map(spoken, others))
        encoding["color"] = {"field": "runs", "type": "nominal", "sort": labels, "title": told}
    return _chart(rows, layers, encoding) | {"height": 280}


def _dots(rows: list[dict[str, Any]], axes: Sequence[str], title: str) -> dict[str, Any]:
    across = {"type": "quantitative", "title": title, "scale": {"zero": False}}
    upwards = {"field": "runs", "type": "nominal", "sort": None, "title": ", ".join(axes)}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rule"},
            "encoding": {"x": {"field": "low", **across}, "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 80},
            "encoding": {"x": {"field": "value", **across}, "tooltip": _tooltip(axes)},
        },
    ]
    height = 22 * len({row["runs"] for row in rows})
    return _chart(rows, layers, {"y": upwards}) | {"height": height}


def _chart(
    rows: list[dict[str, Any]], layers: list[dict[str, Any]], encoding: dict[str, Any]
) -> dict[str, Any]:
    if not any("low" in row for row in rows):  # no intervals: the layer of the values only
        layers = [layer for layer in layers if "tooltip" in layer["encoding"]]
    data = {"values": rows}
    return {"width": "container", "data": data, "encoding": encoding, "layer": layers}


def _tooltip(axes: Sequence[str]) -> list[dict[str, str]]:
    return [
        *({"field": name, "type": "nominal", "title": spoken(name)} for name in axes),
        {"field": "value", "type": "quantitative", "format": ".5~g"},
        {"field": "low", "type": "quantitative", "format": ".5~g", "title": "95 % from"},
        {"field": "high", "type": "quantitative", "format": ".5~g", "title": "to"},
    ]


def _plain(axes: Sequence[str], labels: Sequence[Any]) -> dict[str, Any]:
    """Return labels that JSON knows: numpy's scalars as Python's."""
    plain = [label.item() if hasattr(label, "item") else label for label in labels]
    return dict(zip(axes, plain, strict=True))


def _with_unit(metric: str) -> str:
    unit = METRICS[metric].unit
    return spoken(metric) if unit == "1" else f"{spoken(metric)} [{unit}]"
