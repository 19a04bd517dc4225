"""How far the values of the tables move: by the order of events, and by who is in the log.

``shake.toml`` repeats each run with shaken order of simultaneous events, ``confidence.toml`` with
resampled logs (Zakay, PhD thesis, chapter 3). The runs of one seed have the same people on all
infrastructures, so that differences between these are taken seed by seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import Any

import altair as alt
import pandas as pd

from batsched_py.report import Column, Figure, Part, Section, Table, Text
from batsched_py.report.kit.charts import Chart
from batsched_py.support import statistics
from batsched_studies.replay_feedback import tables

BASE = "easy"
"""The infrastructure that others are compared with."""
_SHOWN = ("makespan", "mean_waiting_time", "mean_lateness")
_TABULATED = ("makespan", "mean_waiting_time", "max_waiting_time", "mean_lateness")
"""Relative and additional lateness follow from the mean."""


def resampled_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of resampled logs, with short log names."""
    if "people" not in runs:
        return runs.iloc[:0]
    own = runs[runs["people"].notna()]
    return own.assign(log=own["log"].map(tables.log_name))


def shake_sections(cells: Sequence[Any]) -> list[Section]:
    """Return what is to be said of shaken runs; nothing if there are none."""
    parts: list[Part] = []
    for log, size in sorted({(c.log, c.size) for c in cells if len(c.values) > 1}):
        own = [c for c in cells if (c.log, c.size) == (log, size) and len(c.values) > 1]
        name = f"{tables.slug(log)}_{tables.slug(size)}"
        frame = pd.DataFrame([_spread_row(cell) for cell in own])
        title = f"Spread by the order of simultaneous events ({log}, {size} sizes)"
        note = (
            "`inside`: whether the paper's value is between the smallest and the largest of the "
            "runs, give or take half of its last digit; `spreads`: how far it is from our median, "
            "in units of half the distance of the quantiles 2.5 % and 97.5 %, beyond its rounding."
        )
        parts.append(Table(f"shake_{name}", title, frame, _known(frame, _SPREAD), note))
        caption = "Lines: all runs; points: medians; diamonds: the paper's values."
        chart = interval_chart(frame, ("minimum", "median", "maximum"))
        parts.append(Figure(f"fig_shake_{name}", title, chart, caption))
    return [Section("The order of simultaneous events", tuple(parts))] if parts else []


def _known(frame: pd.DataFrame, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return the columns without those about published values, if nothing was published."""
    if frame["published"].notna().any():
        return tuple(columns)
    return tuple(column for column in columns if column.name not in _ABOUT_PUBLISHED)


_ABOUT_PUBLISHED = ("published", "spreads", "inside", "within")
_PLACE = (Column("infrastructure"), Column("replay"), Column("quantity"))
_SPREAD = (
    *_PLACE,
    Column("nb_runs", "runs"),
    Column("median", decimals=2, kind="ours"),
    Column("minimum", decimals=2, kind="ours"),
    Column("maximum", decimals=2, kind="ours"),
    Column("published", "paper", decimals=2, kind="published"),
    Column("spreads", decimals=1, kind="difference"),
    Column("inside"),
)


def _spread_row(cell: Any) -> dict[str, Any]:
    own = _beside(cell.values, cell.published)
    return {
        "infrastructure": cell.infrastructure,
        "replay": cell.replay,
        "metric": cell.metric,
        "quantity": tables.unit_title(cell.metric, cell.unit),
        "nb_runs": own.nb,
        "median": own.ours,
        "minimum": min(cell.values),
        "maximum": max(cell.values),
        "published": cell.published,
        "spreads": None if cell.published is None else own.spreads,
        "inside": cell.inside,
    }


def _beside(values: Any, published: float | None) -> statistics.Beside:
    """Return values beside the number nearest to their median that is printed as published."""
    if published is None:
        return statistics.beside(values, float("nan"))
    (middle,) = statistics.quantiles(values, (0.5,))
    return statistics.beside(values, tables.nearest(published, middle))


def confidence_sections(runs: pd.DataFrame, published: dict[str, Any]) -> list[Section]:
    """Return what is to be said of resampled logs; nothing if there are none."""
    parts: list[Part] = []
    for (log, size), own in resampled_runs(runs).groupby(["log", "size"]):
        name = f"{tables.slug(log)}_{tables.slug(size)}"
        frame = confidence_frame(own, str(log), published)
        where = f"({log}, {size} sizes)"
        title = f"Resampled logs {where}"
        columns = _known(frame, _CONFIDENCE)
        parts.append(Table(f"confidence_{name}", title, frame, columns, _CONFIDENCE_NOTE))
        caption = (
            "Lines: from the 2.5 % to the 97.5 % quantile of resampled logs; points: medians; "
            "diamonds: the paper's values, of the one recorded log. Waits below 0.001 d are at the "
            "edge of the axis."
        )
        chart = interval_chart(frame, ("low", "median", "high"))
        parts.append(Figure(f"fig_confidence_{name}", title, chart, caption))
        paired = paired_frame(own, str(log), published)
        if len(paired):
            title = f"Differences to {BASE}, replication by replication {where}"
            columns = _known(paired, _PAIRED)
            parts.append(Table(f"paired_{name}", title, paired, columns, _PAIRED_NOTE))
        order = order_frame(own)
        if len(order):
            title = f"The ranking, replication by replication {where}"
            parts.append(Table(f"order_{name}", title, order, _ORDER, _ORDER_NOTE))
    if not parts:
        return []
    return [Section("Confidence by resampled logs", (Text(_CONFIDENCE_TEXT), *parts))]


_CONFIDENCE_TEXT = (
    "Each replication draws other people from the log by chance, each with all that he recorded, "
    "whole weeks later or earlier, with his waits, and so with his think times and sessions. What "
    "differs between replications is what chance could have made of the same users."
)
_CONFIDENCE = (
    *_PLACE,
    Column("nb_runs", "logs"),
    Column("mean", decimals=2, kind="ours"),
    Column("mean_low", "95 % from", 2, "ours"),
    Column("mean_high", "to", 2, "ours"),
    Column("low", "2.5 %", 2, "ours"),
    Column("median", "50 %", 2, "ours"),
    Column("high", "97.5 %", 2, "ours"),
    Column("published", "paper", 2, "published"),
    Column("spreads", "spreads", 1, "difference"),
    Column("within"),
)
_CONFIDENCE_NOTE = (
    "`95 % from .. to`: bootstrap interval of the mean; then the quantiles of single resampled "
    "logs. The paper has one log: `within` says whether its value is between the outer quantiles, "
    "`spreads` how far from the median it is in units of half their distance; both give or take "
    "its rounding."
)


def confidence_frame(runs: pd.DataFrame, log: str, published: dict[str, Any]) -> pd.DataFrame:
    """Return a row for each infrastructure, replay and metric of the runs of one log."""
    groups = dict(iter(runs.groupby(["infrastructure", "replay"])))
    rows = []
    for metric in _TABULATED:
        unit, table = tables.metrics_of(published)[metric]
        for run in product(tables.INFRASTRUCTURES, tables.REPLAYS):
            if run in groups and not (table == "table2" and run[1] == "rigid"):
                values = pd.to_numeric(groups[run][metric]) / tables.UNITS[unit]
                value = tables.printed(published, log, run, metric)
                rows.append(_place(run, metric, unit) | _intervals(values, value))
    return pd.DataFrame(rows)


def _place(run: tuple[str, str], metric: str, unit: str) -> dict[str, Any]:
    names = {"infrastructure": run[0], "replay": run[1], "metric": metric}
    return names | {"quantity": tables.unit_title(metric, unit)}


def _intervals(values: Any, published: float | None) -> dict[str, Any]:
    mean = statistics.bootstrap(values)
    own = _beside(values, published)
    return {
        "nb_runs": own.nb,
        "mean": mean.value,
        "mean_low": mean.low,
        "mean_high": mean.high,
        "low": own.low,
        "median": own.ours,
        "high": own.high,
        "published": published,
        "spreads": None if published is None else own.spreads,
        "within": None if published is None or own.nb < 2 else own.within,
    }


_PAIRED = (
    *_PLACE,
    Column("nb_runs", "pairs"),
    Column("difference", "difference", 2, "ours"),
    Column("low", "95 % from", 2, "ours"),
    Column("high", "to", 2, "ours"),
    Column("published", "paper", 2, "published"),
    Column("clear", "sign is clear"),
)
_PAIRED_NOTE = (
    f"Mean of (value - value of {BASE}) over resampled logs, with the same people in both, and its "
    "bootstrap interval; the paper's is that of its tables. The sign is clear if the interval is "
    "on one side of 0."
)


def paired_frame(runs: pd.DataFrame, log: str, published: dict[str, Any]) -> pd.DataFrame:
    """Return the differences between each infrastructure and :data:`BASE`, paired by seed."""
    rows = []
    for metric in _SHOWN:
        unit, table = tables.metrics_of(published)[metric]
        for infrastructure, replay in product(tables.INFRASTRUCTURES, tables.REPLAYS):
            pairs = _pairs(runs, metric, replay)
            both = {infrastructure, BASE} <= set(pairs)
            if not both or infrastructure == BASE or (table == "table2" and replay == "rigid"):
                continue
            ours, base = (pairs[name] / tables.UNITS[unit] for name in (infrastructure, BASE))
            interval = statistics.paired_difference(ours, base)
            values = [
                tables.printed(published, log, (name, replay), metric)
                for name in (infrastructure, BASE)
            ]
            row = {
                "nb_runs": interval.nb,
                "difference": interval.value,
                "low": interval.low,
                "high": interval.high,
                "published": None if None in values else values[0] - values[1],
                "clear": _clear(interval),
            }
            rows.append(_place((infrastructure, replay), metric, unit) | row)
    return pd.DataFrame(rows)


_ORDER = (
    Column("replay"),
    Column("earlier"),
    Column("later"),
    Column("nb_runs", "pairs"),
    Column("difference", "difference of mean lateness (d)", 2, "ours"),
    Column("low", "95 % from", 2, "ours"),
    Column("high", "to", 2, "ours"),
    Column("nb_right", "logs in this order"),
    Column("clear", "sign is clear"),
)
_ORDER_NOTE = (
    "Neighbours of the published ranking: how much later, in the mean over all jobs, the same "
    "people submit on the second than on the first."
)


def order_frame(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the differences of mean lateness between neighbours of the ranking, by replay."""
    rows = []
    for replay in tables.REPLAYS[1:]:
        pairs = _pairs(runs, "mean_lateness", replay) / tables.UNITS["d"]
        for earlier, later in pairwise(tables.RANKING):
            if not {earlier, later} <= set(pairs):
                continue
            interval = statistics.paired_difference(pairs[later], pairs[earlier])
            row = {
                "replay": replay,
                "earlier": earlier,
                "later": later,
                "nb_runs": interval.nb,
                "difference": interval.value,
                "low": interval.low,
                "high": interval.high,
                "nb_right": int((pairs[later] > pairs[earlier]).sum()),
                "clear": _clear(interval),
            }
            rows.append(row)
    return pd.DataFrame(rows)


def lateness_by_replication(runs: pd.DataFrame, replay: str) -> Iterator[dict[str, float]]:
    """Yield the mean lateness (seconds) of the infrastructures of each replication."""
    for _, row in _pairs(runs, "mean_lateness", replay).iterrows():
        yield row.dropna().to_dict()


def _pairs(runs: pd.DataFrame, metric: str, replay: str) -> pd.DataFrame:
    """Return a row for each replication, a column for each infrastructure; SI units."""
    own = runs[runs["replay"] == replay]
    own = own.assign(**{metric: pd.to_numeric(own[metric])})
    return own.pivot_table(metric, "replication", "infrastructure")


def _clear(interval: Any) -> bool | None:
    return None if interval.nb < 2 else bool(interval.low > 0 or interval.high < 0)


def interval_chart(frame: pd.DataFrame, columns: tuple[str, str, str]) -> Chart:
    """Return intervals of makespan, mean wait, and mean lateness, and the published values."""
    charts = []
    for metric in _SHOWN:
        own = frame[frame["metric"] == metric]
        if len(own):
            charts.append(_intervals_of(own, columns, log_scale=metric == "mean_waiting_time"))
    return alt.hconcat(*charts).resolve_scale(color="shared")


_REPLAY_COLOURS = alt.Scale(domain=list(tables.REPLAYS), range=["#888888", "#E69F00", "#0072B2"])


_AXIS = alt.Axis(tickCount=4, labelOverlap="greedy")


def _intervals_of(frame: pd.DataFrame, columns: tuple[str, str, str], *, log_scale: bool) -> Chart:
    low, middle, high = columns
    kept = ["infrastructure", "replay", "quantity", "nb_runs", *columns, "published"]
    shown = frame[kept].copy()
    numbers = [*columns, "published"]
    least = 0.001  # days: what rounds to 0.00 is drawn at the edge of a logarithmic axis
    shown[numbers] = shown[numbers].astype(float)
    if log_scale:
        shown[numbers] = shown[numbers].clip(lower=least)
    shown[numbers] = shown[numbers].round(5)
    title = f"{frame['quantity'].iloc[0]}{', logarithmic' if log_scale else ''}"
    scale = alt.Scale(type="log", nice=False, padding=8) if log_scale else alt.Scale(zero=False)

    def x(column: str) -> alt.X:
        return alt.X(f"{column}:Q", title=title, scale=scale, axis=_AXIS)

    base = alt.Chart(shown, width=200, height=230).encode(
        y=alt.Y("infrastructure:N", sort=list(tables.INFRASTRUCTURES), title=None),
        yOffset=alt.YOffset("replay:N", sort=list(tables.REPLAYS)),
        color=alt.Color("replay:N", scale=_REPLAY_COLOURS),
        tooltip=kept,
    )
    rules = base.mark_rule(strokeWidth=3).encode(x=x(low), x2=high)
    points = base.mark_point(filled=True, size=35, opacity=1).encode(x=x(middle))
    paper = base.mark_point(shape="diamond", size=45, opacity=1).encode(
        x=x("published"), color=alt.value("black")
    )
    return rules + points + paper.transform_filter("isValid(datum.published)")
