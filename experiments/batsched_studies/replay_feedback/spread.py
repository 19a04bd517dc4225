"""How far the values of the tables move: by the order of events, and by who is in the log.

``shake.toml`` repeats each run with shaken order of simultaneous events, ``confidence.toml`` with
resampled logs (Zakay, PhD thesis, chapter 3). The runs of one seed have the same people on all
infrastructures, so that differences between these are taken seed by seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any

import altair as alt
import pandas as pd
from numpy.typing import ArrayLike

from batsched_py.report import Column, Figure, Part, Section, Table, Text
from batsched_py.report.kit import palette
from batsched_py.report.kit.charts import Chart, scale_of
from batsched_py.report.kit.estimates import cells as estimated
from batsched_py.report.kit.selection import log_name, slug
from batsched_py.report.kit.tables import columns, sections, table, where_known
from batsched_py.support.statistics import (
    Beside,
    Interval,
    beside,
    bootstrap,
    paired_difference,
    quantiles,
)
from batsched_studies.replay_feedback import TEXTS
from batsched_studies.replay_feedback.tables import (
    INFRASTRUCTURES,
    RANKING,
    REPLAYS,
    UNITS,
    Cell,
    metrics_of,
    nearest,
    of_run,
    printed,
)

BASE = "easy"
"""The infrastructure that others are compared with."""
_SHOWN = ("makespan", "mean_waiting_time", "mean_lateness")
_TABULATED = ("makespan", "mean_waiting_time", "max_waiting_time", "mean_lateness")
"""Relative and additional lateness follow from the mean."""
_PLACE = columns("infrastructure", "replay", "quantity")
Rows = list[dict[str, Any]]


def resampled_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of resampled logs, with short log names."""
    if "people" not in runs:
        return runs.iloc[:0]
    own = runs[runs["people"].notna()]
    return own.assign(log=own["log"].map(log_name))


def _shown(rows: Rows, shown: Sequence[Column]) -> tuple[Column, ...]:
    """Return the columns without those about published values, if nothing was published."""
    about = {"published", "spreads", "inside", "within"}
    known = len(where_known(rows, columns("published", kind="published")))
    return tuple(column for column in shown if known or column.name not in about)


def shake_sections(cells: Sequence[Cell]) -> Iterator[Section]:
    """Yield what is to be said of shaken runs; nothing if there are none."""
    parts: list[Part | None] = []
    several = [cell for cell in cells if len(cell.values) > 1]
    shown = (
        *(*_PLACE, Column("nb_runs", "runs")),
        *columns("median", "minimum", "maximum", decimals=2, kind="ours"),
        Column("published", "paper", decimals=2, kind="published"),
        Column("spreads", decimals=1, kind="difference"),
        Column("inside"),
    )
    for log, size in sorted({(cell.log, cell.size) for cell in several}):
        rows = [_spread_row(cell) for cell in several if (cell.log, cell.size) == (log, size)]
        title = f"Spread by the order of simultaneous events ({log}, {size} sizes)"
        parts.append(
            table(
                f"shake_{slug(log, size)}",
                title,
                rows,
                _shown(rows, shown),
                TEXTS["shake"],
            )
        )
        chart = interval_chart(pd.DataFrame(rows), ("minimum", "median", "maximum"))
        caption = "Lines: all runs; points: medians; diamonds: the paper's values."
        parts.append(Figure(f"fig_shake_{slug(log, size)}", title, chart, caption))
    yield from sections([("The order of simultaneous events", parts)])


def _spread_row(cell: Cell) -> dict[str, Any]:
    own = _beside(cell.values, cell.published)
    return of_run((cell.infrastructure, cell.replay), cell.metric, cell.unit) | {
        "nb_runs": own.nb,
        "median": own.ours,
        "minimum": min(cell.values),
        "maximum": max(cell.values),
        "published": cell.published,
        "spreads": None if cell.published is None else own.spreads,
        "inside": cell.inside,
    }


def _beside(values: ArrayLike, published: float | None) -> Beside:
    """Return values beside the number nearest to their median that is printed as published."""
    if published is None:
        return beside(values, float("nan"))
    (middle,) = quantiles(values, (0.5,))
    return beside(values, nearest(published, middle))


def confidence_sections(runs: pd.DataFrame, published: dict[str, Any]) -> Iterator[Section]:
    """Yield what is to be said of resampled logs; nothing if there are none."""
    parts: list[Part | None] = []
    for (log, size), own in resampled_runs(runs).groupby(["log", "size"]):
        name, where = slug(log, size), f"({log}, {size} sizes)"
        rows = confidence_rows(own, str(log), published)
        parts.append(_confidence_table(name, f"Resampled logs {where}", rows))
        chart = interval_chart(pd.DataFrame(rows), ("low", "median", "high"))
        title = f"Resampled logs {where}"
        parts.append(Figure(f"fig_confidence_{name}", title, chart, TEXTS["confidence_figure"]))
        parts.append(_paired_table(name, where, paired_rows(own, str(log), published)))
        parts.append(_order_table(name, where, order_rows(own)))
    title = "Confidence by resampled logs"
    yield from sections([(title, [Text(TEXTS["confidence"]), *parts])] if parts else [])


def _confidence_table(name: str, title: str, rows: Rows) -> Table | None:
    shown = (
        *(*_PLACE, Column("nb_runs", "logs"), Column("mean", decimals=2, kind="ours")),
        *columns(decimals=2, kind="ours", mean_low="95 % from", mean_high="to"),
        *columns(decimals=2, kind="ours", low="2.5 %", median="50 %", high="97.5 %"),
        Column("published", "paper", 2, "published"),
        Column("spreads", "spreads", 1, "difference"),
        Column("within"),
    )
    return table(f"confidence_{name}", title, rows, _shown(rows, shown), TEXTS["confidence_table"])


def confidence_rows(runs: pd.DataFrame, log: str, published: dict[str, Any]) -> Rows:
    """Return a row for each infrastructure, replay and metric of the runs of one log."""
    groups: dict[Any, pd.DataFrame] = dict(iter(runs.groupby(["infrastructure", "replay"])))
    rows = []
    for metric in _TABULATED:
        unit, of_table = metrics_of(published)[metric]
        for run in product(INFRASTRUCTURES, REPLAYS):
            if run in groups and not (of_table == "table2" and run[1] == "rigid"):
                values = pd.to_numeric(groups[run][metric]) / UNITS[unit]
                value = printed(published, log, run, metric)
                rows.append(of_run(run, metric, unit) | _intervals(values, value))
    return rows


def _intervals(values: ArrayLike, published: float | None) -> dict[str, Any]:
    own = _beside(values, published)
    known = published is not None
    return {
        "nb_runs": own.nb,
        **estimated(bootstrap(values), "mean", "mean_low", "mean_high"),
        "low": own.low,
        "median": own.ours,
        "high": own.high,
        "published": published,
        "spreads": own.spreads if known else None,
        "within": own.within if known and own.nb > 1 else None,
    }


def _paired_table(name: str, where: str, rows: Rows) -> Table | None:
    shown = (
        *(*_PLACE, Column("nb_runs", "pairs"), Column("difference", "difference", 2, "ours")),
        *columns(decimals=2, kind="ours", low="95 % from", high="to"),
        Column("published", "paper", 2, "published"),
        Column("clear", "sign is clear"),
    )
    note = TEXTS["paired_table"].format(base=BASE)
    title = f"Differences to {BASE}, replication by replication {where}"
    return table(f"paired_{name}", title, rows, _shown(rows, shown), note) if rows else None


def paired_rows(runs: pd.DataFrame, log: str, published: dict[str, Any]) -> Rows:
    """Return the differences between each infrastructure and :data:`BASE`, paired by seed."""
    rows = []
    for metric in _SHOWN:
        unit, of_table = metrics_of(published)[metric]
        for infrastructure, replay in product(INFRASTRUCTURES, REPLAYS):
            pairs = _pairs(runs, metric, replay)
            both = {infrastructure, BASE} <= set(pairs) and infrastructure != BASE
            if not both or (of_table == "table2" and replay == "rigid"):
                continue
            ours, base = (pairs[name] / UNITS[unit] for name in (infrastructure, BASE))
            runs_of = ((infrastructure, replay), (BASE, replay))
            one, other = (printed(published, log, run, metric) for run in runs_of)
            difference = None if one is None or other is None else one - other
            row = _difference(paired_difference(ours, base))
            clear = row.pop("clear")
            place = of_run((infrastructure, replay), metric, unit)
            rows.append(place | row | {"published": difference, "clear": clear})
    return rows


def _difference(interval: Interval) -> dict[str, Any]:
    clear = None if interval.nb < 2 else bool(interval.low > 0 or interval.high < 0)
    return {"nb_runs": interval.nb, **estimated(interval, "difference"), "clear": clear}


def _order_table(name: str, where: str, rows: Rows) -> Table | None:
    shown = (
        *columns("replay", "earlier", "later", nb_runs="pairs"),
        Column("difference", "difference of mean lateness (d)", 2, "ours"),
        *columns(decimals=2, kind="ours", low="95 % from", high="to"),
        *columns(nb_right="logs in this order", clear="sign is clear"),
    )
    title = f"The ranking, replication by replication {where}"
    return table(f"order_{name}", title, rows, shown, TEXTS["order_table"])


def order_rows(runs: pd.DataFrame) -> Rows:
    """Return the differences of mean lateness between neighbours of the ranking, by replay."""
    rows = []
    for replay in REPLAYS[1:]:
        pairs = _pairs(runs, "mean_lateness", replay) / UNITS["d"]
        for earlier, later in pairwise(RANKING):
            if {earlier, later} <= set(pairs):
                row = _difference(paired_difference(pairs[later], pairs[earlier]))
                clear = row.pop("clear")
                right = int((pairs[later] > pairs[earlier]).sum())
                row = {"replay": replay, "earlier": earlier, "later": later, **row}
                rows.append(row | {"nb_right": right, "clear": clear})
    return rows


def lateness_by_replication(runs: pd.DataFrame, replay: str) -> Iterator[dict[str, float]]:
    """Yield the mean lateness (seconds) of the infrastructures of each replication."""
    for _, row in _pairs(runs, "mean_lateness", replay).iterrows():
        yield {str(name): float(late) for name, late in row.dropna().items()}


def _pairs(runs: pd.DataFrame, metric: str, replay: str) -> pd.DataFrame:
    """Return a row for each replication, a column for each infrastructure; SI units."""
    own = runs[runs["replay"] == replay]
    own = own.assign(**{metric: pd.to_numeric(own[metric])})
    return own.pivot_table(metric, "replication", "infrastructure")


def interval_chart(frame: pd.DataFrame, ends: tuple[str, str, str]) -> Chart:
    """Return intervals of makespan, mean wait, and mean lateness, and the published values."""
    charts = []
    colours = (palette.RECORDED, palette.ORANGE, palette.BLUE)
    scale = scale_of(dict(zip(REPLAYS, colours, strict=True)), REPLAYS)
    for metric in _SHOWN:
        own = frame[frame["metric"] == metric]
        kept = ["infrastructure", "replay", "quantity", "nb_runs", *ends, "published"]
        if len(own):
            shown = own[kept].copy()
            colour = alt.Color("replay:N", scale=scale)
            offset = alt.YOffset("replay:N", sort=list(REPLAYS))
            base = alt.Chart(width=200, height=230).encode(yOffset=offset, color=colour)
            title, wait = str(own["quantity"].iloc[0]), metric == "mean_waiting_time"
            options = {"log": True} if wait else {"zero": False}
            charts.append(interval_panel(shown, (*ends, "published"), title, base, 35, options))
    return alt.hconcat(*charts).resolve_scale(color="shared")


def interval_panel(
    frame: pd.DataFrame,
    numbers: tuple[str, str, str, str],
    title: str,
    base: Chart,
    size: int,
    options: Mapping[str, Any],
) -> Chart:
    """Return a line of intervals for each infrastructure, and the published values.

    ``numbers`` are the columns of lower end, middle, upper end and published value; the option
    ``log`` makes the axis logarithmic, the others are those of the scale.
    """
    low, middle, high, published = numbers
    names = list(numbers)
    frame[names] = frame[names].astype(float)
    log = options.get("log", False)
    if log:  # 0.001 d: what rounds to 0.00 is drawn at the edge of a logarithmic axis
        frame[names] = frame[names].clip(lower=0.001)
    frame[names] = frame[names].round(5)
    scale = alt.Scale(type="log", nice=False, padding=8) if log else alt.Scale(**options)
    axis = alt.Axis(tickCount=4, labelOverlap="greedy")

    def x(column: str) -> alt.X:
        said = f"{title}, logarithmic" if log else title
        return alt.X(f"{column}:Q", title=said, scale=scale, axis=axis)

    base = base.properties(data=frame).encode(
        y=alt.Y("infrastructure:N", sort=list(INFRASTRUCTURES), title=None),
        tooltip=list(frame.columns),
    )
    rules = base.mark_rule(strokeWidth=3).encode(x=x(low), x2=high)
    points = base.mark_point(filled=True, size=size, opacity=1).encode(x=x(middle))
    paper = base.mark_point(shape="diamond", size=45, opacity=1).encode(
        x=x(published), color=alt.value("black")
    )
    return rules + points + paper.transform_filter(f"isValid(datum.{published})")
